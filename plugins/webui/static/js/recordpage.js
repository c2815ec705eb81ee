// The page of one record: corrected, hidden, put back, made one with another, forgotten for good.
import { $, make, ready, toast, when, word, wordOr } from "./dom.js";
import { get, post, remove } from "./api.js";
import { ask, show } from "./dialogs.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./opens.js";
import "./parts.js";

const id = $("#record").dataset.record;
const at = `/memory/records/${encodeURIComponent(id)}`;
const form = $("#edit");
const said = $("[role=status]", form);
const clash = $(".clash", form);

const tags = (text) => text.split(/[,，、]/).map((one) => one.trim()).filter(Boolean).slice(0, 8);
const opener = () => $("[data-record-do=edit]");

// What is edited is what holds now, not what this page said when it was opened.
async function edit() {
  if (!form.hidden) return leave();
  const found = await get(at);
  for (const name of ["text", "title", "kind", "importance"]) form.elements[name].value = found[name];
  form.elements.tags.value = found.tags.join(", ");
  form.dataset.revision = found.revision;
  clash.hidden = form.hidden = true;
  said.textContent = "";
  form.hidden = false;
  opener()?.setAttribute("aria-expanded", "true");
  form.scrollIntoView({ block: "nearest" });
  form.elements.text.focus();
}

function leave() {
  form.hidden = true;
  opener()?.setAttribute("aria-expanded", "false");
  opener()?.focus();
}

// Somebody else, or the daemon itself, changed it meanwhile: both are shown, and the next save is over what holds now.
async function clashed(error) {
  const now = await get(at);
  if (now.revision === Number(form.dataset.revision)) throw error;
  form.dataset.revision = now.revision;
  $("blockquote", clash).textContent = now.text;
  clash.hidden = false;
  said.textContent = "";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { text, title, kind, importance, tags: named } = form.elements;
  const body = { revision: Number(form.dataset.revision), text: text.value.trim(), title: title.value.trim(), kind: kind.value, importance: Number(importance.value), tags: tags(named.value) };
  const button = $("button.primary", form);
  button.disabled = true;
  said.className = "said-of-form";
  try {
    try {
      await post(at, body);
      toast(word("record_saved"));
      await fresh();
      leave();
    } catch (error) {
      if (error.status !== 409) throw error;
      await clashed(error);
    }
  } catch (error) {
    said.classList.add("bad");
    said.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
$("[data-edit=leave]", form).addEventListener("click", leave);
form.addEventListener("keydown", (event) => { if (event.key === "Escape") leave(); });

// -- one with another

const line = (one, input) => make("label", { class: "candidate" }, input, make("span", { text: one.text, dir: "auto" }), make("small", { text: [`id:${one.shown}`, when(one.created_at), one.untrusted ? `⚠ ${word("record_untrusted")}` : ""].filter(Boolean).join(" · ") }));

async function combine() {
  const find = make("input", { type: "search", "aria-label": word("record_combine_find"), placeholder: word("record_combine_find"), maxlength: 200, autocomplete: "off" });
  const list = make("div", { class: "candidates", role: "radiogroup", "aria-label": word("record_combine_with") });
  const preview = make("p", { class: "quiet", role: "status" });
  const stays = make("select", { "aria-label": word("record_combine_keep") }, make("option", { value: "this", text: word("record_combine_this") }), make("option", { value: "that", text: word("record_combine_that") }));
  const yes = make("button", { type: "button", class: "primary", text: word("record_combine_yes"), disabled: "" });
  const tell = () => {
    const picked = $("input:checked", list);
    yes.disabled = !picked;
    if (!picked) return (preview.textContent = "");
    const [kept, gone] = stays.value === "this" ? [$("#record .says .text").textContent, picked.dataset.text] : [picked.dataset.text, $("#record .says .text").textContent];
    preview.textContent = word("record_combine_preview", { kept, gone });
  };
  let asked = 0;
  const look = async () => {
    const mine = (asked += 1);
    const query = new URLSearchParams({ record: $("#record").dataset.kind, limit: 8, ...(find.value.trim() && { query: find.value.trim() }) });
    try {
      const { records } = await get(`/memory/records?${query}`);
      if (mine !== asked) return;
      const others = records.filter((one) => one.id !== id);
      list.replaceChildren(...others.map((one) => line(one, make("input", { type: "radio", name: "other", value: one.id, "data-text": one.text }))));
      if (!others.length) list.append(make("p", { class: "quiet", text: word("record_combine_none") }));
    } catch (error) {
      list.replaceChildren(make("p", { class: "bad", text: error.message }));
    }
    tell();
  };
  let timer = 0;
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, 250); });
  list.addEventListener("change", tell);
  stays.addEventListener("change", tell);
  const dialog = show({ title: word("record_combine_title"), kind: "combine" }, make("p", { class: "quiet", text: word("record_combine_about") }), find, list, make("label", { text: word("record_combine_keep") }, stays), preview, make("div", { class: "row" }, yes));
  yes.addEventListener("click", async () => {
    const other = $("input:checked", list).value;
    const [keep, gone] = stays.value === "this" ? [id, other] : [other, id];
    yes.disabled = true;
    try {
      await post("/memory/combine", { keep, gone });
      dialog.close();
      if (keep !== id) return location.assign(`/memory/records/${encodeURIComponent(keep)}`);
      toast(word("record_combined"));
      await fresh();
    } catch (error) {
      preview.className = "bad";
      preview.textContent = error.message;
      yes.disabled = false;
    }
  });
  await look();
  find.focus();
}

// -- for good

const counted = (counts) => Object.entries(counts).filter(([, n]) => n > 0).map(([what, n]) => make("li", { text: `${wordOr(`forget_what_${what}`, what)}: ${n}` }));

async function forget() {
  const wide = make("input", { type: "checkbox" });
  const home = make("div", { role: "status" });
  const yes = make("button", { type: "button", class: "primary danger", text: word("forget_yes"), disabled: "" });
  const not = make("button", { type: "button", text: word("cancel"), autofocus: "" });
  const look = async () => {
    yes.disabled = true;
    try {
      const found = await post("/memory/preview", { kind: "fact", target: id, wide: wide.checked });
      const also = [
        found.rechecked && word("forget_rechecked", { n: found.rechecked }),
        found.stays && word("forget_stays", { n: found.stays }),
        found.busy && word("forget_busy"),
      ].filter(Boolean);
      home.replaceChildren(make("p", { text: word("forget_goes") }), make("ul", {}, ...counted(found.counts)), ...also.map((text) => make("p", { class: "quiet", text })));
      yes.disabled = found.busy;
    } catch (error) {
      home.replaceChildren(make("p", { class: "bad", text: error.message }));
    }
  };
  wide.addEventListener("change", look);
  const dialog = show({ title: word("forget_title"), kind: "ask forget" }, make("blockquote", { text: $("#record .says .text").textContent, dir: "auto" }), make("label", { class: "check" }, wide, make("span", { text: word("forget_wide") })), home, make("p", { class: "warn", text: word("forget_sure") }), make("div", { class: "row" }, not, yes));
  not.addEventListener("click", () => dialog.close());
  yes.addEventListener("click", async () => {
    yes.disabled = not.disabled = wide.disabled = true;
    home.replaceChildren(make("p", { text: word("forget_working") }));
    try {
      const done = await remove(at, { wide: wide.checked });
      dialog.close();
      proof(done);
    } catch (error) {
      home.replaceChildren(make("p", { class: "bad", text: error.message }));
      not.disabled = wide.disabled = false;
    }
  });
  await look();
}

// What went, and where it was looked for afterwards.  The page it stood on is left with the dialog.
function proof(done) {
  const clean = make("p", { class: done.clean ? "good" : "bad", text: word(done.clean ? "forget_clean" : "forget_found") });
  const found = Object.entries(done.found ?? {}).map(([file, n]) => make("li", { text: `${file}: ${n}` }));
  const where = done.searched ? [make("p", { class: "quiet", text: word("forget_searched", { files: done.searched.files, bytes: done.searched.bytes }) })] : [];
  const removed = make("ul", {}, ...counted(done.removed ?? {}));
  const kept = (done.copies ?? []).map((one) => make("li", { text: `${one.name} · ${when(one.at)}` }));
  const copies = kept.length ? [make("p", { class: "warn", text: word("forget_copies") }), make("ul", {}, ...kept)] : [];
  show({ title: word("forget_done"), kind: "forget", onClose: () => location.assign("/memory/records") }, clean, make("p", { text: word("forget_removed") }), removed, ...(found.length ? [make("ul", {}, ...found)] : []), ...where, ...copies);
}

// -- what its buttons do

async function simple(action, of = id) {
  await post(`/memory/records/${encodeURIComponent(of)}/${action}`);
  toast(word(`record_${action}d`));
  await fresh();
}

const deeds = {
  edit,
  combine,
  forget,
  hide: () => simple("hide"),
  restore: () => simple("restore"),
  reinstate: async (button) => {
    if (await ask({ title: word("record_reinstate_title"), lines: [word("record_reinstate_sure")], yes: button.textContent, danger: false })) await simple("reinstate", button.dataset.of);
  },
};

$("#memory").addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-record-do]");
  if (!button) return;
  button.disabled = true;
  try {
    await deeds[button.dataset.recordDo](button);
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
});

// A link may say what it is opened for: /memory/records/ID#edit
if (["#edit", "#forget"].includes(location.hash)) $(`[data-record-do="${location.hash.slice(1)}"]`)?.click();
follow({ again: fresh });
ready();
