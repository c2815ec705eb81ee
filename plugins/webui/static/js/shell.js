// What every page behind the login has: the menu, the list of conversations, theme, language, keys, leaving.
import { $, dress, toast, word } from "./dom.js";
import { post } from "./api.js";
import { nextTheme } from "./choices.js";
import { covered, show } from "./dialogs.js";
import { leave } from "./drafts.js";
export { refreshThreads, setBusy } from "./threads.js";

function openNav(open) {
  document.body.classList.toggle("nav-open", open);
  $(`[data-nav="${open ? "close" : "open"}"]:not(.veil)`)?.focus();
}

document.addEventListener("click", (event) => {
  const nav = event.target.closest("[data-nav]");
  if (nav) openNav(nav.dataset.nav === "open");
});

function help() {
  show({ title: word("keys"), kind: "keys" }, $("#keys").content.cloneNode(true));
}

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || covered()) return;
  if (event.key === "Escape" && document.body.classList.contains("nav-open")) return openNav(false);
  if (typing(event.target)) return;
  if (event.key === "?") {
    event.preventDefault();
    help();
  } else if (event.key === "/") {
    event.preventDefault();
    ($("#text") ?? $("#find")).focus();
  } else if (event.key === "f") {
    event.preventDefault();
    if (getComputedStyle($("#nav")).visibility === "hidden") openNav(true);
    $("#find").focus();
  }
});

$("#help").addEventListener("click", help);
$("#theme").addEventListener("click", nextTheme);

$("#logout").addEventListener("click", async () => {
  try {
    await post("/logout");
    leave();
    location.assign("/login");
  } catch (error) {
    toast(error.message, "bad");
  }
});

dress(document);
