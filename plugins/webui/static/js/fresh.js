// A page of figures without loading it again: what is marked `data-fresh` (and has an id) is fetched and merged into what
// stands there.  Only what the server says otherwise than last time is touched.  So what a person typed, opened, marked or
// has yet to read stays, and an element that a script holds is still the one on the page.
import { $, $$, dress, make, parsed, speak, word } from "./dom.js";

const lives = new WeakMap(); // a node as the server told it -> the node of the page that stands for it
const told = new Map(); // home -> what the server told of it last

function stand(said, live) {
  lives.set(said, live);
  said.childNodes.forEach((child, at) => stand(child, live.childNodes[at]));
}

// Comments stand for nothing on the page; with them, what stands between two would be in two pieces.
function bare(root) {
  const [walker, found] = [document.createTreeWalker(root, NodeFilter.SHOW_COMMENT), []];
  while (walker.nextNode()) found.push(walker.currentNode);
  for (const one of found) one.remove();
  root.normalize();
  return root;
}

// Before any other script dresses the page: what the server told is known only now.
for (const home of $$("[data-fresh][id]")) {
  bare(home);
  told.set(home, home.cloneNode(true));
  stand(told.get(home), home);
}

let wanted = false;
let looking = null;

// Resolves to whether the page could be had, once it says what was true when this was called, or later.  However often it
// is called while a look is under way, that is one look more: a slow server is not asked again and again in vain.
export function fresh() {
  wanted = true;
  looking ??= looks();
  return looking;
}

async function looks() {
  let had = false;
  try {
    while (wanted) {
      wanted = false;
      had = await look();
    }
  } finally {
    looking = null;
  }
  return had;
}

async function look() {
  const asked = fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
  const html = await asked.then((response) => (response.ok ? response.text() : null)).catch(() => null);
  if (html === null) return false;
  const page = bare(parsed(html));
  for (const home of told.keys()) {
    const now = page.querySelector(`#${CSS.escape(home.id)}`);
    if (now) put(home, now);
  }
  return true;
}

let last = null; // where the keyboard was last: a button that works is disabled, which takes the keyboard from it
document.addEventListener("focusin", ({ target }) => { last = target; });

function put(home, now) {
  const active = document.activeElement === document.body && last?.disabled ? last : document.activeElement;
  const row = home.contains(active) && active !== home ? active.parentElement : null;
  merge(told.get(home), now);
  told.set(home, now);
  dress(home);
  for (const field of $$("input, textarea, select", now)) settle(lives.get(field), initial(field));
  if (!row || document.activeElement === active) return;
  // What had the keyboard moved, or went: then what took its place, and never what stands for something else.
  const next = active.isConnected ? active : row.isConnected && row !== home ? $("button:not([disabled])", row) : null;
  (next ?? home.closest("[tabindex]"))?.focus({ preventScroll: true });
}

// -- what the server says otherwise

const OWN = { INPUT: ["value", "checked"], OPTION: ["selected"], DETAILS: ["open"] }; // a person's; see `settle`
const over = (live) => live?.dataset !== undefined && "passing" in live.dataset; // a script wrote over what the server says
const passing = (live) => over(live) || (live.nodeType === Node.ELEMENT_NODE && $("[data-passing]", live) !== null);

function merge(was, now) {
  const live = lives.get(was);
  if (was.isEqualNode(now) && !passing(live)) return same(was, now);
  lives.set(now, live);
  for (const name of new Set([...was.getAttributeNames(), ...now.getAttributeNames()])) {
    const value = now.getAttribute(name);
    if (value === was.getAttribute(name) || OWN[now.nodeName]?.includes(name)) continue;
    if (value === null) live.removeAttribute(name);
    else live.setAttribute(name, value);
  }
  if (now.nodeName === "TIME") delete live.dataset.done; // its words are made anew
  if (now.nodeName !== "TEXTAREA") children(was, now, live);
  return undefined;
}

function same(was, now) {
  lives.set(now, lives.get(was));
  now.childNodes.forEach((child, at) => same(was.childNodes[at], child));
}

// What a node is, where that is said: a card of another record is another card.
const KEYS = ["id", "name", "for", "data-key", "data-record", "data-merge", "data-event", "data-name", "data-of", "data-do", "data-record-do", "data-keep", "data-undo"];
const key = (node) => KEYS.map((name) => node.getAttribute?.(name) ?? "").join("\n");

// Which of the old children (those that still stand) each new one is: the same again, else one of its kind, in order.
// Text is what follows the same element.
function pairs(was, now, live) {
  const stands = [...was.childNodes].filter((one) => live.contains(lives.get(one) ?? null));
  const [left, gone] = [stands.filter((one) => !over(lives.get(one))), stands.filter((one) => over(lives.get(one)))];
  const found = new Map();
  const pair = (one, fits) => {
    const at = found.has(one) ? -1 : left.findIndex(fits);
    if (at >= 0) found.set(one, left.splice(at, 1)[0]);
  };
  const [texts, elements] = [[], []];
  for (const one of now.childNodes) (one.nodeType === Node.TEXT_NODE ? texts : elements).push(one);
  for (const one of elements) pair(one, (each) => each.isEqualNode(one));
  for (const one of elements) pair(one, (each) => each.nodeName === one.nodeName && key(each) === key(one));
  for (const one of texts) {
    const place = one.previousSibling ? found.get(one.previousSibling)?.nextSibling : was.firstChild;
    pair(one, (each) => each === place && each.nodeType === Node.TEXT_NODE);
  }
  return { found, gone: [...gone, ...left] };
}

function children(was, now, live) {
  if (!was.childElementCount && !now.childElementCount) return words(was, now, live);
  const { found, gone } = pairs(was, now, live);
  const top = (node) => { // a script may have put it into a box
    while (node.parentNode !== live) node = node.parentNode;
    return node;
  };
  for (const one of gone) top(lives.get(one)).remove();
  const kept = new Set(found.values());
  const standing = [...was.childNodes].filter((one) => kept.has(one)).map((one) => top(lives.get(one)));
  let at = 0;
  for (const one of now.childNodes) {
    const before = found.get(one);
    const node = before ? top(lives.get(before)) : document.importNode(one, true);
    if (!before) stand(one, node);
    if (node === standing[at]) at += 1;
    else {
      live.insertBefore(node, standing[at] ?? null);
      if (before) standing.splice(standing.indexOf(node), 1);
    }
    if (before?.nodeType === Node.TEXT_NODE) {
      if (before.data !== one.data) node.data = one.data;
      lives.set(one, node);
    } else if (before) merge(before, one);
  }
  return undefined;
}

// Words alone: those that a script wrote over the server's stay until the server has others.
function words(was, now, live) {
  if (was.textContent !== now.textContent) live.textContent = now.textContent;
  now.childNodes.forEach((child, at) => lives.set(child, live.childNodes[at] ?? child));
}

// -- what a person has in a field

const ticked = (field) => field.type === "checkbox" || field.type === "radio";
const typed = (field) => (ticked(field) ? field.checked : field.value);
const chosen = (field) => [...field.options].find((one) => one.defaultSelected) ?? field.options[0];
const initial = (field) => (ticked(field) ? field.defaultChecked : field.matches("select") ? chosen(field)?.value ?? "" : field.defaultValue);
const notes = new WeakMap(); // field -> what is said of it

function begin(field, value) {
  if (ticked(field)) field.defaultChecked = value;
  else if (!field.matches("select")) field.defaultValue = value;
  else for (const one of field.options) one.toggleAttribute("selected", one.value === value);
}

// A field that nobody changed says what the server says.  One that somebody did is theirs until it is saved; where the
// server's value changed too, that is said beside it, as saving would take it back.
function settle(field, value) {
  if (!field || field.type === "file") return;
  const [mine, before] = [typed(field), initial(field)];
  if (mine !== before && mine !== value) {
    if (before === value) return;
    begin(field, value);
    restore(field, mine);
    return void say(field, word("fresh_meanwhile", { value: ticked(field) ? word(value ? "fresh_on" : "fresh_off") : value }));
  }
  notes.get(field)?.remove();
  notes.delete(field);
  if (before !== value) begin(field, value);
  if (typed(field) !== value) restore(field, value);
}

function restore(field, value) {
  if (ticked(field)) field.checked = value;
  else if (field.value !== value) field.value = value;
}

function say(field, text) {
  const note = notes.get(field) ?? make("p", { class: "meanwhile warn" });
  notes.set(field, note);
  note.textContent = text;
  (field.closest("label") ?? field).after(note);
  speak(text);
}
