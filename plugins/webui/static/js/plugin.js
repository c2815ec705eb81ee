// One plugin's page: what it may do, its settings, and what is done with it.
import { $, $$, make, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { ask, show } from "./dialogs.js";
import "./shell.js";
import "./forms.js";

const { name } = $("#plugin").dataset;
const path = `/plugins/${encodeURIComponent(name)}`;

for (const button of $$("[data-do]")) {
  button.addEventListener("click", async () => {
    const action = button.dataset.do;
    if (action === "disable" && !(await ask({ title: button.textContent, lines: [word("plugin_disable_sure", { name })], yes: button.textContent }))) return;
    await attempt(button, () => post(`${path}/${action}`));
  });
}

$("[data-remove]")?.addEventListener("click", (event) => {
  const keep = make("input", { type: "checkbox", name: "keep", checked: "" });
  const sure = make("button", { class: "primary danger", text: word("plugin_remove") });
  const not = make("button", { type: "button", text: word("cancel"), autofocus: "" });
  const form = make("form", { class: "review-form" }, make("p", { text: word("plugin_remove_sure", { name }) }),
    make("label", { class: "check" }, keep, make("span", { text: word("plugin_keep") })), make("div", { class: "row" }, not, sure));
  const dialog = show({ title: word("plugin_remove"), kind: "ask" }, form);
  not.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    dialog.close();
    event.target.disabled = true;
    try {
      await post(`${path}/remove`, { keep_data: keep.checked });
      location.assign("/plugins");
    } catch (error) {
      toast(error.message, "bad");
      event.target.disabled = false;
    }
  });
});

$("#grants")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const capabilities = $$("[name=grant]:checked", event.target).map((box) => box.value);
  const told = $('[role="status"]', event.target);
  told.className = "said-of-form";
  try {
    told.textContent = (await post(`${path}/grant`, { capabilities })).note;
  } catch (error) {
    told.className = "said-of-form bad";
    told.textContent = error.message;
  }
});

async function attempt(button, what) {
  button.disabled = true;
  try {
    const { note } = await what();
    if (note) toast(note);
    setTimeout(() => location.reload(), note ? 1200 : 0);
  } catch (error) {
    toast(error.message, "bad");
    button.disabled = false;
  }
}
ready();
