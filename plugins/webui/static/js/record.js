// A record in a panel of its own: what it says, and word for word what it rests on, checked just now.
import { make, toast, when, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import { show } from "./dialogs.js";
import { openEvent } from "./evidence.js";

export async function openRecord(id) {
  try {
    shown(await get(`/memory/records/${encodeURIComponent(id)}`));
  } catch (error) {
    if (error.status === 404) return toast(word("record_gone", { id: id.slice(-8) }));
    toast(error.message, "bad");
  }
  return undefined;
}

const STATES = { ok: "good", mismatch: "bad", missing: "bad", pointer: "quiet" };
const SHORT = { summary: "L1", fact: "L2", capsule: "L3" };

// The excerpt where it stood, with what was said around it.
function quote({ before = "", text = "", after = "", state }) {
  const words = make("blockquote", { class: "verbatim", dir: "auto", tabindex: 0 });
  if (before) words.append(make("span", { class: "around", text: before }));
  words.append(make(state === "pointer" || state === "missing" ? "span" : "mark", { text }));
  if (after) words.append(make("span", { class: "around", text: after }));
  return words;
}

function piece(one) {
  const parts = [quote(one)];
  const facts = make("p", { class: "facts" });
  facts.append(make("span", { class: STATES[one.state] ?? "quiet", text: wordOr(`record_hash_${one.state}`, one.state) }));
  if (one.untrusted) facts.append(make("span", { class: "mark warn", text: word("record_untrusted") }));
  if (one.upto) facts.append(make("span", { text: word("record_upto", { n: one.upto }) }));
  if (one.at) facts.append(make("span", { text: when(one.at) }));
  if (one.thread) facts.append(make("a", { href: `/t/${encodeURIComponent(one.thread)}`, text: one.title || word("this_talk"), dir: "auto" }));
  if (one.thread) {
    const whole = make("button", { type: "button", class: "quiet", text: word("record_whole") });
    whole.addEventListener("click", () => openEvent(one.event, { title: one.title }));
    facts.append(whole);
  }
  return make("li", {}, ...parts, facts);
}

function shown(found) {
  const kind = [SHORT[found.record], wordOr(`record_kind_${found.kind}`, found.kind)].filter(Boolean).join(" · ");
  const about = make("p", { class: "facts" }, make("span", { class: "mark", text: kind }));
  if (found.mark) about.append(make("span", { class: "mark quiet", text: wordOr(`record_mark_${found.mark}`, found.mark) }));
  if (found.status && found.status !== "active") about.append(make("span", { class: "mark warn", text: wordOr(`record_status_${found.status}`, found.status) }));
  if (found.untrusted) about.append(make("span", { class: "mark warn", text: word("record_untrusted") }));
  about.append(make("span", { text: word("record_revision", { n: found.revision }) }), make("code", { text: found.id.slice(-8) }));
  const evidence = found.evidence ?? [];
  const source = evidence.length
    ? make("ul", { class: "pieces", "aria-label": word("record_evidence") }, ...evidence.map(piece))
    : make("p", { class: "quiet", text: found.source || word(found.mark === "manual" ? "record_by_hand" : "record_no_source") });
  const link = make("a", { class: "button", href: `/memory/records/${encodeURIComponent(found.id)}`, text: word("record_page") });
  const text = make("p", { class: "record-text", dir: "auto", text: found.text });
  show({ title: found.title || word("record_evidence"), kind: "evidence record" }, text, about, make("h3", { text: word("record_rests_on") }), source, make("div", { class: "row" }, link));
}
