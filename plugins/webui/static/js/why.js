// Why a turn was answered as it was: what the model was shown, what was left out, what sank and what came back.
import { $, make, toast, when, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import { show } from "./dialogs.js";
import { eventRow } from "./evidence.js";

export const explain = (turn) => get(`/turns/${encodeURIComponent(turn)}/explain`);
const list = (value) => (Array.isArray(value) ? value : []);
const LONG = 12; // rows of a group shown at once

// A list of the record holds ids, or objects with an id and a score; both become rows.
function rows(data, ids, why = "") {
  return list(ids).map((one) => (typeof one === "string" ? { id: one } : one)).filter((one) => one?.id).map(({ id, score }) => ({ id, score: score ?? data.scores?.[id], why }));
}

const size = ({ events = 0, tokens = 0 } = {}) => word("why_size", { events, tokens });

// The messages that came back for a turn, in the order of their kinds.  What is known has lines of its own in the ledger;
// `all`: there are none of this turn (an earlier release told it), so it stands among them.
export function cameBack({ entries, events }, all) {
  const groups = list(entries).filter((one) => one.kind === "recall").flatMap((one) => kinds.recall(one.data ?? {}).groups.slice(0, all ? 3 : 2));
  const found = [...new Map(groups.flatMap(([, named]) => named).map((one) => [one.id, one])).values()];
  return found.map((one) => row(one, events ?? {}));
}

// Each kind of record: sentences, and groups of events under a name.  `more` events are not listed any more.
const kinds = {
  select(data) {
    const kept = Object.entries(data.kept ?? {}).flatMap(([why, ids]) => rows(data, ids, wordOr(`why_is_${why}`, why))).sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    const left = rows(data, data.left_out);
    const lines = [word("why_select_says", { kept: kept.length, of: data.of ?? kept.length, left: left.length + (data.more ?? 0) })];
    if (data.window) lines.push(word("why_budget", { window: data.window, fixed: data.fixed, context: data.context, memory: data.memory }));
    return { lines, groups: [["why_kept", kept], ["why_left_out", left, data.more]] };
  },
  recall(data) {
    const scored = { scores: Object.fromEntries(list(data.hits).map(({ id, score }) => [id, score])) };
    const lines = [word("why_recall_says", { shown: list(data.shown).length, cold: list(data.cold).length, facts: list(data.facts).length, chars: data.chars ?? 0 })];
    if (data.below) lines.push(word("why_below", { n: data.below, gate: data.gate }));
    if (list(data.late).length) lines.push(word("why_late", { what: data.late.join(", ") }));
    const untold = list(data.hits).filter(({ told }) => told === false);
    return { lines, groups: [["why_cold", rows(scored, data.cold)], ["why_shown", rows(scored, data.shown)], ["why_facts", rows(data.known ?? {}, data.facts)], ["why_gated", rows({ scores: data.known?.sunk }, Object.keys(data.known?.sunk ?? {}))], ["why_untold", rows(scored, untold)]] };
  },
  guard: (data) => ({
    lines: [wordOr(`why_guard_${data.why}`, data.why ?? ""), word("why_before_after", { before: size(data.before), after: size(data.after) })],
    groups: [["why_dropped", rows(data, data.dropped)], ["why_left_out", rows(data, data.left_out)], ["why_sunk", rows(data, data.sunk)]],
  }),
  sink: (data) => ({
    lines: [word("why_before_after", { before: size(data.before), after: size(data.after) })],
    groups: [["why_sunk", rows(data, data.events)]],
  }),
  peek: (data) => ({ lines: [], groups: [["why_peeked", rows(data, data.events ?? data.ids)]] }),
  confirm: (data) => ({ lines: [], groups: [["why_back", rows(data, data.back)], ["why_there", rows(data, data.there)]] }),
};

export function bar(score, name = word("score")) {
  const fill = make("i");
  fill.style.width = `${Math.round(Math.min(Math.max(score, 0), 1) * 100)}%`;
  return make("span", { class: "score", title: name }, make("span", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "hidden", text: name }), score.toFixed(2));
}

// What is known is nobody's message: it opens to what it rests on.
function knownRow(id, { excerpt, created_at: at }, more) {
  const about = [word("layer_stable"), id, at ? when(at) : ""].filter(Boolean).join(" · ");
  return make("button", { type: "button", class: "event", "data-open-record": id }, make("span", { class: "about", text: about, dir: "auto" }), make("span", { class: "excerpt", text: excerpt, dir: "auto" }), more);
}

export function row({ id, score, why }, events) {
  const more = make("span", { class: "because" });
  if (score > 0) more.append(bar(score));
  if (why) more.append(make("span", { text: why }));
  if (events[id]?.layer === "stable") return make("li", {}, knownRow(id, events[id], more));
  return make("li", {}, eventRow(id, events[id], ...(more.childNodes.length ? [more] : [])));
}

function group([name, found, unlisted = 0], events) {
  if (!found.length) return [];
  const items = make("ul", { class: "events" }, ...found.slice(0, LONG).map((one) => row(one, events)));
  const count = make("span", { class: "count", text: found.length + unlisted });
  const section = make("details", { class: "group" }, make("summary", {}, make("b", { text: word(name) }), count), items);
  if (found.length > LONG) {
    const more = make("button", { type: "button", class: "quiet", text: word("show_all", { n: found.length }) });
    more.addEventListener("click", () => {
      items.append(...found.slice(LONG).map((one) => row(one, events)));
      more.remove();
    });
    section.append(more);
  }
  return [section];
}

function entry({ kind, data }, events) {
  const { lines, groups } = kinds[kind]?.(data ?? {}) ?? { lines: [], groups: [] };
  const made = groups.flatMap((one) => group(one, events));
  if (!made.length && !lines.length) return [];
  return [make("section", { class: "entry" }, make("h3", { text: wordOr(`why_${kind}`, kind) }), ...lines.filter(Boolean).map((text) => make("p", { class: "quiet", text })), ...made)];
}

export async function openWhy(turn) {
  try {
    const { entries, events } = await explain(turn);
    const parts = list(entries).flatMap((one) => entry(one, events ?? {}));
    const lead = make("p", { class: "quiet", text: word(parts.length ? "why_lead" : "why_nothing") });
    const whole = make("p", {}, make("a", { href: `/turns/${encodeURIComponent(turn)}/why`, text: word("why_page") }));
    const dialog = show({ title: word("why_title"), kind: "why" }, lead, whole, ...parts);
    const first = $("details.group", dialog);
    if (first) first.open = true;
  } catch (error) {
    toast(error.message, "bad");
  }
}
