// API keys: who may come in without a person.  A key is shown once, when it is made; afterwards only its name is.
import { $, $$, copy, make, toast, when, word, wordOr } from "./dom.js";
import { get, post, remove } from "./api.js";
import { ask, show } from "./dialogs.js";

const list = $("#api-keys");
const form = $("#new-key");

async function load() {
  try {
    const { keys } = await get("/keys");
    list.replaceChildren(...(keys.length ? keys.map(entry) : [make("li", { class: "quiet", text: list.dataset.none })]));
  } catch (error) {
    list.replaceChildren(make("li", { class: "bad", text: error.message }));
  }
}

function entry({ name, peer, scopes, created_at, used_at }) {
  const used = used_at ? word("key_used", { when: when(used_at) }) : word("key_unused");
  const marks = scopes.map((scope) => make("span", { class: "mark quiet", text: wordOr(`scope_${scope}`, scope) }));
  if (peer !== "webui:owner") marks.unshift(make("span", { class: "mark", text: word("key_acts_as", { peer }) }));
  const off = make("button", { type: "button", class: "quiet danger", text: word("key_remove"), "aria-label": word("key_remove_name", { name }) });
  off.addEventListener("click", () => drop(name));
  return make("li", {}, make("b", { text: name }), ...marks, make("small", { text: `${word("key_made", { when: when(created_at) })} · ${used}` }), off);
}

async function drop(name) {
  if (!(await ask({ title: word("key_remove"), lines: [word("key_sure", { name })], yes: word("key_remove") }))) return;
  try {
    await remove(`/keys/${encodeURIComponent(name)}`);
    await load();
    form.elements.name.focus();
  } catch (error) {
    toast(error.message, "bad");
  }
}

function showOnce({ name, key }) {
  const button = make("button", { type: "button", class: "primary", text: word("copy") });
  button.addEventListener("click", () => copy(key, button));
  const field = make("input", { class: "key", readonly: "", "aria-label": word("key_value", { name }), value: key });
  field.addEventListener("focus", () => field.select());
  show({ title: word("key_value", { name }), kind: "key" }, make("p", { text: word("key_once") }), make("div", { class: "row" }, field, button));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = $('[role="status"]', form);
  const scopes = $$("[name=scopes]:checked", form).map((one) => one.value);
  said.className = "said-of-form";
  said.textContent = "";
  try {
    const made = await post("/keys", { name: form.elements.name.value.trim(), scopes });
    form.reset();
    await load();
    showOnce(made);
  } catch (error) {
    said.classList.add("bad");
    said.textContent = error.message;
  }
});

load();
