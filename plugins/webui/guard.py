"""Which requests are let in before any session is looked at.

Pure: decides from headers alone.  Against DNS rebinding the Host must be a name this page answers to.  Against requests
forged by another page none may come from elsewhere, and one that changes something must have what a form cannot send:
JSON, or for a file a header of its own, or a method other than POST.  ``localhost`` pages on other ports count as *same
site* to a browser, so SameSite cookies alone would not do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .files import FORMS

Header = Callable[[str, str], str]
"""Looks up a header by its name, whatever its case, with a default."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
PROGRAMS = ("/api/", "/v1/", "/holo/")
"""What paths begin with that no person opens: no other page may have a browser read them."""
MEMORY_HEADER = "x-holo-memory"
"""What every change of memory brings, with the value 1."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types homed"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), payment=(), usb=()",
}
"""Sent with every answer.  ``form-action``: scripts send every form; without them a password would get into the URL."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request is not let in: an HTTP status, a sentence, and what to do."""

    status: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """The names this page answers to.

    ``names``: host names a person configured, lower case.  ``wide``: the page listens on more than loopback, so any IP
    address is taken for one of its own (an address as Host cannot be rebound).
    """

    wide: bool = False
    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, *, wide: bool, names: Iterable[str]) -> Guard:
        """A guard for these names, however they are written."""
        return cls(wide, frozenset(name.strip().lower().rstrip(".") for name in names if name.strip()))

    def check(
        self, method: str, path: str, header: Header, *, takes: str = "json", memory: bool = False
    ) -> Refused | None:
        """None if the request may go on.  ``takes``: what the route's body is: json, file or nothing.

        ``memory``: it changes memory, and must say so.
        """
        host = header("Host", "")
        if not self.knows(host):
            message = f"This page does not answer to the name {host[:80]!r}."
            return Refused(421, message, "Add it to plugin.webui.hosts if it is yours.")
        origin, site = header("Origin", ""), header("Sec-Fetch-Site", "")
        if origin and _place(origin) != host.lower():
            return _ELSEWHERE
        if method not in SAFE_METHODS:
            if site not in ("", "same-origin", "none"):
                return _ELSEWHERE
            return _check_body(takes, header) or (_check_memory(header) if memory else None)
        if path.startswith(PROGRAMS) and site not in ("", "same-origin", "none"):
            return Refused(403, "Another page may not read this.")
        return None

    def from_page(self, header: Header) -> Refused | None:
        """None if a browser says that this page sent the request; a session's changes need that, a key's do not."""
        if header("Origin", "") or header("Sec-Fetch-Site", "") == "same-origin":  # a foreign one is refused already
            return None
        return Refused(403, "This request does not say which page it comes from.", "Send Origin, or use an API key.")

    def knows(self, host: str) -> bool:
        """True if ``host`` (a Host header) is a name of this page."""
        try:
            parts = urlsplit(f"//{host}")
            name = (parts.hostname or "").rstrip(".")
            _ = parts.port
        except ValueError:
            return False
        if parts.netloc != host or "@" in host:  # a path or a user's name: more than a host
            return False
        if name in LOOPBACK_NAMES or name in self.names:
            return True
        return self.wide and _is_address(name)


_ELSEWHERE = Refused(403, "This request comes from another page.", "Open the page by its own address.")


def _check_body(takes: str, header: Header) -> Refused | None:
    kind = header("Content-Type", "").partition(";")[0].strip().lower()
    if takes == "json" and kind != "application/json":
        return Refused(415, "Changes are sent as JSON.", "Set Content-Type: application/json.")
    if takes == "file" and (not kind or kind in FORMS):
        return Refused(415, "A file is sent as it is.", "Set Content-Type to its media type.")
    if takes == "file" and not header("X-File-Name", ""):
        return Refused(400, "'X-File-Name' is missing.", "Set it to the file's name, percent-encoded.")
    return None


def _check_memory(header: Header) -> Refused | None:
    if header(MEMORY_HEADER, "").strip() == "1":
        return None
    return Refused(403, "This changes memory and does not say so.", f"Send the header {MEMORY_HEADER}: 1.")


def _place(origin: str) -> str:
    """Host and port of an origin; nothing for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
