// The REST interface. Every change is JSON from this page; an answer that is an error is thrown with its sentence and hint.
import { word } from "./dom.js";

export class Problem extends Error {
  constructor(status, { code = "", message = "", hint = "", needs = "" } = {}) {
    super(hint ? `${message} ${hint}` : message);
    Object.assign(this, { status, code, hint, needs, said: message });
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

// What changes memory says so besides: no page of another program sends this header by chance.
const kind = (path) => ({ "Content-Type": "application/json", ...(path.startsWith("/memory/") && { "X-Holo-Memory": "1" }) });
const send = (method) => (path, body = {}) => ask(path, { method, headers: kind(path), body: JSON.stringify(body) });

export const get = (path, options) => ask(path, options);
export const post = send("POST");
export const put = send("PUT");
export const remove = send("DELETE");

// Send a file as it is; `onShare` hears how much of it (0 to 1) is on its way.  `fetch` cannot tell that.
export function upload(file, { path = "/uploads", onShare, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/v1${path}`);
    request.responseType = "json";
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) onShare(event.loaded / event.total); });
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300 && request.response) return resolve(request.response);
      if (request.status === 401) location.reload();
      reject(new Problem(request.status, request.response?.error ?? { message: word("attach_failed") }));
    });
    request.addEventListener("error", () => reject(new Problem(0, { code: "network", message: word("network") })));
    request.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
