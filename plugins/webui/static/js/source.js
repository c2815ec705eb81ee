// The form for a model source: a provider fills the fields, saving stores the key and uses the source.
import { $, $$, word } from "./dom.js";
import { post } from "./api.js";

export function fill(form, { name, base_url, model, context_window = "", tools = true }) {
  Object.assign(form.elements.name, { value: name });
  Object.assign(form.elements.base_url, { value: base_url });
  Object.assign(form.elements.model, { value: model });
  Object.assign(form.elements.context_window, { value: context_window });
  form.elements.tools.checked = tools;
}

export function preset(form) {
  const chosen = form.elements.preset.selectedOptions[0];
  fill(form, { name: chosen.value, base_url: chosen.dataset.url, model: chosen.dataset.model });
  const keys = $(".keys", form);
  keys.hidden = !chosen.dataset.keys;
  if (chosen.dataset.keys) keys.href = chosen.dataset.keys;
  $("details", form).open = !chosen.value;
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
  const { name, base_url, model, api_key, context_window } = Object.fromEntries(new FormData(form));
  const source = { name, base_url, model, tools: form.elements.tools.checked };
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
