// What is typed and not sent yet, by conversation ("" is a new one): in this tab it outlives a reload, which is what the
// end of a session comes to.  Leaving takes it along, in every tab.
let left = false;

export const kept = (thread) => {
  try {
    return sessionStorage.getItem(`draft:${thread}`) ?? "";
  } catch {
    return ""; // storage is forbidden here
  }
};

export function keep(thread, text) {
  if (left) return;
  try {
    if (text.trim()) sessionStorage.setItem(`draft:${thread}`, text);
    else sessionStorage.removeItem(`draft:${thread}`);
  } catch { /* forbidden or full: it stays in the box as long as the page does */ }
}

function forget() {
  left = true; // the page that is about to go keeps nothing either
  for (const key of Object.keys(sessionStorage).filter((one) => one.startsWith("draft:"))) sessionStorage.removeItem(key);
}

export function leave() {
  try {
    forget();
    localStorage.setItem("left", String(Date.now())); // the other tabs hear it
  } catch { /* forbidden: then nothing was kept */ }
}

addEventListener("storage", (event) => { if (event.key === "left") forget(); });
