// The lines around an answer, opened: what came back from memory before it, and what was really written of it after.
import { $, $$, make, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import { bar, cameBack, explain } from "./why.js";

const SHORT = { summary: "L1", fact: "L2", capsule: "L3" };
const idButton = (id, event = false) => make("button", { type: "button", class: "quiet id", [event ? "data-open-event" : "data-open-record"]: id, "aria-label": word("graph_open", { id: id.slice(-8) }), text: ["id", id.slice(-8)].join(":") });

// A line as it was told, with where it comes from and how close it was to the question.
function line(one) {
  const facts = make("p", { class: "facts" });
  const kind = [SHORT[one.record], one.kind && wordOr(`record_kind_${one.kind}`, one.kind)].filter(Boolean).join(" · ");
  if (kind) facts.append(make("span", { text: kind }));
  if (one.evidence) facts.append(make("span", { class: "mark quiet", text: wordOr(`record_mark_${one.evidence}`, one.evidence) }));
  if (one.now && one.now !== one.revision) facts.append(make("span", { class: "mark warn", text: word(one.as_told ? "recall_changed" : "recall_not_kept", { n: one.revision, now: one.now }) }));
  if (one.score > 0) facts.append(bar(one.score));
  facts.append(one.gone ? make("code", { text: one.id.slice(-8) }) : idButton(one.id, one.record === "event"));
  const text = one.record === "event" && !one.gone ? [] : [make("p", { class: "text", dir: "auto", text: one.text })];
  return make("li", one.gone ? { class: "taken" } : {}, ...text, facts);
}

export async function fillRecall(details, turn) {
  const home = $("[data-recalled]", details);
  if ("filled" in home.dataset || !turn) return;
  const waiting = make("p", { class: "quiet", text: "…" });
  home.append(waiting);
  try {
    const [{ injections: rows }, why] = await Promise.all([get(`/memory/injections?turn=${encodeURIComponent(turn)}`), explain(turn)]);
    const told = rows.at(-1); // of a turn that had to select anew: what it answered from
    const events = cameBack(why, !told);
    const parts = [];
    if (told?.query) parts.push(make("p", { class: "asked" }, make("span", { class: "quiet", text: word("recall_asked") }), " ", make("q", { dir: "auto", text: told.query })));
    if (told) parts.push(make("ul", { class: "told-lines" }, ...told.lines.filter((one) => one.record !== "event").map(line)));
    if (events.length) parts.push(make("ul", { class: "events", "aria-label": word("recall_events") }, ...events));
    if (!parts.length) waiting.textContent = word($(".id", home) ? "recall_later" : "why_nothing");
    else {
      parts.push(make("p", {}, make("a", { href: `/turns/${encodeURIComponent(turn)}/why`, text: word("why_title") })));
      home.replaceChildren(...parts);
      home.dataset.filled = "";
    }
  } catch (error) {
    waiting.className = "bad";
    waiting.textContent = error.message;
    return;
  }
  if (waiting.isConnected && !("filled" in home.dataset)) details.addEventListener("toggle", () => waiting.remove(), { once: true });
}

// What the ids of a turn say now; each can be put right or forgotten from here.
export async function fillWritten(details) {
  const items = $$("[data-record]:not([data-filled])", details);
  await Promise.all(items.map(async (item) => {
    const id = item.dataset.record;
    try {
      const found = await get(`/memory/records/${encodeURIComponent(id)}`);
      const page = `/memory/records/${encodeURIComponent(id)}`;
      const kind = [SHORT[found.record], wordOr(`record_kind_${found.kind}`, found.kind)].join(" · ");
      const facts = make("p", { class: "facts" }, make("span", { text: kind }));
      if (found.mark) facts.append(make("span", { class: "mark quiet", text: wordOr(`record_mark_${found.mark}`, found.mark) }));
      if (found.status !== "active") facts.append(make("span", { class: "mark warn", text: wordOr(`record_status_${found.status}`, found.status) }));
      facts.append(idButton(id), make("a", { href: `${page}#edit`, text: word("written_edit") }), make("a", { href: `${page}#forget`, text: word("written_forget") }));
      item.dataset.filled = "";
      item.replaceChildren(make("p", { class: "text", dir: "auto", text: found.text }), facts);
    } catch (error) {
      if (error.status !== 404) return; // asked again when it is opened again
      item.dataset.filled = "";
      item.className = "taken";
      item.replaceChildren(make("p", { class: "text", text: word("record_gone", { id: id.slice(-8) }) }));
    }
  }));
}
