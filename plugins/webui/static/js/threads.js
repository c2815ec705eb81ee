// The list of conversations: found as one types, renamed, taken along, deleted.
import { $, $$, make, toast, when, word } from "./dom.js";
import { get, post, remove } from "./api.js";
import { ask } from "./dialogs.js";

const list = $("#threads");
const find = $("#find");
const menu = $("#menu");
const CALM = 1000; // milliseconds between two refreshes that nobody typed for
const TYPING = 150;
const current = () => $("#talk")?.dataset.thread ?? "";
const known = new Map(); // id -> thread, as last listed

export function mark() {
  for (const link of $$("a.thread", list)) {
    if (link.dataset.thread === current()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let again = 0;
let pending = null;
let asked = 0;
export function refreshThreads(wait = 0) {
  // Many notices in a row become one request, at most one a second.
  if (pending) return;
  pending = setTimeout(load, Math.max(wait, again - Date.now()));
}

async function load() {
  pending = null;
  again = Date.now() + CALM;
  const turn = (asked += 1);
  const query = find.value.trim();
  try {
    const { threads } = await get(`/threads${query ? `?query=${encodeURIComponent(query)}` : ""}`);
    if (turn === asked) fill(threads, query); // an earlier question answered late is nobody's any more
  } catch (error) {
    if (error.code !== "network") toast(error.message, "bad");
  }
}

function fill(threads, query) {
  if ($("input.title", list)) return; // somebody renames one of them, and sees it anew afterwards
  const focused = document.activeElement?.closest("#threads a.thread, #threads button.more");
  const again = focused && { thread: focused.dataset.thread ?? focused.dataset.menu, tag: focused.tagName };
  for (const thread of threads) known.set(thread.id, thread);
  const empty = make("li", { class: "quiet", text: query ? list.dataset.none : list.dataset.empty });
  list.replaceChildren(...(threads.length ? threads.map(entry) : [empty]));
  mark();
  if (again) $$(again.tag === "A" ? "a.thread" : "button.more", list).find((one) => (one.dataset.thread ?? one.dataset.menu) === again.thread)?.focus();
}

function entry(thread) {
  const title = thread.title || word("untitled");
  const link = make("a", { class: "thread", href: `/t/${encodeURIComponent(thread.id)}`, "data-thread": thread.id, text: title });
  if (thread.busy) link.dataset.busy = "";
  const more = make("button", { type: "button", class: "quiet more", "data-menu": thread.id, "aria-haspopup": "menu", "aria-label": word("more", { title }), text: "⋯" });
  return make("li", {}, link, more);
}

export function setBusy(thread, busy) {
  const link = $$("a.thread", list).find((one) => one.dataset.thread === thread);
  if (link) link.toggleAttribute("data-busy", busy);
}

// -- what can be done with one

let opener = null;

function openMenu(button) {
  const thread = button.dataset.menu;
  const path = `/api/v1/threads/${encodeURIComponent(thread)}/export?format=`;
  const item = (tag, name, properties) => make(tag, { role: "menuitem", tabindex: -1, text: menu.dataset[name], ...properties });
  const rename = item("button", "rename", { type: "button" });
  const gone = item("button", "delete", { type: "button", class: "danger" });
  rename.addEventListener("click", () => { menu.hidePopover(); renameThread(thread); });
  gone.addEventListener("click", () => { menu.hidePopover(); deleteThread(thread); });
  menu.replaceChildren(rename, item("a", "md", { href: `${path}md`, download: "" }), item("a", "json", { href: `${path}json`, download: "" }), gone);
  for (const link of $$("a", menu)) link.addEventListener("click", () => setTimeout(() => menu.hidePopover()));
  opener = button;
  menu.showPopover();
  place(button);
  rename.focus();
}

function place(button) {
  const at = button.getBoundingClientRect();
  const below = at.bottom + menu.offsetHeight + 8 < innerHeight;
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - menu.offsetHeight - 4)}px`;
}

menu.addEventListener("keydown", (event) => {
  const items = [...menu.children];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    items.at(to % items.length).focus();
  } else if (event.key === "Tab") menu.hidePopover();
});
// The list may have been made anew while the menu was open: then another button stands for the same conversation.
const standing = (button) => button?.isConnected ? button : $$("button.more", list).find((one) => one.dataset.menu === button?.dataset.menu);
menu.addEventListener("toggle", (event) => {
  const button = standing(opener);
  button?.setAttribute("aria-expanded", String(event.newState === "open"));
  if (event.newState === "closed" && (menu.contains(document.activeElement) || document.activeElement === document.body)) button?.focus();
});

async function about(thread) {
  if (!known.has(thread)) {
    const { thread: found } = await get(`/chat/history?limit=1&thread=${encodeURIComponent(thread)}`);
    known.set(thread, found);
  }
  return known.get(thread);
}

async function renameThread(thread) {
  if (thread === current()) return renameHere(thread);
  const row = $$("a.thread", list).find((one) => one.dataset.thread === thread);
  if (row) edit(row, row.textContent, thread);
}

function renameHere(thread) {
  edit($("#title"), $("#title").textContent, thread);
}

// The title becomes a field in its place; Enter or leaving keeps, Escape does not.
function edit(shown, title, thread) {
  const input = make("input", { class: "title", "aria-label": word("rename"), maxlength: 200 });
  input.value = title;
  shown.replaceWith(input);
  input.focus();
  input.select();
  let done = false;
  const finish = async (keep) => {
    if (done) return;
    done = true;
    const had = document.activeElement === input;
    const listed = list.contains(input);
    input.replaceWith(shown);
    if (had) (shown.matches("a") ? shown : $("#about"))?.focus();
    const wanted = input.value.trim();
    if (!keep || !wanted || wanted === title) return void (listed && refreshThreads());
    try {
      await post(`/threads/${encodeURIComponent(thread)}`, { title: wanted });
      shown.textContent = wanted;
      refreshThreads();
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  input.addEventListener("blur", () => finish(true));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && !event.isComposing) finish(true);
    if (event.key === "Escape") finish(false);
  });
}

async function deleteThread(thread) {
  try {
    const { title, created_at, updated_at } = await about(thread);
    const dates = created_at ? word("delete_dates", { begun: when(created_at), last: when(updated_at) }) : "";
    const lines = [word("delete_what", { title: title || word("untitled") }), dates, word("delete_memory")];
    if (!(await ask({ title: word("delete_title"), lines, yes: word("delete_yes") }))) return;
    const here = thread === current();
    const { events, files } = await remove(`/threads/${encodeURIComponent(thread)}`);
    known.delete(thread);
    const said = word("deleted", { events, files });
    if (here) {
      sessionStorage.setItem("said", said);
      location.assign("/");
    } else {
      toast(said);
      refreshThreads();
    }
  } catch (error) {
    toast(error.message, "bad");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-menu]");
  if (!button) return;
  if (menu.matches(":popover-open")) menu.hidePopover();
  else openMenu(button);
});

let typing = null;
find.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    clearTimeout(pending);
    load();
  }, TYPING);
});
find.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") {
    event.preventDefault();
    $("a.thread", list)?.focus();
  }
});
list.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const link = event.target.closest("li")?.querySelector("a.thread");
  if (!step || !link) return;
  event.preventDefault();
  const links = $$("a.thread", list);
  (links[links.indexOf(link) + step] ?? (step < 0 ? find : link)).focus();
});

const said = sessionStorage.getItem("said");
if (said) {
  sessionStorage.removeItem("said");
  toast(said);
}
mark();
