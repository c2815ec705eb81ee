// Small helpers. Markup comes into the page at one place only (`setHtml`), and only what the server rendered and sanitised.

const policy = globalThis.trustedTypes?.createPolicy("homed", { createHTML: (html) => html });
const words = JSON.parse(document.querySelector('meta[name="words"]')?.content || "{}");

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

export function word(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`{${name}}`, () => value), words[key] ?? key);
}

// A word for what the kernel named, which may be something new; then its own name does.
export const wordOr = (key, fallback) => words[key] ?? fallback;

export function setHtml(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  dress(element);
}

// A whole page of the server's, to take parts of; nothing of it runs or is shown.
export function parsed(html) {
  const box = document.createElement("template");
  box.innerHTML = policy ? policy.createHTML(html) : html;
  return box.content;
}

export function make(tag, { text, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

// The page's language, in the person's own manner of it: 24 hours or 12, day or month first.
const page = document.documentElement.lang;
export const locale = navigator.languages.find((one) => one.split("-")[0] === page.split("-")[0]) ?? page;

// Seconds since 1970 in words, short: the time of today, else the day too.
export function when(seconds) {
  const at = new Date(seconds * 1000);
  const today = at.toDateString() === new Date().toDateString();
  return today ? at.toLocaleTimeString(locale, { timeStyle: "short" }) : at.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

export function size(bytes) {
  for (const [unit, of] of [["MB", 1024 ** 2], ["kB", 1024]]) {
    if (bytes >= of) return `${(bytes / of).toFixed(bytes < of * 10 ? 1 : 0)} ${unit}`;
  }
  return `${bytes} B`;
}

// What markup cannot carry safely is added here: copy buttons, and times in the person's own zone.
export function dress(root) {
  for (const pre of $$(".answer pre, pre[data-copy]", root)) {
    if (pre.parentElement.classList.contains("copyable")) continue;
    const box = make("div", { class: "copyable" });
    pre.replaceWith(box);
    if (pre.tabIndex < 0) pre.tabIndex = 0; // one that scrolls must be reachable without a mouse
    const bar = make("div", { class: "bar" });
    if (pre.dataset.lang) bar.append(make("span", { text: pre.dataset.lang }));
    bar.append(make("button", { type: "button", class: "copy", text: word("copy") }));
    box.append(bar, pre);
  }
  for (const time of $$("time[datetime]:not([data-done])", root)) {
    const at = new Date(time.dateTime);
    time.dataset.done = "";
    time.title = at.toLocaleString(locale);
    time.textContent = when(at.getTime() / 1000);
  }
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text, button.parentElement); // no clipboard outside a secure context: a plain http address in the home network
  }
  const before = button.textContent;
  if (before === word("copied")) return;
  button.textContent = word("copied");
  setTimeout(() => { button.textContent = before; }, 1600);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (button) copy($("pre", button.closest(".copyable")).textContent, button);
});

function copyBySelection(text, place) {
  const area = make("textarea", { class: "hidden" });
  area.value = text;
  place.append(area); // inside an open dialog, where the focus may go
  area.select();
  document.execCommand("copy");
  area.remove();
}

// Everything is listening: whoever waits for the page (a test, a slow machine's person) may begin.
export function ready() {
  document.documentElement.dataset.ready = "";
}

// Say something to whoever listens instead of looking.
export function speak(text) {
  const spoken = $("#spoken");
  if (spoken) spoken.textContent = text;
}

export function toast(message, kind = "") {
  const shown = make("div", { class: `toast ${kind}`, text: message });
  const home = $("#toasts");
  if (!home) return document.body.append(shown);
  home.append(shown);
  if (home.matches(":popover-open")) home.hidePopover();
  home.showPopover?.(); // last shown, so above an open dialog
  speak(message);
  setTimeout(() => {
    shown.remove();
    if (!home.childElementCount && home.matches(":popover-open")) home.hidePopover();
  }, kind === "bad" ? 8000 : 3500);
}
