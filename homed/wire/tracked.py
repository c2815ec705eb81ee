"""What a tracked folder held, as plugins and the kernel tell each other.  Pure.

A path is bytes below the folder, names joined by ``/``: names need not be text.  On the wire bytes are base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"
KINDS = (FILE, FOLDER, LINK, OTHER)

UNKEPT = ("large", "full", "unreadable", "changing")
"""Why the content of a file is not kept: it is too large, the whole of it would be too much, it cannot be read, it
changed each time it was read."""

BACK = "back"
"""What the id of a roll back begins with: one that was broken off is gone on with by the kernel's word."""

MOST_PATH = 4096
_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class State:
    """One entry of a folder.  ``mode``: permission bits; ``size`` in bytes and ``hash`` (sha256) of a file's content,
    ``target`` of a link.  ``unkept`` (one of ``UNKEPT``): there is no hash, and ``stamp`` says which state it is."""

    kind: str
    mode: int
    size: int = 0
    hash: str = ""
    target: bytes = b""
    unkept: str = ""
    stamp: str = ""

    def same(self, other: State | None) -> bool:
        """Whether putting one in the place of the other would change nothing."""
        return other is not None and self._what() == other._what()

    def _what(self) -> tuple[object, ...]:
        mode = 0 if self.kind == LINK else self.mode  # a link's own are always the same
        return self.kind, mode, self.hash, self.target, self.stamp if self.unkept else ""

    def wire(self) -> dict[str, object]:
        """As JSON."""
        made: dict[str, object] = {"kind": self.kind, "mode": self.mode}
        if self.kind == FILE:
            made |= {"size": self.size, "hash": self.hash}
        if self.kind == LINK:
            made["target"] = encoded(self.target)
        return made | ({"unkept": self.unkept, "stamp": self.stamp} if self.unkept else {})


@dataclass(frozen=True, slots=True)
class Change:
    """A path whose state was another one before; None: it was, or is, not there."""

    path: bytes
    before: State | None
    after: State | None

    @property
    def kind(self) -> str:
        """created, deleted or changed."""
        return "created" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def hashes(self) -> frozenset[str]:
        """The contents it speaks of."""
        return frozenset(state.hash for state in (self.before, self.after) if state is not None and state.hash)

    def wire(self) -> dict[str, object]:
        """As JSON."""
        return {
            "path": encoded(self.path), "before": self.before and self.before.wire(),
            "after": self.after and self.after.wire(),
        }  # fmt: skip


def encoded(data: bytes) -> str:
    """Bytes as they go over the wire."""
    return base64.b64encode(data).decode("ascii")


def decoded(text: object) -> bytes:
    """The bytes again.  ValueError for what are none."""
    if not isinstance(text, str):
        raise ValueError("bytes are base64 in a string")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def change_of(value: object) -> Change:
    """A change from JSON.  ValueError for what is none: also for a path that leads out of its folder."""
    if not isinstance(value, Mapping):
        raise ValueError("a change is an object")
    before, after = _state_or_none(value.get("before")), _state_or_none(value.get("after"))
    if before is None and after is None:
        raise ValueError("a change has a state before or after")
    return Change(checked_path(decoded(value.get("path"))), before, after)


def state_of(value: object) -> State:
    """A state from JSON.  ValueError for what is none."""
    if not isinstance(value, Mapping) or value.get("kind") not in KINDS:
        raise ValueError(f"a state is an object whose kind is one of {', '.join(KINDS)}")
    found: Mapping[str, Any] = value
    mode, size = found.get("mode"), found.get("size", 0)
    hash_, unkept, stamp = found.get("hash", ""), found.get("unkept", ""), found.get("stamp", "")
    if not isinstance(mode, int) or not 0 <= mode <= 0o7777 or not isinstance(size, int) or size < 0:
        raise ValueError("mode is permission bits, size a count of bytes")
    if not isinstance(hash_, str) or (hash_ and (len(hash_) != 64 or not _DIGITS.issuperset(hash_))):
        raise ValueError("hash is a sha256 in hexadecimal digits")
    if unkept not in ("", *UNKEPT) or not isinstance(stamp, str) or len(stamp) > 200:
        raise ValueError("unkept is one of the known reasons, stamp a short text")
    if found["kind"] == FILE and bool(hash_) == bool(unkept):
        raise ValueError("a file has a hash, or a reason why its content is not kept")
    target = decoded(found.get("target", ""))
    if len(target) > MOST_PATH or b"\0" in target:
        raise ValueError("target is that of a link")
    return State(found["kind"], mode, size, hash_, target, unkept, stamp)


def _state_or_none(value: object) -> State | None:
    return None if value is None else state_of(value)


def checked_path(path: bytes) -> bytes:
    """The path, if it is one below a folder; ValueError otherwise."""
    if not 0 < len(path) <= MOST_PATH or b"\0" in path:
        raise ValueError("a path has 1 to 4096 bytes, none of them zero")
    if any(name in (b"", b".", b"..") for name in path.split(b"/")):
        raise ValueError("a path is names joined by single slashes")
    return path


def printable(path: bytes) -> str:
    """A name that can be shown: bytes that are not UTF-8 are written as ``\\xNN``, and so are control characters."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
