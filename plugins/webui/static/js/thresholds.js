// Thresholds: a new value is only taken with the reason, which is asked for and kept.
import { $, ready, word } from "./dom.js";
import { post } from "./api.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import { askReason } from "./reason.js";
import "./parts.js";

function valueOf({ dataset, elements }) {
  const text = elements.value.value.trim();
  if (dataset.type !== "int" && dataset.type !== "float") return text;
  const number = Number(text.replace(",", "."));
  return text === "" || Number.isNaN(number) ? null : number;
}

// Told before the reason is asked for: nobody gives reasons for what cannot be.
const beyond = ({ least, most }, value) => least !== undefined && typeof value === "number" && (value < Number(least) || value > Number(most));

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form.threshold");
  if (!form) return;
  event.preventDefault();
  const said = $('[role="status"]', form);
  const value = valueOf(form);
  said.className = "bad";
  if (value === null) return void (said.textContent = word("threshold_number"));
  if (beyond(form.dataset, value)) return void (said.textContent = word("threshold_beyond", { least: form.dataset.least, most: form.dataset.most }));
  if (JSON.stringify(value) === form.dataset.was) return void (said.textContent = word("threshold_same"));
  said.textContent = "";
  const { key, name, prevents } = form.dataset;
  const field = form.elements.value;
  const sent = field.value;
  const reason = await askReason([`${name}: ${JSON.parse(form.dataset.was)} → ${value}`, prevents]);
  if (reason === null) return undefined;
  try {
    await post("/memory/thresholds", { key, value, reason });
    said.className = "";
    said.textContent = word("saved");
    field.defaultValue = sent; // what stands there is saved, and not what was typed over something else
    await fresh();
  } catch (error) {
    said.className = "bad";
    said.textContent = error.message;
  }
  return undefined;
});

follow({ again: fresh });
ready();
