// A threshold is changed with a reason, which is kept: whoever looks at it later knows why it is what it is.
import { $, make, word } from "./dom.js";
import { show } from "./dialogs.js";

const MOST = 500; // characters of a reason that are kept

// Ask why; `lines` say what is changed and what it prevents.  Null when the person lets it be.
export function askReason(lines) {
  return new Promise((resolve) => {
    const text = make("textarea", { name: "reason", rows: 3, maxlength: MOST, required: "", "aria-describedby": "reason-about" });
    const error = make("p", { class: "bad", role: "alert", hidden: "", text: word("reason_empty") });
    const not = make("button", { type: "button", text: word("cancel") });
    const form = make("form", { class: "reason" }, make("div", { id: "reason-about" }, ...lines.filter(Boolean).map((line) => make("p", { text: line, dir: "auto" }))),
      make("label", {}, word("reason_label"), text), error, make("div", { class: "row" }, not, make("button", { class: "primary", text: word("reason_save") })));
    form.noValidate = true;
    let given = null;
    const dialog = show({ title: word("reason_title"), kind: "reason", onClose: () => resolve(given) }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      error.hidden = text.value.trim() !== "";
      if (!error.hidden) return text.focus();
      given = text.value.trim();
      return dialog.close();
    });
    not.addEventListener("click", () => dialog.close());
    $("textarea", dialog).focus();
  });
}

// Do it; where the daemon says that it needs a reason, ask for one and do it with that.  Null: the person let it be.
export async function withReason(act) {
  try {
    return await act({});
  } catch (error) {
    if (error.needs !== "reason") throw error;
    const reason = await askReason([error.said]);
    return reason === null ? null : act({ reason });
  }
}
