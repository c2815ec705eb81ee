// Installing a plugin: a file or an address is sent, looked at by homed, shown, and installed once the person says so.
import { $, make, size, toast, word, wordOr } from "./dom.js";
import { post, remove, upload } from "./api.js";
import { show } from "./dialogs.js";

const panel = $("#install");
const bar = $("progress", panel);
const said = $('[role="status"]', panel);
const file = $("[name=package]", panel);
const form = $("form", panel);

file.addEventListener("change", async () => {
  const [chosen] = file.files;
  file.value = "";
  if (!chosen) return;
  const limit = Number(panel.dataset.limit);
  if (chosen.size > limit) return fail(new Error(word("install_too_large", { size: size(limit) })));
  const sending = new AbortController();
  await look("install_sending", () => upload(chosen, { path: "/packages", signal: sending.signal, onShare: (share) => { bar.value = share; } }));
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const url = form.elements.url.value.trim();
  if (await look("install_fetching", () => post("/packages/fetch", { url }))) form.reset();
});

// Busy while `get` brings a review; true once it is shown.
async function look(doing, get) {
  busy(word(doing));
  try {
    const found = await get();
    busy("");
    review(found);
    return true;
  } catch (error) {
    fail(error);
    return false;
  }
}

function busy(text) {
  bar.removeAttribute("value"); // not known how much, until somebody says
  bar.hidden = !text;
  said.className = "said-of-form";
  said.textContent = text;
  for (const control of [file, ...form.elements]) control.disabled = Boolean(text);
}

function fail(error) {
  busy("");
  said.className = "said-of-form bad";
  said.textContent = error.message;
}

function review(found) {
  const name = { name: found.name, version: found.version };
  const form = make("form", { class: "review-form" });
  const told = make("p", { role: "status", class: "said-of-form" });
  const not = make("button", { type: "button", text: word("cancel"), autofocus: "" });
  const yes = make("button", { class: "primary", text: word("install") });
  form.append(...about(found), ...(found.refused ? [] : [grants(found)]), ...tools(found.tools));
  form.append(told, make("div", { class: "row" }, not, ...(found.refused ? [] : [yes])));
  let kept = false;
  const dialog = show({ title: word("install_title", name), kind: "review", onClose: () => kept || forget(found.package) }, form);
  not.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const grant = [...form.querySelectorAll("[name=grant]:checked")].map((box) => box.value);
    yes.disabled = true;
    told.className = "said-of-form";
    told.textContent = word("install_working");
    try {
      const { note } = await post(`/packages/${found.package}/install`, { sha256: found.sha256, grant });
      kept = true;
      dialog.close();
      said.className = "said-of-form";
      said.textContent = note;
      toast(word("install_done"));
    } catch (error) {
      yes.disabled = false;
      told.className = "said-of-form bad";
      told.textContent = error.message;
    }
  });
}

// Nobody waits for it, and what is not forgotten now is so in a quarter of an hour.
const forget = (id) => remove(`/packages/${id}`).catch(() => {});

function about(found) {
  const facts = make("dl", { class: "facts" });
  const fact = (label, text) => text && facts.append(make("dt", { text: label }), make("dd", { text, dir: "auto" }));
  fact(word("install_author"), found.author);
  fact(word("install_from"), [found.homepage, found.repository].filter(Boolean).join(" · "));
  fact(word("install_bytes"), word("install_size", { size: size(found.size), files: found.files }));
  facts.append(make("dt", { text: word("install_sha") }), make("dd", {}, make("code", { text: found.sha256 })));
  const parts = [make("p", { text: found.description, dir: "auto" }), facts];
  if (found.replaces) {
    const older = found.replaces.how === "older";
    parts.push(make("p", { class: older ? "warn" : "", text: word(older ? "install_older" : "install_replaces", { version: found.replaces.version }) }));
  }
  if (found.refused) parts.push(make("p", { class: "bad", role: "alert" }, make("b", { text: word("install_refused") }), ` ${found.refused}`));
  if (found.warnings.length) {
    const list = make("ul", {}, ...found.warnings.map((text) => make("li", { text, dir: "auto" })));
    parts.push(make("section", { class: "warnings" }, make("h3", { text: word("install_warnings") }), list));
  }
  return parts;
}

function grants({ capabilities, replaces }) {
  if (!capabilities.length) return make("p", { class: "quiet", text: word("install_nothing") });
  const boxes = capabilities.map(({ name, what, allowed, granted }) => {
    const box = make("input", { type: "checkbox", name: "grant", value: name, ...(granted ? { checked: "" } : {}), ...(allowed ? {} : { disabled: "" }) });
    const mark = replaces && allowed && !granted ? [" ", make("span", { class: "mark warn", text: word("install_new") })] : [];
    const text = allowed ? what : `${what} ${word("install_never")}`;
    return make("label", { class: "check" }, box, make("span", {}, make("b", { text: name }), ...mark, make("small", { text })));
  });
  return make("fieldset", { class: "grants" }, make("legend", { text: word("install_may") }), ...boxes);
}

function tools(all) {
  if (!all.length) return [];
  const list = make("ul", { class: "tools-offered" });
  for (const tool of all) {
    const mark = make("span", { class: "mark quiet", text: wordOr(`class_${tool.class}`, tool.class) });
    list.append(make("li", {}, make("code", { text: tool.name }), " ", mark, make("small", { text: tool.description, dir: "auto" })));
  }
  return [make("section", {}, make("h3", { text: word("install_tools") }), list)];
}
