// The form for a model source: a provider fills the fields, saving stores the key and uses the source.
import { $, $$, word } from "./dom.js";
import { post } from "./api.js";

export function fill(form, { name, base_url, model, gguf = "", context_window = "", tools = true, vision = false }) {
  for (const [field, value] of Object.entries({ name, base_url, model, gguf, context_window })) form.elements[field].value = value;
  form.elements.tools.checked = tools;
  form.elements.vision.checked = vision;
}

// A file on this machine has neither address nor key: only the fields that belong to the kind are there.
function dressFor(form, gguf) {
  for (const label of $$("[data-for]", form)) {
    label.hidden = (label.dataset.for === "gguf") !== gguf;
    for (const field of $$("input", label)) field.disabled = label.hidden;
  }
  form.elements.gguf.required = gguf;
}

export function preset(form) {
  const chosen = form.elements.preset.selectedOptions[0];
  const { url: base_url, model, vision, gguf } = chosen.dataset;
  fill(form, { name: gguf ? "" : chosen.value, base_url, model, vision: vision === "yes" });
  dressFor(form, Boolean(gguf));
  const keys = $(".keys", form);
  keys.hidden = !chosen.dataset.keys;
  if (chosen.dataset.keys) keys.href = chosen.dataset.keys;
  $("details", form).open = !chosen.value || Boolean(gguf);
}

// Ask a source for a first word: {ok, text for the person}.
export async function tryOut(name) {
  const { ok, latency_ms, error, hint } = await post(`/models/${encodeURIComponent(name)}/test`);
  if (ok) return { ok, text: word("test_ok", { ms: Math.round(latency_ms) }) };
  return { ok, text: [`${word("test_failed")}: ${error}`, hint].filter(Boolean).join(" ") };
}

// Saved is not yet working: a wrong address or key must show here and now.  On the page of models the result stands at
// the source after the reload; a first source that does not work stays in its form, to be put right.
async function save(form) {
  const said = $(".said-of-form", form);
  const { name, base_url, model, gguf, api_key, context_window } = Object.fromEntries(new FormData(form));
  const tools = form.elements.tools.checked;
  const source = gguf ? { name, gguf, tools } : { name, base_url, model, tools, vision: form.elements.vision.checked };
  if (api_key) source.api_key = api_key;
  if (context_window) source.context_window = Number(context_window);
  said.className = "said-of-form";
  said.textContent = "…";
  try {
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
  form.addEventListener("invalid", () => { $("details", form).open = true; }, true);
  form.addEventListener("submit", (event) => { event.preventDefault(); save(form); });
}
