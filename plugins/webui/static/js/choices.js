// What a browser remembers of its person, on every page and at the door: language and theme.  Both are cookies, so that
// the first paint is right; the theme is in localStorage too, whose change the other tabs hear of.
export function remember(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
}

const root = document.documentElement;

function wear(theme) {
  if (["light", "dark"].includes(theme)) root.dataset.theme = theme;
  else delete root.dataset.theme;
}

export function nextTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"];
  const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % 3];
  wear(next);
  remember("theme", next);
  try {
    localStorage.setItem("theme", next);
  } catch {
    return; // storage switched off: the cookie alone does
  }
}

addEventListener("storage", (event) => { if (event.key === "theme") wear(event.newValue); });

document.addEventListener("click", (event) => {
  const lang = event.target.closest("button[data-lang]");
  if (!lang) return;
  remember("lang", lang.dataset.lang);
  location.reload();
});
