// The plugins page: start, stop, logs; it follows every change of state.
import { $, $$, dress, make, setHtml, ready, toast, word } from "./dom.js";
import { ask } from "./dialogs.js";
import { get, post } from "./api.js";
import { refreshThreads } from "./shell.js";
import { Live } from "./live.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  if (button.dataset.ask && !(await ask({ title: button.textContent, lines: [button.dataset.ask], yes: button.textContent }))) return;
  const name = button.closest("[data-name]").dataset.name;
  button.disabled = true;
  const last = name === "webui" && button.dataset.do === "stop";
  try {
    if (last) live.close(); // who answers is about to go
    const { note } = await post(`/plugins/${encodeURIComponent(name)}/${button.dataset.do}`);
    if (note) toast(note);
    if (last) gone();
    else await refresh();
  } catch (error) {
    if (last && ["network", ""].includes(error.code)) return gone();
    if (last) live.open();
    toast(error.message, "bad");
    button.disabled = false;
  }
});

document.addEventListener("toggle", async (event) => {
  const name = event.target.dataset?.logs;
  if (!name || !event.target.open) return;
  const pre = $("pre", event.target);
  pre.textContent = "…";
  try {
    const { lines } = await get(`/plugins/${encodeURIComponent(name)}/logs`);
    pre.textContent = lines.join("\n") || word("empty_log");
    pre.scrollTop = pre.scrollHeight;
  } catch (error) {
    pre.textContent = error.message;
  }
}, true);

function gone() {
  $("#plugins").replaceChildren(make("p", { class: "empty", role: "alert", text: word("gone") }));
}

// The page as the server renders it now, keeping open what was open.
let running = false;
let wanted = false;
async function refresh() {
  wanted = true;
  if (running) return;
  running = true;
  try {
    while (wanted) {
      wanted = false;
      const response = await fetch("/plugins", { credentials: "same-origin" });
      if (response.ok) replace(await response.text());
    }
  } catch {
    toast(word("network"), "bad");
  } finally {
    running = false;
  }
}

function replace(html) {
  const open = new Set($$("details[open]").map(place));
  const box = document.createElement("template");
  setHtml(box, html);
  const fresh = $("#plugins", box.content);
  if (!fresh) return location.reload();
  $("#plugins").replaceWith(fresh);
  for (const details of $$("details", fresh)) details.open = open.has(place(details));
  dress(fresh);
  count();
}
const place = (details) => `${details.closest("[data-name]")?.dataset.name} ${details.className}`;

// A plugin that waits for its next try says how long still.
function count() {
  for (const shown of $$("[data-retry]")) {
    const left = Math.ceil(Number(shown.dataset.retry) - Date.now() / 1000);
    shown.textContent = left > 0 ? word("retry_in", { n: left }) : word("retry_now");
  }
}
setInterval(count, 500);
count();

const live = new Live({
  thread: "",
  cursor: $("#plugins").dataset.cursor, // what came since the page was made is told, too
  onOp: (name) => { if (name === "plugins") refresh(); else if (name === "threads") refreshThreads(); },
  onLine: (up) => { if (up) refresh(); },
  onSync: () => location.reload(),
  onLogout: () => location.reload(),
});
ready();
