// Forms that only ask for another address (`method="get"`).  The policy lets no form be sent by the browser itself; what
// is empty asks for nothing, so that the address of a search is as short as what it asks for.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "get" || event.defaultPrevented) return;
  event.preventDefault();
  const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  location.assign(`${form.getAttribute("action")}${asked.size ? `?${asked}` : ""}`);
});
