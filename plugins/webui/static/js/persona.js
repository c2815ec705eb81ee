// Who the assistant is: the form on the settings page, and the choice at the beginning.
import { $, $$, word } from "./dom.js";
import { post } from "./api.js";

async function choose(form, asked, after) {
  const said = $('[role="status"]', form);
  said.className = "said-of-form";
  said.textContent = "";
  try {
    after(await post("/persona", asked));
  } catch (error) {
    said.classList.add("bad");
    said.textContent = error.message;
  }
}

const form = $("#persona-form");
if (form) {
  const field = form.elements.text;
  for (const button of $$("[data-persona]", form)) {
    button.addEventListener("click", () => {
      field.value = button.dataset.persona;
      field.focus();
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose(form, { text: field.value }, ({ text }) => {
      field.value = text;
      $('[role="status"]', form).textContent = word("persona_saved");
    });
  });
}

const first = $("#first-persona");
if (first) {
  const done = (text) => {
    first.remove();
    $("#spoken").textContent = text;
    $("#text")?.focus();
  };
  for (const button of $$("[data-preset]", first)) {
    button.addEventListener("click", () => choose(first, { preset: button.dataset.preset }, () => done(word("persona_saved"))));
  }
  $("[data-later]", first).addEventListener("click", () => choose(first, { later: true }, () => done(word("persona_put_off"))));
}
