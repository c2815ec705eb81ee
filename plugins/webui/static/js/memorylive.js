// Memory as it changes: pages of figures hear that something was written, forgotten or made, and look again.
import { Live } from "./live.js";

const CALM = 400; // ms: a job that writes a hundred records is one look, not a hundred

// `again` runs (at most every `CALM` ms) after anything in memory changed; `onWork({what, kind, done, total})` hears how
// far the daemon's own work is (vectors, a health check).
export function follow({ again, onWork }) {
  let timer = 0;
  const soon = () => {
    if (!again || timer) return;
    timer = setTimeout(() => { timer = 0; again(); }, CALM);
  };
  const live = new Live({
    thread: "",
    cursor: document.getElementById("memory")?.dataset.cursor ?? "", // what came since the page was made is told, too
    onOp: (name, op) => {
      if (name === "memory") soon();
      else if (name === "working") onWork?.(op);
    },
    onLine: (up) => {
      if (up && live?.wasDown) soon(); // what happened meanwhile was not heard
      if (live) live.wasDown = !up;
    },
    onSync: () => { soon(); live.cursor = ""; live.open(); },
    onLogout: () => location.reload(),
  });
  // A page that nobody sees lets go of its line: a browser has six to a server, and a person has more tabs than that.
  const seen = () => {
    if (document.hidden) return live.close();
    live.open();
    soon();
  };
  document.addEventListener("visibilitychange", seen);
  if (document.hidden) live.close();
  return live;
}
