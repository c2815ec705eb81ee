// A page of figures without loading it again: what is marked `data-fresh` (and has an id) is fetched and put in its place.
import { $$, parsed, setHtml } from "./dom.js";

let asked = 0;

// Resolves once the page says what is true now.  What was open stays open, and the keyboard where it was; a form that
// somebody types in is left alone.
export async function fresh() {
  const mine = (asked += 1);
  const response = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
  if (!response.ok) return;
  const page = parsed(await response.text());
  if (mine !== asked) return; // a later look is on its way
  for (const home of $$("[data-fresh][id]")) {
    const now = page.querySelector(`#${CSS.escape(home.id)}`);
    if (now && now.innerHTML !== home.dataset.was && !typing(home)) put(home, now);
  }
}

const typing = (home) => home.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
const name = (one) => one.closest("[id]")?.id + one.querySelector("summary")?.textContent;

function put(home, now) {
  const open = new Set($$("details[open]", home).map(name));
  const had = home.contains(document.activeElement) ? place(document.activeElement, home) : null;
  home.dataset.was = now.innerHTML;
  setHtml(home, now.innerHTML);
  for (const details of $$("details", home)) if (open.has(name(details))) details.open = true;
  if (had) $$(had.kind, home)[had.nth]?.focus();
}

function place(element, home) {
  const kind = element.localName;
  return { kind, nth: $$(kind, home).indexOf(element) };
}
