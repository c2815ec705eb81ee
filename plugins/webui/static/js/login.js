// The secret of a login link stands in the fragment, which is never sent; it is posted, and gone from the address bar first.
import { $, ready, word } from "./dom.js";
import { post } from "./api.js";
import "./choices.js";

const state = $("#state");

async function enter(body, refused) {
  state.textContent = state.dataset.busy;
  try {
    await post("/login", body);
    location.replace(location.pathname === "/login" ? "/" : location.pathname);
  } catch (error) {
    state.className = "bad";
    state.textContent = error.status === 401 ? refused : error.message;
  }
}

$("#password")?.addEventListener("submit", (event) => {
  event.preventDefault();
  enter({ password: event.target.password.value }, word("wrong"));
});

function fromLink() {
  const secret = location.hash.slice(1).replace(/^secret=/, "");
  if (!secret) return;
  history.replaceState(null, "", location.pathname);
  enter({ secret }, word("link_used"));
}
addEventListener("hashchange", fromLink);
fromLink();
ready();
