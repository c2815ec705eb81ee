// The usage page: prices are given and forgotten.  The charts are made by the server.
import { $, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { ask } from "./dialogs.js";
import "./shell.js";

const form = $("#price");
const said = $("[role=status]", form);
let asked = null; // the button that opened the form: where the keyboard goes back to

function open(button) {
  const { source, model } = button.closest("tr").dataset;
  asked = button;
  Object.assign(form.dataset, { source, model });
  for (const name of ["prompt", "cached", "completion", "currency"]) form.elements[name].value = button.dataset[name] ?? "";
  said.textContent = "";
  $("#price-title").textContent = word("price_title", { source, model });
  form.hidden = false;
  form.scrollIntoView({ block: "nearest" });
  form.elements.prompt.focus();
}

function leave() {
  form.hidden = true;
  asked?.focus();
}

const amount = (name) => form.elements[name].value.trim().replace(",", ".");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { source, model } = form.dataset;
  const cached = amount("cached");
  const body = { source, model, prompt: amount("prompt"), completion: amount("completion"), currency: form.elements.currency.value.toUpperCase(), ...(cached ? { cached } : {}) };
  try {
    await post("/usage/prices", body);
    location.reload();
  } catch (error) {
    said.textContent = error.message;
    said.classList.add("bad");
  }
});

form.addEventListener("keydown", (event) => { if (event.key === "Escape") leave(); });

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-price]");
  if (!button) return;
  if (button.dataset.price === "set") return open(button);
  if (button.dataset.price === "leave") return leave();
  const { forSource: source, forModel: model } = button.dataset;
  if (!(await ask({ title: button.textContent, lines: [word("price_forget_sure", { source, model })], yes: button.textContent }))) return;
  try {
    await post("/usage/prices/remove", { source, model });
    location.reload();
  } catch (error) {
    toast(error.message, "bad");
  }
});
ready();
