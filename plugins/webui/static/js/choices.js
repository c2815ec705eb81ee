// What a browser remembers of its person, on every page and at the door: language and theme.
export function remember(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
}

document.addEventListener("click", (event) => {
  const lang = event.target.closest("button[data-lang]");
  if (!lang) return;
  remember("lang", lang.dataset.lang);
  location.reload();
});
