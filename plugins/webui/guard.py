"""Which requests are let in before any session is looked at.

Pure: decides from headers alone.  Against DNS rebinding the Host must be a name this page answers to; against requests
forged by another page every one that changes something must come from this page and be JSON, which a form cannot send.
``localhost`` pages on other ports count as *same site* to a browser, so SameSite cookies alone would not do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Header = Callable[[str, str], str]
"""Looks up a header by its name, whatever its case, with a default."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
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

    def check(self, method: str, path: str, header: Header) -> Refused | None:
        """None if the request may go on."""
        host = header("Host", "")
        if not self.knows(host):
            message = f"This page does not answer to the name {host[:80]!r}."
            return Refused(421, message, "Add it to plugin.webui.hosts if it is yours.")
        if method not in SAFE_METHODS:
            return _check_change(host, header)
        if path.startswith("/api/") and header("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return Refused(403, "Another page may not read this.")
        return None

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


def _check_change(host: str, header: Header) -> Refused | None:
    origin = header("Origin", "")
    if origin and _place(origin) != host.lower():
        return Refused(403, "This request comes from another page.", "Open the page by its own address.")
    if header("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return Refused(403, "This request comes from another page.", "Open the page by its own address.")
    if header("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        return Refused(415, "Changes are sent as JSON.", "Set Content-Type: application/json.")
    return None


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
