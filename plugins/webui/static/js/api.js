// The REST interface. Every change is JSON from this page; an answer that is an error is thrown with its sentence and hint.
import { word } from "./dom.js";

export class Problem extends Error {
  constructor(status, { code = "", message = "", hint = "" } = {}) {
    super(hint ? `${message} ${hint}` : message);
    Object.assign(this, { status, code, hint });
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(`/api/v1${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { code: "network", message: word("network") });
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401 && path !== "/login") location.reload(); // the server answers with the login page
  throw new Problem(response.status, answer.error);
}

export const get = (path, options) => ask(path, options);
export const post = (path, body = {}) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
