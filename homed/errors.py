"""One base for every error of ours, and few leaves.

An error says what went wrong, where, and what a person can do about it (``hint``).  Foreign errors (apsw, httpx,
OSError) are mapped to one of these at the border of the room that meets them; nothing above sees the foreign type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class HomedError(Exception):
    """Base of all errors of this project.

    ``message`` is one sentence for a person.  ``hint`` says what to do, or is empty.  ``detail`` holds small JSON-able
    facts for machines; never a secret, never a whole text.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str = "", detail: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail: dict[str, object] = dict(detail or {})

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip() if self.hint else self.message


class InvalidInput(HomedError):
    """What was given is not acceptable: a bad argument, a malformed file, an unknown key."""

    code = "invalid"


class ConfigError(InvalidInput):
    """A setting, ``homed.toml``, manifest or environment variable is wrong."""

    code = "config"


class NotFound(HomedError):
    """The thing named does not exist, or is not the caller's to see (the two are not told apart on purpose)."""

    code = "not_found"


class Denied(HomedError):
    """The caller may not do this: role, scope, capability, permission or approval."""

    code = "denied"


class Conflict(HomedError):
    """It clashes with what is there: a name taken, a folder locked, a second registration."""

    code = "conflict"


class Unavailable(HomedError):
    """Something needed is not up, or went away while it was used; the same call may work later."""

    code = "unavailable"


class TimedOut(HomedError):
    """A limit of time passed.  The message says whether the work was stopped or may still be running."""

    code = "timeout"


class Stopped(HomedError):
    """A person stopped it."""

    code = "stopped"


class ProtocolError(HomedError):
    """The other side broke the wire protocol."""

    code = "protocol"


class StorageError(HomedError):
    """The database or the disk refused: corrupt, newer schema, full, read-only."""

    code = "storage"


class PluginFailed(HomedError):
    """A plugin answered a call with an error, or died during it."""

    code = "plugin"


def _leaves() -> dict[str, type[HomedError]]:
    found: dict[str, type[HomedError]] = {}
    queue: list[type[HomedError]] = [HomedError]
    while queue:
        cls = queue.pop()
        found.setdefault(cls.code, cls)  # a room's own kind of a leaf, which shares its code, never crosses a wire
        queue.extend(cls.__subclasses__())
    return found


def from_code(code: str, message: str, *, hint: str = "", detail: Mapping[str, object] | None = None) -> HomedError:
    """Rebuild an error that crossed the wire; an unknown ``code`` becomes the base class."""
    return _leaves().get(code, HomedError)(message, hint=hint, detail=detail)
