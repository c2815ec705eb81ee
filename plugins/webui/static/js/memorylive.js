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
    cursor: "",
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
  return live;
}
