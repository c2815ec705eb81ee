// The chat page: says, listens, stops, approves.
import { $, $$, copy, dress, ready, toast, word } from "./dom.js";
import { get, post } from "./api.js";
import { refreshThreads, setBusy } from "./shell.js";
import { Live } from "./live.js";
import { covered } from "./dialogs.js";
import { busy, following, lastSaid, ops, prepend, replaceAll, tellOver, toEnd } from "./talk.js";
import { add, attached, clear, listen as listenForFiles, underWay, uploads } from "./attach.js";
import { keep, kept } from "./drafts.js";
import { jump } from "./jump.js";
import { wholeText } from "./whole.js";
import { fillRecall, fillWritten } from "./recall.js";
import { openWhy } from "./why.js";
import "./opens.js";
import "./source.js";
import "./persona.js";

const talk = $("#talk");
const box = $("#text");
const stop = $("#stop");
const now = $("#now");
const heading = $("#title"); // which is not on the page while a person renames what it says
let live = null;

function showBusy() {
  stop.hidden = now.hidden = !busy();
  setBusy(talk.dataset.thread, busy());
}

function onOp(name, op) {
  if (name === "threads") refreshThreads();
  else if (name === "plugins" || name === "memory" || name === "working") return;
  else if (name === "notice") toast(op.message);
  else if (name === "title") setTitle(op.title);
  else if (name === "deleted") gone();
  else following(() => ops[name](op));
  if (name === "turn") showBusy();
}

function setTitle(title) {
  heading.textContent = title || word("untitled");
  document.title = `${title || word("untitled")} · HologramAgent`;
}

// Somebody deleted this conversation, here or in another tab: nothing can be said in it any more.  What was typed for it
// waits in the box of a new one.
function gone() {
  live?.close();
  const words = [kept(""), typed()].filter(Boolean).join("\n\n");
  if (talk.dataset.thread) {
    editOff();
    takeDraft();
    box.value = words;
    keep(talk.dataset.thread, "");
    keep("", words);
  }
  talk.dataset.thread = "";
  for (const section of $$("section.turn", talk)) section.remove();
  $("#earlier").hidden = $("#about").hidden = $("#line").hidden = $("#box").hidden = $("#hint").hidden = stop.hidden = now.hidden = true;
  $("#gone").hidden = false;
  $("#gone a").focus();
  refreshThreads();
}

function listen() {
  live?.close();
  live = new Live({
    thread: talk.dataset.thread,
    cursor: talk.dataset.cursor,
    onOp,
    onLine: (up) => { $("#line").hidden = up; },
    onSync: () => open(talk.dataset.thread),
    onRefused: () => open(talk.dataset.thread),
    onLogout: () => location.reload(),
  });
}

// Load a conversation afresh and go on listening from exactly there.
async function open(thread) {
  if (!thread) return listen();
  try {
    const page = await get(`/chat/history?view=html&thread=${encodeURIComponent(thread)}`);
    Object.assign(talk.dataset, { thread, cursor: page.cursor, before: page.before });
    $("#earlier").hidden = !page.more;
    $("#about").hidden = false;
    $("#about").dataset.menu = thread;
    setTitle(page.thread.title);
    replaceAll(page.html);
    showBusy();
    listen();
  } catch (error) {
    if (error.status === 404) gone();
    else if (error.status !== 401) setTimeout(() => open(thread), 3000);
  }
}

let sending = null; // {id, text, files}: a message that failed keeps its id, so that sending it again cannot run it twice
// ``urgent``: what runs is suspended for it, and goes on afterwards.
async function say(urgent = false) {
  if ($("#send").disabled) return; // the last one is still on its way: what is typed now is not sent with it
  if (underWay()) return toast(word("attach_wait"));
  const editing = edited;
  if (editing?.classList.contains("live")) await halt();
  const [text, files, from] = [box.value, uploads(), talk.dataset.thread];
  if (await send(text, files, urgent)) {
    clear(files);
    keep(from, "");
    // What was typed meanwhile is the next message's; words written over while an old message was edited come back.
    if (box.value.startsWith(text)) box.value = box.value.slice(text.length) || takeDraft();
    editOff();
    grow();
  }
  box.focus();
}

async function send(text, files = [], urgent = false) {
  if (!text.trim() && !files.length) return false;
  if (sending?.text !== text || sending.files.join() !== files.join()) sending = { id: newId(), text, files };
  const button = $("#send");
  button.disabled = true;
  try {
    const more = files.length ? { attachments: files } : {};
    const { thread } = await post(urgent && busy() ? "/chat/interrupt" : "/chat", { text, thread: talk.dataset.thread, client_msg_id: sending.id, ...more });
    sending = null;
    if (thread !== talk.dataset.thread) {
      history.pushState(null, "", `/t/${encodeURIComponent(thread)}`);
      await open(thread);
      tellOver();
      refreshThreads();
    }
    toEnd();
    return true;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  } finally {
    button.disabled = false;
  }
}

// What was said there, whole; null, and a word about it, when that cannot be had: a cut text is not sent as if it were all.
async function said(section) {
  try {
    return await wholeText(talk.dataset.thread, section);
  } catch (error) {
    toast(error.message, "bad");
    return null;
  }
}

// The same words as a new message: the one whose turn failed keeps its outcome.  One that came with files goes back into
// the box, to be looked at first.
async function again(button) {
  const section = button.closest("section.turn");
  if ($(".sent", section)) return edit(section);
  button.disabled = true;
  const text = await said(section);
  if (text === null || !(await send(text))) button.disabled = false;
}

// One's last message back in the box, with its files: sent again it is a new message, and the old one stays.
// What stood in the box comes back afterwards.
let edited = null;
let wanted = null; // whose words are on their way
let before = ""; // the words that are edited, as they were
let draft = "";
function takeDraft() {
  const kept = draft;
  draft = "";
  return kept;
}

// What would be lost with the page: words laid aside, and those in the box unless they are only an old message's.
function typed() {
  return [draft, edited && box.value === before ? "" : box.value].filter((one) => one.trim()).join("\n\n");
}

async function edit(section) {
  wanted = section;
  const text = await said(section);
  if (wanted !== section || text === null) return;
  wanted = null;
  if (!edited) draft = box.value;
  editOff();
  edited = section;
  $("#editing").hidden = false;
  box.value = text;
  before = box.value;
  grow();
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
  clear();
  for (const link of $$(".sent a", section)) {
    try {
      const response = await fetch(link.href, { credentials: "same-origin" });
      if (!response.ok) throw new Error(); // its body is no file, but why there is none
      const blob = await response.blob();
      if (edited === section) add([new File([blob], link.dataset.file || "file", { type: link.dataset.type })]);
    } catch {
      toast(word("attach_error", { name: link.dataset.file || "", why: word("attach_failed") }), "bad");
    }
  }
}

function editOff() {
  edited = null;
  $("#editing").hidden = true;
}

function cancelEdit() {
  editOff();
  box.value = takeDraft();
  clear();
  grow();
  box.focus();
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function halt() {
  if (!busy()) return;
  try {
    await post("/chat/stop", { thread: talk.dataset.thread });
  } catch (error) {
    toast(error.message, "bad");
  }
}

function grow() {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, innerHeight * 0.4)}px`;
}

$("#say").addEventListener("submit", (event) => { event.preventDefault(); say(); });
stop.addEventListener("click", halt);
now.addEventListener("click", () => say(true));
$("#edit-off").addEventListener("click", cancelEdit);
box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    say(event.ctrlKey || event.metaKey);
  } else if (event.key === "ArrowUp" && !box.value && !attached() && lastSaid()) {
    event.preventDefault();
    edit(lastSaid());
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || covered()) return;
  if (edited && event.target === box) cancelEdit();
  else halt();
});

// Stop one agent; what made it goes on, and hears of it.
async function haltAgent(button) {
  button.disabled = true;
  try {
    await post("/chat/stop", { thread: button.dataset.halt });
  } catch (error) {
    button.disabled = false;
    toast(error.message, "bad");
  }
}

async function approve(choice) {
  const row = choice.parentElement;
  for (const button of row.children) button.disabled = true;
  try {
    const { approve: approval, decision, remember } = choice.dataset;
    await post(`/approvals/${encodeURIComponent(approval)}`, { decision, remember });
    box.focus(); // the buttons are about to go
  } catch (error) {
    toast(error.message, "bad");
    for (const button of row.children) button.disabled = false;
  }
}

const deeds = {
  "[data-idea]": (idea) => {
    box.value = idea.textContent;
    grow();
    box.focus();
  },
  "[data-again]": again,
  "[data-approve]": approve,
  "[data-halt]": haltAgent,
  "[data-edit]": (button) => edit(button.closest("section.turn")),
  "[data-why]": (button) => openWhy(button.closest("section.turn").dataset.turn),
  "[data-copies]": (button) => {
    const from = button.dataset.copies === "said" ? ".said" : ".answer .block";
    copy($$(from, button.closest("section.turn")).map((one) => (from === ".said" ? one.textContent : one.innerText)).join("\n\n"), button);
  },
};
talk.addEventListener("click", (event) => {
  for (const [selector, deed] of Object.entries(deeds)) {
    const found = event.target.closest(selector);
    if (found) deed(found);
  }
});
function toggled(details) {
  const { dataset, open: opened } = details;
  if (opened && "recall" in dataset) fillRecall(details, details.closest("section.turn").dataset.turn);
  if (opened && "written" in dataset) fillWritten(details);
}
talk.addEventListener("toggle", (event) => toggled(event.target), true);
$$("details[open]", talk).forEach(toggled); // by somebody who was quicker than this script

// The page of history before what is here; resolves to whether there is more.
async function earlier() {
  const button = $("#earlier");
  if (button.hidden) return false;
  button.disabled = true;
  try {
    const page = await get(`/chat/history?view=html&thread=${encodeURIComponent(talk.dataset.thread)}&before=${talk.dataset.before}`);
    prepend(page.html);
    talk.dataset.before = page.before;
    button.hidden = !page.more;
    return page.more;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  } finally {
    button.disabled = false;
  }
}
$("#earlier").addEventListener("click", earlier);
addEventListener("hashchange", () => jump(talk, earlier));

addEventListener("popstate", () => location.reload());
addEventListener("pagehide", () => keep(talk.dataset.thread, typed()));
box.value ||= kept(talk.dataset.thread);
grow();

listenForFiles();
dress(talk);
toEnd();
showBusy();
listen();
jump(talk, earlier).finally(ready);
