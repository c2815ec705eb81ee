// The health page: what the daemon finds when it looks at itself, and what to do about it.
import { $, make, ready, word, wordOr } from "./dom.js";
import { get } from "./api.js";
import "./shell.js";

const list = $("#checks");
const verdict = $("#verdict");
const RANK = { bad: 0, warn: 1, ok: 2 };

function entry({ name, state, what, hint }) {
  const mark = make("span", { class: `mark state-${state}`, text: wordOr(`check_${state}`, state) });
  const parts = [make("h2", {}, mark, wordOr(`check_name_${name.replaceAll(" ", "_")}`, name)), make("p", { text: what })];
  if (hint) parts.push(make("p", { class: "hint", text: hint }));
  return make("li", { class: "card", "data-state": state, "data-name": name }, ...parts);
}

async function look() {
  const again = $("#again");
  again.disabled = true;
  verdict.className = "quiet";
  verdict.textContent = word("health_looking");
  try {
    const { checks } = await get("/doctor");
    const sorted = [...checks].sort((a, b) => (RANK[a.state] ?? 0) - (RANK[b.state] ?? 0));
    list.replaceChildren(...sorted.map(entry));
    const wrong = checks.filter((one) => one.state !== "ok").length;
    verdict.className = wrong ? "warn" : "good";
    verdict.textContent = wrong ? word("health_wrong", { n: wrong }) : word("health_good", { n: checks.length });
  } catch (error) {
    verdict.className = "bad";
    verdict.textContent = error.message;
  }
  again.disabled = false;
}

$("#again").addEventListener("click", look);
look();
ready();
