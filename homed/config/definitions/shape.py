"""What a setting is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TYPES = ("string", "text", "int", "float", "bool", "duration", "password", "select", "list")
"""``text`` is a string of several lines; ``duration`` is seconds, or "90s", "5m", "1h30m"; ``list`` is a JSON array."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a setting is first set to, once in the life of a database: of a fresh one, and of one that was in use before
    there was such a setting."""

    fresh: object
    old: object


@dataclass(frozen=True, slots=True)
class Definition:
    """One setting.

    ``minimum``/``maximum`` bound int, float and duration (seconds).  ``options`` belong to ``select``.  ``hashed`` is
    for a password that is only ever checked: its scrypt hash is stored, never the text; other passwords go to the
    secrets file.  ``fits`` says of a string whether it may be the value, ``wanted`` what it must be.  ``restart``: a
    change takes effect at the next start.  ``hidden`` keys have an editor of their own.  ``seed``: it is stored when a
    database begins.
    """

    key: str
    type: str
    default: object
    description: str
    name: str = ""
    category: str = ""
    hidden: bool = False
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    hashed: bool = False
    restart: bool = False
    fits: Callable[[str], bool] | None = None
    wanted: str = ""
    seed: Seed | None = None

    @property
    def secret(self) -> bool:
        """True when the value must never be shown."""
        return self.type == "password"
