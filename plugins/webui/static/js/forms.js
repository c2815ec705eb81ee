// Forms of settings: one form a setting, its field by its type.
import { $, $$, word } from "./dom.js";
import { post } from "./api.js";

function valueOf(form) {
  const field = form.elements.value;
  if (form.dataset.type === "bool") return field.checked;
  if (["int", "float"].includes(form.dataset.type)) return Number(field.value);
  return "json" in field.dataset ? JSON.parse(field.value) : field.value;
}

for (const form of $$("form.setting")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = $('[role="status"]', form);
    said.className = "";
    try {
      const { applied, note } = await post("/settings", { key: form.dataset.key, value: valueOf(form) });
      said.textContent = note || word(applied === "restart" ? "saved_restart" : "saved");
      if (form.dataset.type === "password") form.reset();
    } catch (error) {
      said.className = "bad";
      said.textContent = error.message;
    }
  });
}
