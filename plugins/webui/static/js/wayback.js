// The way back for the settings of models: what they were before each change.  Nothing of it needs a model.
import { $, make, toast, when, word } from "./dom.js";
import { get, post } from "./api.js";
import { ask } from "./dialogs.js";

const list = $("#ways-back");

const short = (value) => {
  const text = value === null || value === "" ? "–" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};
const lines = ({ differences }) => differences.map(({ what, then, now }) => `${what}: ${short(now)} → ${short(then)}`);

async function load() {
  try {
    const { snapshots } = await get("/settings/snapshots");
    list.replaceChildren(...(snapshots.length ? snapshots.map(entry) : [make("li", { class: "quiet", text: list.dataset.none })]));
  } catch (error) {
    list.replaceChildren(make("li", { class: "bad", text: error.message }));
  }
}

function entry(snapshot) {
  const at = when(snapshot.at);
  const said = lines(snapshot);
  const back = make("button", { type: "button", text: word("back_do"), "aria-label": word("back_do_name", { when: at }) });
  back.disabled = !said.length;
  back.addEventListener("click", () => turn(snapshot, said, at));
  const changes = make("ul", {}, ...(said.length ? said : [word("back_same")]).map((text) => make("li", { text })));
  const title = make("p", {}, make("b", { text: word("back_before", { when: at }) }), make("small", { text: word("back_changed", { keys: snapshot.changed.join(", ") }) }));
  return make("li", { "data-snapshot": snapshot.id }, make("div", {}, title, changes), back);
}

async function turn(snapshot, said, at) {
  if (!(await ask({ title: word("back_before", { when: at }), lines: [word("back_sure"), ...said], yes: word("back_do") }))) return;
  try {
    const { notes } = await post(`/settings/snapshots/${snapshot.id}`);
    toast([word("back_done"), ...notes].join(" "), notes.length ? "bad" : "");
    await load();
    list.querySelector("button:not([disabled])")?.focus();
  } catch (error) {
    toast(error.message, "bad");
  }
}

load();
