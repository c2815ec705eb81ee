// How vectors are made: one probe that keeps nothing, one change that counts at once, and how far the refill is.
import { $, $$, ready, word } from "./dom.js";
import { post, put } from "./api.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./parts.js";

const form = $("#embedding");
const said = $('[role="status"]', form);
const buttons = $$("button", form);

function tell(text, kind = "") {
  said.className = `said-of-form ${kind}`;
  said.textContent = text;
}

function place() {
  const { base_url: url, model, dimensions, api_key: key, forget_key: gone } = form.elements;
  const given = { base_url: url.value.trim(), model: model.value.trim(), dimensions: Number(dimensions.value) || 0 };
  if (gone?.checked) given.api_key = "";
  else if (key.value) given.api_key = key.value.trim();
  return given;
}

// Only an endpoint has an address and a key; what is best of all there is may be one.
const remote = () => ["endpoint", "auto"].includes(form.elements.embedding.value);
function choose() {
  $('[data-for="endpoint"]', form).hidden = $("[data-probe]", form).hidden = !remote();
}

async function doing(text, act) {
  for (const button of buttons) button.disabled = true;
  tell(text);
  try {
    await act();
  } catch (error) {
    tell(error.message, "bad");
  }
  for (const button of buttons) button.disabled = false;
}

$("[data-probe]", form).addEventListener("click", () => doing(word("embedding_testing"), async () => {
  const found = await post("/memory/embedding/probe", place());
  if (found.ok) return tell(word("embedding_works", { dims: found.dims, ms: found.ms }), "good");
  return tell([word(found.reachable ? "embedding_no_model" : "embedding_not_reached"), found.error, found.hint].filter(Boolean).join(" "), "bad");
}));

form.addEventListener("submit", (event) => {
  event.preventDefault();
  doing(word("embedding_saving"), async () => {
    const kind = form.elements.embedding;
    const changes = { ...(remote() ? place() : {}), ...(kind.disabled ? {} : { embedding: kind.value }) };
    const found = await put("/memory/embedding", changes);
    form.elements.api_key.value = "";
    form.elements.api_key.placeholder = word(found.hasKey ? "setting_set" : "setting_not_set");
    if (form.elements.forget_key) form.elements.forget_key.checked = false;
    tell(word("embedding_saved"), "good");
    await fresh();
  });
});
form.elements.embedding.addEventListener("change", choose);

function share(done, total) {
  $("#refill").dataset.passing = ""; // until the server is asked again, whose words these are written over
  const bar = $("#refill progress");
  bar.max = Math.max(total, 1);
  bar.value = done;
  $("#refill p").textContent = word("embedding_at", { done, total });
}

let news = 0;
follow({
  again: fresh,
  onWork({ what, done, total }) {
    if (what !== "vectors") return;
    share(done, total);
    clearTimeout(news);
    news = setTimeout(fresh, 1500); // no more news: then what is stored is the truth
  },
});
choose();
ready();
