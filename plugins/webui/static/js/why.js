// Why a turn was answered as it was: what the model was shown, what was left out, what sank and what came back.
import { $, make, toast, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import { show } from "./dialogs.js";
import { eventRow } from "./evidence.js";

const explain = (turn) => get(`/turns/${encodeURIComponent(turn)}/explain`);
const list = (value) => (Array.isArray(value) ? value : []);
const LONG = 12; // rows of a group shown at once

// A list in the record holds ids, or objects with an id, a score and a reason; both become {id, score, why}.
function rowsOf(data, key) {
  return list(data[key]).map((one) => (typeof one === "string" ? { id: one } : one)).filter((one) => one?.id).map(({ id, score, why }) => ({
    id, score: score ?? data.scores?.[id], why: why ?? data.why?.[id],
  }));
}

function bar(score) {
  const fill = make("i");
  fill.style.width = `${Math.round(Math.min(Math.max(score, 0), 1) * 100)}%`;
  return make("span", { class: "score", title: word("score") }, make("span", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "hidden", text: word("score") }), score.toFixed(2));
}

function row({ id, score, why }, events) {
  const more = make("span", { class: "because" });
  if (typeof score === "number") more.append(bar(score));
  if (why) more.append(make("span", { text: wordOr(`why_is_${why}`, why) }));
  return make("li", {}, eventRow(id, events[id], {}, ...(more.childNodes.length ? [more] : [])));
}

function group(name, rows, events) {
  const items = make("ul", { class: "events" }, ...rows.slice(0, LONG).map((one) => row(one, events)));
  const section = make("details", { class: "group" }, make("summary", {}, make("b", { text: name }), make("span", { class: "count", text: rows.length })), items);
  if (rows.length > LONG) {
    const more = make("button", { type: "button", class: "quiet", text: word("show_all", { n: rows.length }) });
    more.addEventListener("click", () => {
      items.append(...rows.slice(LONG).map((one) => row(one, events)));
      more.remove();
    });
    section.append(more);
  }
  return section;
}

function entry({ kind, data = {} }, events) {
  const found = [];
  for (const key of Object.keys(data)) {
    const rows = rowsOf(data, key);
    if (rows.length) found.push(group(wordOr(`why_${kind}_${key}`, wordOr(`why_${key}`, key)), rows, events));
  }
  const facts = Object.entries(data).filter(([key, value]) => ["number", "string", "boolean"].includes(typeof value) && wordOr(`why_${key}`, "") && value !== "");
  const line = facts.map(([key, value]) => `${wordOr(`why_${key}`, key)} ${value}`).join(" · ");
  if (!found.length && !line) return [];
  return [make("section", { class: "entry" }, make("h3", { text: wordOr(`why_${kind}`, kind) }), ...(line ? [make("p", { class: "quiet", text: line })] : []), ...found)];
}

export async function openWhy(turn) {
  try {
    const { entries, events } = await explain(turn);
    const parts = list(entries).flatMap((one) => entry(one, events ?? {}));
    const lead = make("p", { class: "quiet", text: word(parts.length ? "why_lead" : "why_nothing") });
    const dialog = show({ title: word("why_title"), kind: "why" }, lead, ...parts);
    const first = $("details.group", dialog);
    if (first) first.open = true;
  } catch (error) {
    toast(error.message, "bad");
  }
}

// The line over an answer, opened: which events came back.
export async function fillRecall(details, turn) {
  const home = $("[data-recalled]", details);
  if (home.childElementCount || !turn) return;
  home.append(make("li", { class: "quiet", text: "…" }));
  try {
    const { entries, events } = await explain(turn);
    const said = list(entries).filter((one) => one.kind === "recall" || one.kind === "select").map((one) => one.data ?? {});
    const rows = ["shown", "cold"].flatMap((key) => said.flatMap((data) => rowsOf(data, key)));
    const unique = [...new Map(rows.map((one) => [one.id, one])).values()];
    home.replaceChildren(...unique.map((one) => row(one, events ?? {})));
    if (!unique.length) home.append(make("li", { class: "quiet", text: word("why_nothing") }));
  } catch (error) {
    home.replaceChildren(make("li", { class: "bad", text: error.message }));
  }
}
