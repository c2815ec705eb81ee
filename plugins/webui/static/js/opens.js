// Ids on a page that open to what they stand for: a record to the words it rests on, an event to itself.
import { openEvent } from "./evidence.js";
import { openRecord } from "./record.js";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-open-record], [data-open-event]");
  if (!button) return;
  if (button.dataset.openRecord) openRecord(button.dataset.openRecord);
  else openEvent(button.dataset.openEvent, { title: button.dataset.title });
});
