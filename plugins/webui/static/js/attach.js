// Files for the next message: chosen, dropped or pasted; each goes up at once, and can be taken off again.
import { $, make, size, speak, toast, word } from "./dom.js";
import { upload } from "./api.js";

const MOST = 10;
const LARGEST = 20 * 1024 * 1024;
const THUMB = 96;

const list = $("#attached");
const files = new Map(); // list item -> {file, upload, abort}

export const uploads = () => [...files.values()].map((one) => one.upload);
export const attached = () => files.size;
export const underWay = () => [...files.values()].some((one) => !one.upload);

export function add(given) {
  for (const file of given) {
    if (files.size >= MOST) return toast(word("attach_many", { most: MOST }), "bad");
    if (file.size > LARGEST) toast(word("attach_large", { name: file.name, most: size(LARGEST) }), "bad");
    else if (!file.size) toast(word("attach_empty", { name: file.name }), "bad");
    else begin(file);
  }
}

// Take off those that were sent, or all.
export function clear(sent) {
  for (const [item, { upload: id, abort }] of files) {
    if (sent && !sent.includes(id)) continue;
    abort.abort();
    drop(item);
  }
}

async function begin(file) {
  const off = make("button", { type: "button", class: "quiet icon", "aria-label": word("attach_remove", { name: file.name }), text: "✕" });
  const bar = make("progress", { max: 1, value: 0, "aria-label": word("attach_going", { name: file.name }) });
  const ending = file.name.match(/\.([A-Za-z0-9]{1,4})$/)?.[1] ?? "";
  const item = make("li", { class: "attachment" }, make("span", { class: "ending", "aria-hidden": "true", text: ending.toUpperCase() || "·" }), make("b", { text: file.name, dir: "auto", title: file.name }), make("small", { text: size(file.size) }), bar, off);
  const one = { file, upload: "", abort: new AbortController() };
  off.addEventListener("click", () => {
    one.abort.abort();
    drop(item);
    $("#text").focus();
  });
  files.set(item, one);
  list.append(item);
  list.hidden = false;
  thumbnail(file, item);
  try {
    const { upload: id } = await upload(file, { onShare: (share) => { bar.value = share; }, signal: one.abort.signal });
    one.upload = id;
    bar.remove();
    item.dataset.ready = "";
    speak(word("attach_ready", { name: file.name }));
  } catch (error) {
    if (error.name === "AbortError") return;
    drop(item);
    toast(word("attach_error", { name: file.name, why: error.message }), "bad");
  }
}

function drop(item) {
  files.delete(item);
  item.remove();
  list.hidden = !files.size;
}

// Drawn, not loaded: a preview needs no address of its own, so the policy for pictures stays as narrow as it is.
async function thumbnail(file, item) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) return;
  try {
    const picture = await createImageBitmap(file);
    const scale = THUMB / Math.min(picture.width, picture.height);
    const canvas = make("canvas", { width: THUMB, height: THUMB, "aria-hidden": "true" });
    const [width, height] = [picture.width * scale, picture.height * scale];
    canvas.getContext("2d").drawImage(picture, (THUMB - width) / 2, (THUMB - height) / 2, width, height);
    picture.close();
    $(".ending", item).replaceWith(canvas);
  } catch {
    return; // no picture after all: its name must do
  }
}

const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
const veil = $("#drop");
let depth = 0;

function over(there) {
  depth = Math.max(0, depth + (there ? 1 : -1));
  veil.hidden = !depth;
}

export function listen() {
  const chooser = $("#files");
  $("#attach").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    add(chooser.files);
    chooser.value = "";
    $("#text").focus();
  });
  $("#text").addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (!pasted.length) return;
    event.preventDefault();
    add(pasted);
  });
  addEventListener("dragenter", (event) => { if (carries(event)) over(true); });
  addEventListener("dragleave", (event) => { if (carries(event)) over(false); });
  addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    add(event.dataTransfer.files);
    $("#text").focus();
  });
}
