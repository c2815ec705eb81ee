// Dialogs: the browser's own, which keep the focus inside, give it back, and close on Escape.
import { $, make, word } from "./dom.js";

let count = 0;

// Show `children` under a title; `onClose` runs once it is gone.  Returns the dialog's element.
export function show({ title, kind = "", onClose }, ...children) {
  const id = `dialog-${(count += 1)}`;
  const close = make("button", { type: "button", class: "quiet icon", "aria-label": word("close"), text: "✕" });
  const head = make("header", {}, make("h2", { id, text: title }), close);
  const dialog = make("dialog", { class: kind, "aria-labelledby": id }, head, make("div", { class: "inside" }, ...children));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { dialog.remove(); onClose?.(dialog.returnValue); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// A question before something that cannot be undone: true only for the button that says so.
export function ask({ title, lines = [], yes, danger = true }) {
  return new Promise((resolve) => {
    const sure = make("button", { type: "button", class: danger ? "primary danger" : "primary", text: yes });
    const not = make("button", { type: "button", text: word("cancel"), autofocus: "" });
    const text = lines.filter(Boolean).map((line) => make("p", { text: line, dir: "auto" }));
    const dialog = show({ title, kind: "ask", onClose: (value) => resolve(value === "yes") }, ...text, make("div", { class: "row" }, not, sure));
    sure.addEventListener("click", () => dialog.close("yes"));
    not.addEventListener("click", () => dialog.close());
  });
}

// True while something lies over the page and Escape is meant for that.
export const covered = () => $("dialog[open], :popover-open:not(#toasts)") !== null;
