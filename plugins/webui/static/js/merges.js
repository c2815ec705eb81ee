// People and things that may be one: a person decides, and may decide otherwise later.
import { $, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./parts.js";

const home = $("#merges");

function deed(button) {
  const merge = button.closest("[data-merge]")?.dataset.merge;
  const at = `/memory/merges/${encodeURIComponent(merge)}`;
  if (button.dataset.keep) return post(`${at}/accept`, { keep: Number(button.dataset.keep) });
  if (button.dataset.mergeDo === "reject") return post(`${at}/reject`);
  if (button.dataset.undo) return post(`/memory/merged/${encodeURIComponent(button.dataset.undo)}/undo`);
  return null;
}

home.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  const done = button && deed(button);
  if (!done) return;
  button.disabled = true;
  try {
    await done;
    toast(word("merges_done"));
  } catch (error) {
    toast(error.message, "bad");
  }
  await fresh(); // also after a refusal: somebody else may have decided
  button.disabled = false;
  $("#memory").focus();
});

follow({ again: fresh });
ready();
