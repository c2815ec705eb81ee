// What somebody said, word for word: the page shows an over-long text as its head and its tail.
import { $, word } from "./dom.js";
import { get } from "./api.js";

const SHORT = 1000; // characters that no page cuts
const CUT = /\[… \d+ of \d+ characters left out/;
const characters = (text) => [...text].length; // as the server counts them: a character beyond the BMP is one

// The next part of an event's text from `offset` on: {event, text, next, of}.
export async function part(id, offset = 0) {
  const found = await get(`/events/${encodeURIComponent(id)}?offset=${offset}`);
  return { ...found, next: found.offset + characters(found.text) };
}

async function wholeEvent(id) {
  const parts = [];
  for (let at = 0, of = 1; at < of;) {
    const found = await part(id, at);
    parts.push(found.text);
    if (!found.text) break;
    [at, of] = [found.next, found.of];
  }
  return parts.join("");
}

// The event of a question that this page was told of before it was one.  Throws when it is none yet.
async function eventOf(thread, turn) {
  for (let before = 0, more = true; more;) {
    const page = await get(`/chat/history?thread=${encodeURIComponent(thread)}&limit=500${before ? `&before=${before}` : ""}`);
    const found = page.events.findLast((one) => one.kind === "user" && one.turn === turn);
    if (found) return found.id;
    [before, more] = [page.events[0]?.seq, page.more && page.events.length > 0];
  }
  return "";
}

// What was said in a section of the conversation; throws when that cannot be had whole.
export async function wholeText(thread, section) {
  const said = $(".said", section);
  const text = said?.textContent ?? "";
  if (characters(text) < SHORT) return text;
  const id = said.dataset.event || (section.dataset.turn && (await eventOf(thread, section.dataset.turn)));
  if (id) return wholeEvent(id);
  if (CUT.test(text)) throw new Error(word("said_wait")); // it waits for its turn: there is no event to have it from
  return text;
}
