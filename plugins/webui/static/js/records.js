// The list of records: stays true by itself, and takes what a person writes down.
import { $, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./parts.js";

const form = $("#note");
const opener = $("#note-open");
const said = $("[role=status]", form);

export const tags = (text) => text.split(/[,，、]/).map((one) => one.trim()).filter(Boolean).slice(0, 8);

function open(shown) {
  form.hidden = !shown;
  opener.setAttribute("aria-expanded", shown);
  (shown ? form.elements.text : opener).focus();
}

opener.addEventListener("click", () => open(form.hidden));
$("[data-note=leave]", form).addEventListener("click", () => open(false));
form.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); });

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { text, record, title, importance, tags: named } = form.elements;
  said.textContent = "";
  try {
    await post("/memory/records", { text: text.value.trim(), record: record.value, title: title.value.trim(), importance: Number(importance.value) || 6, tags: tags(named.value) });
    form.reset();
    open(false);
    toast(word("record_noted"));
    await fresh();
  } catch (error) {
    said.className = "said-of-form bad";
    said.textContent = error.message;
  }
});

follow({ again: fresh });
ready();
