// An event as it was stored, word for word: who said it, when, and in which conversation.
import { copy, locale, make, size, toast, when, word, wordOr } from "./dom.js";
import { show } from "./dialogs.js";
import { part } from "./whole.js";

export const speaker = ({ kind, peer }) => (kind === "user" && peer?.startsWith("timer:") ? word("who_timer") : wordOr(`who_${kind}`, kind));

// `known` is what the list it was opened from says of it: the conversation's title.
export async function openEvent(id, known = {}) {
  try {
    const found = await part(id);
    shown(found, known);
  } catch (error) {
    toast(error.message, "bad");
  }
}

function shown({ event, text, next: upto, of }, known) {
  const pre = make("pre", { class: "verbatim", tabindex: 0, dir: "auto", text });
  const button = make("button", { type: "button", text: word("copy") });
  button.addEventListener("click", () => copy(pre.textContent, button));
  const row = make("div", { class: "row" }, button);
  if (upto < of) {
    const more = make("button", { type: "button", class: "quiet", text: word("more_text") });
    more.addEventListener("click", async () => {
      more.disabled = true;
      try {
        const next = await part(event.id, upto);
        pre.append(next.text);
        upto = next.next;
        if (upto >= next.of || !next.text) more.remove();
      } catch (error) {
        toast(error.message, "bad");
      }
      more.disabled = false;
    });
    row.append(more);
  }
  const link = make("a", { href: `/t/${encodeURIComponent(event.thread)}`, text: known.title || word("this_talk"), dir: "auto" });
  const facts = [
    [word("fact_who"), speaker(event)],
    [word("fact_when"), new Date(event.created_at * 1000).toLocaleString(locale, { dateStyle: "full", timeStyle: "medium" })],
    [word("fact_thread"), link],
    [word("fact_layer"), wordOr(`layer_${event.layer}`, event.layer)],
    [word("fact_id"), make("code", { text: event.id })],
  ];
  const list = make("dl", { class: "facts" });
  for (const [name, value] of facts) list.append(make("dt", { text: name }), make("dd", {}, value));
  show({ title: word("evidence"), kind: "evidence" }, pre, ...files(event), row, list);
}

function files(event) {
  const blocks = Array.isArray(event.data?.blocks) ? event.data.blocks : [];
  if (!blocks.length) return [];
  const entry = (block) => make("a", { class: "file", href: `/api/v1/blocks/${encodeURIComponent(block.id)}`, download: block.name ?? "" },
    make("b", { text: block.name || word("file") }), make("span", { text: size(block.bytes ?? 0) }));
  return [make("div", { class: "sent" }, ...blocks.map(entry))];
}

// A row that opens its event: who, when and where over the words, and what goes with it (a score, a reason).
export function eventRow(id, event, ...more) {
  const about = [event ? speaker(event) : "", event?.title, event?.created_at ? when(event.created_at) : ""].filter(Boolean).join(" · ");
  const text = event ? event.excerpt || word("no_words") : word("gone_event");
  const row = make("button", { type: "button", class: "event" },
    make("span", { class: "about", text: about || id, dir: "auto" }), make("span", { class: "excerpt", text, dir: "auto" }), ...more);
  row.addEventListener("click", () => openEvent(id, event));
  return row;
}
