// The models page: use, test, edit and remove sources.
import { $, $$, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { ask } from "./dialogs.js";
import { fresh } from "./fresh.js";
import { fill, preset, tryOut } from "./source.js";
import "./shell.js";

// Whoever picks a provider after "Edit" is adding one again.
const heading = $(".panel:has(form.source) h2");
const adding = heading.textContent;
$("form.source").elements.preset.addEventListener("change", () => { heading.textContent = adding; });

function edit(name, button) {
  const form = $("form.source");
  const { url: base_url, model, path, kind, tools, vision, audio, adapter, options } = button.dataset;
  const { window: context_window, priority, once: max_concurrent } = button.dataset;
  form.elements.preset.value = kind === "gguf" ? "gguf" : "";
  preset(form);
  const fields = { name, base_url, model, gguf: path, adapter, context_window, priority, max_concurrent, options };
  fill(form, { ...fields, tools: tools === "yes", vision: vision === "yes", audio: audio === "yes" });
  $("details", form).open = true;
  heading.textContent = word("change", { name });
  form.scrollIntoView({ block: "center" });
  form.elements[kind === "gguf" ? "gguf" : "api_key"].focus();
}

// What was to be changed is gone.
function blank() {
  const form = $("form.source");
  form.reset();
  preset(form);
  heading.textContent = adding;
}

async function test(name, card) {
  const shown = $(".result", card);
  shown.className = "result";
  shown.textContent = word("testing");
  show(card, await tryOut(name));
}

function show(card, { ok, text, works = "" }) {
  const shown = $(".result", card);
  shown.className = `result ${ok ? "good" : "bad"}`;
  shown.textContent = text;
  $(".works", card).textContent = works;
}

// What saving found out before the page was loaded afresh.
const tried = JSON.parse(sessionStorage.getItem("tried") ?? "null");
sessionStorage.removeItem("tried");
const saved = tried && $$("article[data-name]").find((one) => one.dataset.name === tried.name);
if (saved) show(saved, tried);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  const card = button?.closest("[data-name]");
  if (!card) return;
  const name = card.dataset.name;
  if (button.dataset.do === "edit") return edit(name, button);
  if (button.dataset.ask && !(await ask({ title: button.textContent, lines: [button.dataset.ask], yes: button.textContent }))) return;
  button.disabled = true;
  try {
    if (button.dataset.do === "test") await test(name, card);
    else {
      await post(`/models/${encodeURIComponent(name)}/${button.dataset.do}`);
      await fresh(); // and not the page anew: a source may be half typed
      if (button.dataset.do === "remove" && heading.textContent === word("change", { name })) blank();
    }
  } catch (error) {
    $(".result", card).textContent = "";
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
});
ready();
