// The settings page: one form a setting, search, the persona, the way back for models, and the keys of programs.
import { $, $$, ready, word } from "./dom.js";
import "./shell.js";
import "./forms.js";
import "./keys.js";
import "./persona.js";
import "./wayback.js";

const find = $("#find-setting");
const changed = $("#only-changed");
const forms = $$("form[data-find]").map((form) => ({ form, text: form.dataset.find.toLowerCase() }));

// Each word of the search must be there, in either language; Chinese has no spaces between words, so parts do as well.
function look() {
  const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const looking = wanted.length > 0 || changed.checked;
  let count = 0;
  for (const { form, text } of forms) {
    form.hidden = !(wanted.every((one) => text.includes(one)) && (!changed.checked || form.dataset.source !== "default"));
    count += form.hidden ? 0 : 1;
  }
  for (const panel of $$("#settings > .panel")) {
    panel.hidden = "apart" in panel.dataset ? looking : !$("form[data-find]:not([hidden])", panel);
  }
  $(".rooms").hidden = looking;
  $("#found").textContent = looking ? word("settings_found", { count }) : "";
}

find.addEventListener("input", look);
changed.addEventListener("change", look);
find.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !find.value) return;
  event.stopPropagation();
  find.value = "";
  look();
});
if (location.hash.startsWith("#find=")) find.value = decodeURIComponent(location.hash.slice(6));
look();
ready();
