// Forms of settings: one form a setting, its field by its type, and the way back to its default.
import { $, $$, word } from "./dom.js";
import { post, remove } from "./api.js";
import { withReason } from "./reason.js";

function valueOf(form) {
  const field = form.elements.value;
  if (form.dataset.type === "bool") return field.checked;
  if (["int", "float"].includes(form.dataset.type)) return Number(field.value);
  return "json" in field.dataset ? JSON.parse(field.value) : field.value;
}

// A duration as the server writes it.
function span(seconds) {
  if (seconds > 0 && seconds < 1) return `${seconds * 1000}ms`;
  const parts = [["d", 86400], ["h", 3600], ["m", 60]].map(([unit, of]) => {
    const count = Math.floor(seconds / of);
    seconds -= count * of;
    return count ? count + unit : "";
  }).join("");
  return seconds || !parts ? `${parts}${seconds}s` : parts;
}

function show(form, value) {
  const field = form.elements.value;
  if (form.dataset.type === "duration") value = span(value);
  if (form.dataset.type === "bool") field.checked = value;
  else field.value = form.dataset.type === "password" ? "" : "json" in field.dataset ? JSON.stringify(value) : value;
}

// What stands beside the field: that it was changed, and the way back.
function mark(form, stored) {
  form.dataset.source = stored ? "stored" : "default";
  for (const one of $$(".changed, .reset", form)) one.hidden = !stored;
  if (form.dataset.type === "password") form.elements.value.placeholder = word(stored ? "setting_set" : "setting_not_set");
  form.dispatchEvent(new CustomEvent("marked", { bubbles: true }));
}

async function saying(form, done) {
  const said = $('[role="status"]', form);
  said.className = "";
  said.textContent = "";
  try {
    const answer = await done();
    if (answer) said.textContent = answer.note || word(answer.applied === "restart" ? "saved_restart" : "saved");
  } catch (error) {
    said.className = "bad";
    said.textContent = error.message;
  }
}

for (const form of $$("form.setting")) {
  const { key, type } = form.dataset;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    saying(form, async () => {
      const value = valueOf(form);
      const answer = await withReason((reason) => post("/settings", { key, value, ...reason }));
      if (!answer) return null;
      if (type === "password") form.reset();
      if (form.dataset.source) mark(form, type !== "password" || value !== "");
      return answer;
    });
  });
  $(".reset", form)?.addEventListener("click", () => saying(form, async () => {
    const answer = await withReason((reason) => (reason.reason ? post("/settings/change", { changes: { [key]: null }, ...reason }) : remove(`/settings/${encodeURIComponent(key)}`)));
    if (!answer) return null;
    show(form, JSON.parse(form.dataset.default));
    mark(form, false);
    form.elements.value.focus(); // the button that had it is gone
    return answer;
  }));
}
