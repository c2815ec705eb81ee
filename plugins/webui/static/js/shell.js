// What every page behind the login has: the menu, the list of conversations, theme, language, leaving.
import { $, $$, dress, make, toast, word } from "./dom.js";
import { get, post } from "./api.js";
import { remember } from "./choices.js";

const list = $("#threads");
const find = $("#find");
const current = () => $("#talk")?.dataset.thread ?? "";

function mark() {
  for (const link of $$("a.thread", list)) {
    if (link.dataset.thread === current()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let again = 0;
let pending = null;
export function refreshThreads() {
  // Many notices in a row become one request, at most one a second.
  if (pending) return;
  pending = setTimeout(async () => {
    pending = null;
    again = Date.now() + 1000;
    try {
      const query = find.value.trim();
      const { threads } = await get(`/threads${query ? `?query=${encodeURIComponent(query)}` : ""}`);
      list.replaceChildren(...(threads.length ? threads.map(entry) : [make("p", { class: "quiet", text: list.dataset.empty })]));
      mark();
    } catch (error) {
      toast(error.message, "bad");
    }
  }, Math.max(0, again - Date.now()));
}

function entry(thread) {
  const link = make("a", { role: "listitem", class: "thread", href: `/t/${encodeURIComponent(thread.id)}`, "data-thread": thread.id, text: thread.title || word("untitled") });
  if (thread.busy) link.dataset.busy = "";
  return link;
}

export function setBusy(thread, busy) {
  const link = $$("a.thread", list).find((one) => one.dataset.thread === thread);
  if (link) link.toggleAttribute("data-busy", busy);
}

document.addEventListener("click", (event) => {
  const nav = event.target.closest("[data-nav]");
  if (nav) document.body.classList.toggle("nav-open", nav.dataset.nav === "open");
});

$("#theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"];
  const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % 3];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  remember("theme", next);
});

$("#logout").addEventListener("click", async () => {
  try {
    await post("/logout");
    location.assign("/login");
  } catch (error) {
    toast(error.message, "bad");
  }
});

find.addEventListener("input", refreshThreads);
mark();
dress(document);
