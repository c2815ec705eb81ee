// A link to a turn of a conversation (`#turn-ID`): its page of history is loaded, however far back, and it is shown.
import { $$ } from "./dom.js";

const PAGES = 60; // of history that are loaded for it at the most

function wanted() {
  try {
    return location.hash.startsWith("#turn-") ? decodeURIComponent(location.hash.slice(6)) : "";
  } catch {
    return ""; // no address that a page of ours has
  }
}

// `earlier` loads the page of history before what is here, and resolves to whether there may be more.
export async function jump(home, earlier) {
  const turn = wanted();
  if (!turn) return;
  const find = () => $$("section.turn", home).find((one) => one.dataset.turn === turn);
  for (let more = true, pages = 0; !find() && more && pages < PAGES; pages += 1) more = await earlier();
  const section = find();
  if (!section) return;
  section.classList.add("pointed");
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
  section.scrollIntoView({ block: "start" });
}
