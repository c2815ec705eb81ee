// The plugins page: start, stop, logs; it follows every change of state.
import { $, $$, make, ready, toast, word } from "./dom.js";
import { ask } from "./dialogs.js";
import { get, post } from "./api.js";
import { fresh } from "./fresh.js";
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
  } finally {
    button.disabled = false;
  }
});

document.addEventListener("toggle", ({ target }) => { if (target.dataset?.logs && target.open) log(target); }, true);

async function log(details) {
  const pre = $("pre", details);
  const atEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
  pre.textContent ||= "…";
  try {
    const { lines } = await get(`/plugins/${encodeURIComponent(details.dataset.logs)}/logs`);
    const text = lines.join("\n") || word("empty_log");
    if (text === pre.textContent) return; // somebody may be marking a part of it
    pre.textContent = text;
    if (atEnd) pre.scrollTop = pre.scrollHeight;
  } catch (error) {
    pre.textContent = error.message;
  }
}

function gone() {
  $("#plugins").replaceChildren(make("p", { class: "empty", role: "alert", text: word("gone") }));
}

async function refresh() {
  if (!(await fresh())) return toast(word("network"), "bad");
  count();
  return $$("details[data-logs][open]").forEach(log);
}

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
  onSync: () => { refresh(); live.cursor = ""; live.open(); }, // what is typed here stays
  onLogout: () => location.reload(),
});
ready();
