// What left the window: a person may bring a message back, with those that belong to it.
import { $, ready, toast, word } from "./dom.js";
import { post } from "./api.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./opens.js";
import "./parts.js";

$("#cold").addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-back]");
  if (!button) return;
  button.disabled = true;
  try {
    const { events } = await post(`/memory/cold/${encodeURIComponent(button.dataset.back)}/back`);
    toast(word("cold_back", { n: Array.isArray(events) ? events.length : events }));
    await fresh();
    $("#memory").focus();
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
});

follow({ again: fresh });
ready();
