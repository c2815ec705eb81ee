// Small helpers. Markup comes into the page at one place only (`setHtml`), and only what the server rendered and sanitised.

const policy = globalThis.trustedTypes?.createPolicy("homed", { createHTML: (html) => html });
const words = JSON.parse(document.querySelector('meta[name="words"]')?.content || "{}");

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

export function word(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`{${name}}`, value), words[key] ?? key);
}

export function setHtml(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
  dress(element);
}

export function make(tag, { text, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

// What markup cannot carry safely is added here: copy buttons, and times in the person's own zone.
export function dress(root) {
  for (const pre of $$(".answer pre, pre[data-copy]", root)) {
    if (pre.parentElement.classList.contains("copyable")) continue;
    const box = make("div", { class: "copyable" });
    pre.replaceWith(box);
    const bar = make("div", { class: "bar" });
    if (pre.dataset.lang) bar.append(make("span", { text: pre.dataset.lang }));
    bar.append(make("button", { type: "button", class: "copy", text: word("copy") }));
    box.append(bar, pre);
  }
  for (const time of $$("time[datetime]:not([data-done])", root)) {
    const at = new Date(time.dateTime);
    time.dataset.done = "";
    const lang = document.documentElement.lang;
    time.title = at.toLocaleString(lang);
    const today = at.toDateString() === new Date().toDateString();
    time.textContent = today ? at.toLocaleTimeString(lang) : at.toLocaleString(lang, { dateStyle: "medium", timeStyle: "short" });
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const text = $("pre", button.closest(".copyable")).textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // no clipboard outside a secure context: a plain http address in the home network
  }
  button.textContent = word("copied");
  setTimeout(() => { button.textContent = word("copy"); }, 1600);
});

function copyBySelection(text) {
  const area = make("textarea", { class: "hidden" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// Everything is listening: whoever waits for the page (a test, a slow machine's person) may begin.
export function ready() {
  document.documentElement.dataset.ready = "";
}

export function toast(message, kind = "") {
  const shown = make("div", { class: `toast ${kind}`, text: message });
  ($("#toasts") ?? document.body).append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 8000 : 3500);
}
