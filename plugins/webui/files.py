"""What a file is called and how it is handed over: names that are only names, headers that are only headers.  Pure."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

from homed.errors import InvalidInput

MAX_NAME = 200
"""Characters of a file's name; with three bytes each it is below what a file system takes."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows by itself and that can hold no script; everything else is saved."""

FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
"""What only a form sends: never a file's own type."""

SANDBOX = "sandbox; default-src 'none'"
"""The policy of a file somebody sent: should it ever be shown as a page, it can do nothing there."""

_ENCODED = re.compile(r"[A-Za-z0-9._~!*'()%-]+")
"""What ``encodeURIComponent`` leaves as it is, and the per cent sign."""
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")


def name_of(header: str) -> str:
    """A file's name from a percent-encoded header, without the folders before it.  Raises InvalidInput."""
    if not _ENCODED.fullmatch(header):
        raise InvalidInput("'X-File-Name' must be the file's name in UTF-8, percent-encoded.")
    try:
        name = unicodedata.normalize("NFC", unquote_to_bytes(header).decode())
    except UnicodeError:
        raise InvalidInput("'X-File-Name' must be the name in UTF-8, percent-encoded.") from None
    name = re.split(r"[/\\]", name)[-1].strip(" ")
    if not name or name in (".", ".."):
        raise InvalidInput("'X-File-Name' names no file.")
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in name) or _BIDI & set(name):
        raise InvalidInput("'X-File-Name' holds characters that no name has.")
    if len(name) > MAX_NAME:
        raise InvalidInput(f"'X-File-Name' is too long: at most {MAX_NAME} characters.")
    return name


_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of writing: ``exe.gpj`` would read as a picture."""


def type_of(header: str) -> str:
    """A media type without its parameters, lower case.  Raises InvalidInput for what is none."""
    kind = header.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(kind):
        raise InvalidInput("'Content-Type' must be the file's media type.")
    return kind


def disposition(how: str, name: str) -> str:
    """A Content-Disposition (RFC 6266): a plain name for old programs, the whole one percent-encoded."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in " ._-") else "_" for c in name) or "file"
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def handed_over(name: str, media_type: str) -> dict[str, str]:
    """The headers of a file somebody sent: pictures are shown, everything else is saved as bytes."""
    shown = media_type in PICTURES
    return {
        "Content-Type": media_type if shown else "application/octet-stream",
        "Content-Disposition": disposition("inline" if shown else "attachment", name),
        "Content-Security-Policy": SANDBOX,
        "X-Content-Type-Options": "nosniff",
    }
