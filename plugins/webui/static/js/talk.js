// The conversation on the page: sections (a turn each) of items. Putting an item again replaces it; order is the server's.
import { $, $$, dress, make, setHtml, speak, word } from "./dom.js";

const talk = $("#talk");
const pinned = () => talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;

// Keep the end in sight, but only for who was looking at it.
export function following(change) {
  const follow = pinned();
  change();
  if (follow) toEnd();
}

export function toEnd() {
  talk.scrollTop = talk.scrollHeight;
}

// A narrower window makes the same words taller, and a taller box leaves them less room; a picture comes later.
let atEnd = true;
talk.addEventListener("scroll", () => { atEnd = pinned(); }, { passive: true });
new ResizeObserver(() => { if (atEnd) toEnd(); }).observe(talk);
talk.addEventListener("load", () => { if (atEnd) toEnd(); }, true);

function section({ turn, input }) {
  const all = $$("section.turn", talk);
  let found = (turn && all.find((one) => one.dataset.turn === turn)) || (input && all.find((one) => one.dataset.input === input));
  if (!found) {
    found = make("section", { class: "turn", "data-turn": "", "data-input": "" });
    talk.append(found);
    $("#welcome")?.remove();
  }
  if (turn) found.dataset.turn = turn;
  if (input) found.dataset.input = input;
  return found;
}

function item(place, kind) {
  const home = section(place);
  const items = [...home.children];
  const known = items.find((one) => one.dataset.key === place.key);
  if (known) return known;
  const made = make("div", { class: kind, "data-key": place.key, "data-order": place.order });
  if (kind !== "item") made.dir = "auto";
  home.insertBefore(made, items.find((one) => one.dataset.order > place.order) ?? null);
  return made;
}

const waited = (op) => $('[data-key="progress"]', section(op))?.remove();

// What whoever listens is told: questions at once, an answer when it is whole.
function tell(home, op) {
  const question = op.key.startsWith("approval-") && $(".card.ask", home);
  if (question) speak(question.getAttribute("aria-label"));
  else if (op.key === "end") speak([...$$(".answer", home.parentElement).slice(-1), $(".card.bad", home)].filter(Boolean).map((one) => one.innerText).join("\n") || word("finished"));
}

// The only turn of a new conversation may be over before the page has it: then nothing of it comes as news.
export function tellOver() {
  for (const home of $$('[data-key="end"]', talk)) tell(home, home.dataset);
}

export const ops = {
  item(op) {
    const home = item(op, "item");
    const open = $$("details", home).map((one) => one.open);
    const had = home.contains(document.activeElement);
    setHtml(home, op.html);
    $$("details", home).forEach((one, index) => { one.open ||= open[index] ?? false; });
    if (had) ($("summary, button", home) ?? $("#text")).focus();
    if (op.key !== "said" && op.key !== "recall") waited(op);
    tell(home, op);
  },
  text(op) {
    waited(op);
    const home = item(op, "item answer");
    const blocks = [...home.children];
    for (const old of blocks.slice(op.keep)) old.remove();
    for (const html of op.blocks) {
      const block = make("div", { class: "block" });
      home.append(block);
      setHtml(block, html);
    }
    dress(home);
  },
  reason(op) {
    waited(op);
    const home = $("[data-more]", item({ ...op, order: "" }, "item"));
    home?.append(op.more);
  },
  progress(op) {
    const home = item({ ...op, key: "progress", order: "9998" }, "item progress");
    if (!home.childElementCount) home.append(make("p", { role: "status" }), make("progress", { max: 1, "aria-label": word("progress") }));
    home.firstChild.textContent = op.text;
    if (op.share) home.lastChild.value = op.share;
    else home.lastChild.removeAttribute("value");
  },
  drop(op) {
    $(`[data-key="${op.key}"]`, section(op))?.remove();
  },
  // A message that waited is part of a turn that runs.
  joined(op) {
    const from = $$("section.turn", talk).find((one) => one.dataset.input === op.joined && !one.dataset.turn);
    const said = from && $('[data-key="said"]', from);
    if (!said) return;
    const home = section(op);
    said.dataset.key = op.key;
    said.dataset.order = op.order;
    home.insertBefore(said, [...home.children].find((one) => one.dataset.order > op.order) ?? null);
    from.remove();
  },
  turn(op) {
    const home = section(op);
    home.classList.toggle("live", op.phase === "start" || op.phase === "resumed");
    home.classList.toggle("suspended", op.phase === "suspended");
    if (op.phase === "suspended") waited(op);
    else $('[data-key="paused"]', home)?.remove();
    if (op.phase === "end") waited(op);
  },
};

// A turn longer than a page comes in parts; what its section has already is newer than what an older part says of it.
function join(here, older) {
  const known = new Set([...here.children].map((one) => one.dataset.key));
  for (const one of [...older.children].filter((each) => !known.has(each.dataset.key))) {
    here.insertBefore(one, [...here.children].find((each) => each.dataset.order > one.dataset.order) ?? null);
  }
}

// A page of history: new sections before all, and items of a turn that is here already into it.
export function prepend(html) {
  const height = talk.scrollHeight;
  const box = make("div");
  setHtml(box, html);
  const first = $("section.turn", talk);
  for (const older of [...box.children]) {
    const here = older.dataset.turn && $$("section.turn", talk).find((one) => one.dataset.turn === older.dataset.turn);
    if (here) join(here, older);
    else talk.insertBefore(older, first);
  }
  talk.scrollTop += talk.scrollHeight - height;
}

export function replaceAll(html) {
  for (const old of $$("section.turn, .welcome", talk)) old.remove();
  const box = make("div");
  setHtml(box, html);
  talk.append(...box.children);
  toEnd();
}

// Also between the one that was suspended and the one that begins.
export const busy = () => $("section.turn.live, section.turn.suspended", talk) !== null;

// Somebody's own last message, which may be said again in other words.
export const lastSaid = () => $$("section.turn", talk).reverse().find((one) => $("[data-edit]", one)) ?? null;
