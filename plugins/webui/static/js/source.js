// The form for a model source: a provider fills the fields, saving stores the key and uses the source.
import { $, $$, word } from "./dom.js";
import { post } from "./api.js";

const TEXTS = ["name", "base_url", "model", "gguf", "adapter", "context_window", "priority", "max_concurrent", "options"];
const NUMBERS = ["context_window", "priority", "max_concurrent"];

export function fill(form, { tools = true, vision = false, audio = false, ...texts }) {
  for (const field of TEXTS) form.elements[field].value = texts[field] ?? "";
  Object.assign(form.elements.tools, { checked: tools });
  Object.assign(form.elements.vision, { checked: vision });
  Object.assign(form.elements.audio, { checked: audio });
  offered(form, null);
}

// A file on this machine has neither address nor key: only the fields that belong to the kind are there.
function dressFor(form, gguf) {
  for (const label of $$("[data-for]", form)) {
    label.hidden = (label.dataset.for === "gguf") !== gguf;
    for (const field of $$("input, textarea, select", label)) field.disabled = label.hidden;
  }
  form.elements.gguf.required = gguf;
}

export function preset(form) {
  const chosen = form.elements.preset.selectedOptions[0];
  const { url: base_url, model, vision, audio, gguf, adapter, window: context_window, once: max_concurrent, options } = chosen.dataset;
  const fields = { base_url, model, adapter, context_window, max_concurrent, options };
  fill(form, { name: gguf ? "" : chosen.value, ...fields, vision: vision === "yes", audio: audio === "yes" });
  dressFor(form, Boolean(gguf));
  const keys = $(".keys", form);
  keys.hidden = !chosen.dataset.keys;
  if (chosen.dataset.keys) keys.href = chosen.dataset.keys;
  $("details", form).open = !chosen.value || Boolean(gguf);
}

// Ask a source for a first word: {ok, text for the person, works: what does, and what it wants otherwise}.
export async function tryOut(name) {
  const found = await post(`/models/${encodeURIComponent(name)}/test`);
  const { ok, latency_ms, error, hint, notes = [] } = found;
  if (!ok) return { ok, text: [`${word("test_failed")}: ${error}`, hint].filter(Boolean).join(" "), works: "" };
  const able = ["streaming", "tools", "images", "reasoning", "usage"].filter((what) => found[what]);
  const works = able.map((what) => word(`can_${what}`)).join(" · ");
  const told = [works && word("works", { list: works }), error, ...notes].filter(Boolean).join(" ");
  return { ok, text: word("test_ok", { ms: Math.round(latency_ms) }), works: told };
}

// The models that the server has: choosing one fills in its name and what is known of it.
function offered(form, models) {
  const list = form.elements.offers;
  list.hidden = !models?.length;
  list.replaceChildren(new Option(word("offers_some", { count: models?.length ?? 0 }), ""));
  for (const { id, title } of models ?? []) list.add(new Option(title ? `${id} — ${title}` : id, id));
  list.models = models ?? [];
  $(".said-of-offers", form).textContent = models && !models.length ? word("offers_none") : "";
}

async function look(form, button) {
  const said = $(".said-of-offers", form);
  const { name, base_url, adapter = "", api_key } = Object.fromEntries(new FormData(form));
  button.disabled = true;
  said.textContent = "…";
  try {
    const asked = { name, base_url, adapter: adapter || "openai", ...(api_key ? { api_key } : {}) };
    offered(form, (await post("/models/available", asked)).models);
  } catch (error) {
    said.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

function choose(form) {
  const { models, value } = form.elements.offers;
  const chosen = models.find(({ id }) => id === value);
  if (!chosen) return;
  form.elements.model.value = chosen.id;
  if (chosen.context_window) form.elements.context_window.value = chosen.context_window;
  if (chosen.vision !== null) form.elements.vision.checked = chosen.vision;
}

function entered(form) {
  const given = Object.fromEntries(new FormData(form));
  const { name, gguf, api_key, options } = given;
  const source = { name, tools: form.elements.tools.checked };
  for (const field of NUMBERS) if (given[field]) source[field] = Number(given[field]);
  if (gguf) return { ...source, gguf };
  for (const field of ["base_url", "model", "adapter"]) if (given[field]) source[field] = given[field];
  for (const field of ["vision", "audio"]) source[field] = form.elements[field].checked;
  if (options.trim()) source.options = table(options);
  return { ...source, ...(api_key ? { api_key } : {}) };
}

function table(text) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    // told below
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(word("no_json"));
  return value;
}

// Saved is not yet working: a wrong address or key must show here and now.  On the page of models the result stands at
// the source after the reload; a first source that does not work stays in its form, to be put right.
async function save(form) {
  const said = $(".said-of-form", form);
  said.className = "said-of-form";
  said.textContent = "…";
  try {
    const source = entered(form);
    const { name } = source;
    await post("/models", source);
    await post(`/models/${encodeURIComponent(name)}/use`);
    form.elements.api_key.value = "";
    said.textContent = word("testing");
    const result = await tryOut(name);
    said.classList.add(result.ok ? "good" : "bad");
    said.textContent = result.text;
    if (form.dataset.source === "models") sessionStorage.setItem("tried", JSON.stringify({ name, ...result }));
    if (result.ok || form.dataset.source === "models") location.reload();
  } catch (error) {
    said.classList.add("bad");
    said.textContent = error.message;
  }
}

for (const form of $$("form.source")) {
  preset(form);
  form.elements.preset.addEventListener("change", () => preset(form));
  $("[data-do=offers]", form).addEventListener("click", ({ currentTarget }) => look(form, currentTarget));
  form.elements.offers.addEventListener("change", () => choose(form));
  form.addEventListener("invalid", () => { $("details", form).open = true; }, true);
  form.addEventListener("submit", (event) => { event.preventDefault(); save(form); });
}
