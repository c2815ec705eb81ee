// The health check of memory: fast or deep, how far it is, what each check read and found, and mending where it is safe.
import { $, $$, make, ready, speak, when, word, wordOr } from "./dom.js";
import { post } from "./api.js";
import { ask } from "./dialogs.js";
import { follow } from "./memorylive.js";
import "./parts.js";

const KEPT = "memory-health"; // the last result, for as long as the tab lives
const RANK = { fail: 0, error: 1, warn: 2, pass: 3 };
const LOOKS = { fail: "bad", error: "bad", warn: "warn", pass: "ok" };
const list = $("#checks");
const verdict = $("#verdict");
const progress = $("#progress");
const buttons = $$("[data-check]");
let last = null;
let running = false;

function entry({ id, name, status, evidence, fix, read, wrong, ids = [], repairable, mended, ms }) {
  const mark = make("span", { class: `mark state-${LOOKS[status] ?? "bad"}`, text: wordOr(`memhealth_${status}`, status) });
  const parts = [make("h2", {}, mark, make("span", { text: name || id })), make("p", { text: evidence })];
  if (mended) parts.push(make("p", { class: "good", text: mended }));
  if (fix) parts.push(make("p", { class: "hint", text: fix }));
  const facts = make("p", { class: "facts" }, make("span", { text: word("memhealth_read", { n: read ?? 0, ms: ms ?? 0 }) }));
  if (repairable && wrong && !mended) facts.append(make("span", { class: "mark quiet", text: word("memhealth_repairable") }));
  parts.push(facts);
  if (ids.length) parts.push(make("p", { class: "chips" }, ...ids.map((one) => make("code", { text: one }))));
  return make("li", { class: "card", "data-status": status, "data-check-id": id }, ...parts);
}

function show(report) {
  last = report;
  const checks = [...report.checks].sort((a, b) => (RANK[a.status] ?? 0) - (RANK[b.status] ?? 0));
  list.replaceChildren(...checks.map(entry));
  const wrong = checks.filter(({ status }) => status !== "pass").length;
  verdict.className = wrong ? "warn" : "good";
  verdict.textContent = wrong ? word("memhealth_wrong", { n: wrong, of: checks.length }) : word("memhealth_clean", { n: checks.length });
  const how = word(report.deep ? "memhealth_was_deep" : "memhealth_was_fast");
  $("#counted").textContent = word("memhealth_counted", { how, n: report.read ?? 0, ms: report.ms ?? 0, at: when(report.at) });
  $("#counted").hidden = false;
  $('[data-check="repair"]').hidden = !checks.some((one) => one.repairable && one.wrong && !one.mended);
}

function busy(on) {
  running = on;
  for (const button of buttons) button.disabled = on;
  progress.hidden = !on;
  $("progress", progress).removeAttribute("value");
  $("p", progress).textContent = on ? word("memhealth_running") : "";
}

async function check(how) {
  const body = how === "repair" ? { deep: last?.deep ?? false, repair: true } : { deep: how === "deep" };
  busy(true);
  try {
    const report = { ...(await post("/memory/doctor", body)), at: Date.now() / 1000 };
    show(report);
    speak(verdict.textContent);
    keep(report);
  } catch (error) {
    verdict.className = "bad";
    verdict.textContent = error.message;
  }
  busy(false);
}

function keep(report) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(report));
  } catch {
    // storage is full or off: then a reload shows none
  }
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

// Mending changes what is stored, so it is asked for: what will be done stands on the page already.
async function repair() {
  const wrong = last.checks.filter((one) => one.repairable && one.wrong && !one.mended);
  const lines = [word("memhealth_repair_sure", { n: wrong.length }), ...wrong.slice(0, 6).map((one) => one.name || one.id)];
  if (await ask({ title: word("memhealth_repair"), lines, yes: word("memhealth_repair"), danger: false })) check("repair");
}

for (const button of buttons) button.addEventListener("click", () => (button.dataset.check === "repair" ? repair() : check(button.dataset.check)));

follow({
  onWork({ what, kind, done, total }) {
    if (!running || what !== "doctor") return;
    if (total) $("progress", progress).value = done / total;
    const known = last?.checks.find((one) => one.id === kind); // its name, if it was told before
    $("p", progress).textContent = word("memhealth_at", { done, total, name: known?.name ?? kind });
  },
});
const before = kept();
if (before?.checks) show(before);
ready();
