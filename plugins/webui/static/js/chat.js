// The chat page: says, listens, stops, approves.
import { $, dress, make, ready, toast, word } from "./dom.js";
import { get, post } from "./api.js";
import { refreshThreads, setBusy } from "./shell.js";
import { Live } from "./live.js";
import { busy, following, ops, prepend, replaceAll, toEnd } from "./talk.js";
import "./source.js";

const talk = $("#talk");
const box = $("#text");
const stop = $("#stop");
let live = null;

function showBusy() {
  stop.hidden = !busy();
  setBusy(talk.dataset.thread, busy());
}

function onOp(name, op) {
  if (name === "threads") refreshThreads();
  else if (name === "plugins") return;
  else if (name === "notice") toast(op.message);
  else if (name === "title") setTitle(op.title);
  else following(() => ops[name](op));
  if (name === "turn") showBusy();
}

function setTitle(title) {
  $("#title").textContent = title || word("untitled");
  document.title = `${title || word("untitled")} · HologramAgent`;
}

function listen() {
  live?.close();
  live = new Live({
    thread: talk.dataset.thread,
    cursor: talk.dataset.cursor,
    onOp,
    onLine: (up) => { $("#line").hidden = up; },
    onSync: () => open(talk.dataset.thread),
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
    $("#rename").hidden = false;
    setTitle(page.thread.title);
    replaceAll(page.html);
    showBusy();
    listen();
  } catch (error) {
    if (error.status !== 401) setTimeout(() => open(thread), 3000);
  }
}

let sending = null; // {id, text}: a message that failed keeps its id, so that sending it again cannot run it twice
async function say() {
  if (await send(box.value)) {
    box.value = "";
    grow();
  }
  box.focus();
}

async function send(text) {
  if (!text.trim()) return false;
  if (sending?.text !== text) sending = { id: newId(), text };
  const button = $("#send");
  button.disabled = true;
  try {
    const { thread } = await post("/chat", { text, thread: talk.dataset.thread, client_msg_id: sending.id });
    sending = null;
    if (thread !== talk.dataset.thread) {
      history.pushState(null, "", `/t/${encodeURIComponent(thread)}`);
      await open(thread);
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

// The same words as a new message: the one whose turn failed keeps its outcome.  A text so long that the page may show
// it cut goes back into the box, to be looked at first.
const WHOLE = 4000;
async function again(button) {
  const text = $(".said", button.closest("section.turn"))?.textContent ?? "";
  if (text.length > WHOLE) {
    box.value = text;
    grow();
    box.focus();
    return;
  }
  button.disabled = true;
  if (!(await send(text))) button.disabled = false;
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
box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    say();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.isComposing) halt();
});

talk.addEventListener("click", async (event) => {
  const idea = event.target.closest("[data-idea]");
  if (idea) {
    box.value = idea.textContent;
    grow();
    box.focus();
  }
  const repeat = event.target.closest("[data-again]");
  if (repeat) again(repeat);
  const choice = event.target.closest("[data-approve]");
  if (!choice) return;
  const row = choice.parentElement;
  for (const button of row.children) button.disabled = true;
  try {
    const { approve, decision, remember } = choice.dataset;
    await post(`/approvals/${encodeURIComponent(approve)}`, { decision, remember });
  } catch (error) {
    toast(error.message, "bad");
    for (const button of row.children) button.disabled = false;
  }
});

$("#earlier").addEventListener("click", async (event) => {
  event.target.disabled = true;
  try {
    const page = await get(`/chat/history?view=html&thread=${encodeURIComponent(talk.dataset.thread)}&before=${talk.dataset.before}`);
    prepend(page.html);
    talk.dataset.before = page.before;
    event.target.hidden = !page.more;
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    event.target.disabled = false;
  }
});

$("#rename").addEventListener("click", () => {
  const title = $("#title");
  const input = make("input", { class: "title", "aria-label": word("rename"), maxlength: 200 });
  input.value = title.textContent;
  title.replaceWith(input);
  input.select();
  let done = false;
  const finish = async (keep) => {
    if (done) return;
    done = true;
    input.replaceWith(title);
    const wanted = input.value.trim();
    if (!keep || !wanted || wanted === title.textContent) return;
    try {
      await post(`/threads/${encodeURIComponent(talk.dataset.thread)}`, { title: wanted });
      setTitle(wanted);
      refreshThreads();
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  input.addEventListener("blur", () => finish(true));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") finish(true);
    if (event.key === "Escape") finish(false);
  });
});

addEventListener("popstate", () => location.reload());

dress(talk);
toEnd();
showBusy();
listen();
ready();
