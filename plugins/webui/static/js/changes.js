// The pages of changes and of the log: lines of files that are asked for later, the way back, forgetting.
import { $, $$, make, ready, toast, word, wordOr } from "./dom.js";
import { get, post, remove } from "./api.js";
import { ask } from "./dialogs.js";
import "./seek.js";
import "./shell.js";

const box = $("#change");
const kinds = { "+": "ins", "-": "del", "@": "hunk" };

async function open(details) {
  details.removeAttribute("data-later");
  const told = $("[role=status]", details);
  try {
    const found = await get(`/changes/${encodeURIComponent(box.dataset.change)}/diff?number=${details.dataset.number}`);
    const lines = found.lines.map(([sign, text]) => make("div", { class: kinds[sign] ?? "ctx" }, make("span", { class: "sg", text: sign === "@" ? "" : sign }), text));
    if (lines.length) told.before(make("div", { class: "diff scrolls", tabindex: "0", role: "region", "aria-label": found.path }, ...lines));
    told.textContent = found.more ? word("changes_more_lines") : lines.length ? "" : word(`changes_diff_${found.kind}`);
  } catch (error) {
    told.textContent = error.message;
  }
}

for (const details of $$("details[data-later]")) {
  const toggled = () => { if (details.open && details.hasAttribute("data-later")) open(details); };
  details.addEventListener("toggle", toggled);
  toggled(); // somebody may have been quicker than this script
}

const trouble = (one) => make("li", {}, make("code", { text: one.path, dir: "auto" }), ` ${wordOr(`changes_why_${one.why}`, one.why)}${one.detail ? ` (${one.detail})` : ""}`);

async function rollback(force) {
  const said = $(".tools [role=status]", box);
  const list = $(".troubles", box);
  said.textContent = word("changes_working");
  try {
    const done = await post(`/changes/${encodeURIComponent(box.dataset.change)}/rollback`, { force });
    list.replaceChildren(...done.troubles.map(trouble));
    list.hidden = !done.troubles.length;
    said.textContent = done.refused ? word("changes_refused") : word("changes_done", { n: done.restored });
    said.className = done.refused || done.troubles.length ? "bad" : "";
    if (done.refused) {
      const yes = word("changes_force");
      if (await ask({ title: word("changes_refused"), lines: [...done.troubles.slice(0, 8).map((one) => one.path), word("changes_force_sure")], yes })) await rollback(true);
    } else if (!done.troubles.length) {
      location.assign(done.set ? `/changes/${encodeURIComponent(done.set)}` : "/changes");
    }
  } catch (error) {
    said.textContent = error.message;
    said.className = "bad";
  }
}

box?.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-change-do]");
  if (!button) return;
  const back = button.dataset.changeDo === "rollback";
  if (!(await ask({ title: button.textContent, lines: [word(back ? "changes_rollback_sure" : "changes_forget_sure")], yes: button.textContent }))) return;
  button.disabled = true;
  try {
    if (back) await rollback(false);
    else {
      await remove(`/changes/${encodeURIComponent(box.dataset.change)}`);
      location.assign("/changes");
    }
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
});
ready();
