"""The sequences on disk: one JSON file, replaced as a whole, so that it is never half written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from homed.wire.durable import write_whole

from . import grammar
from .grammar import BadSequence, Sequence

VERSION = 1
OWNER = "owner"
"""The scope of the owner's own conversations."""

RANKS = ("guest", "trusted", "owner")
"""The roles of people, each with more rights than the one before."""


class BadShelf(ValueError):
    """The file is not what this version wrote."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A sequence with the scope it was made in, in which alone it is seen, and whether guests may run it as well.

    ``role``: who wrote it down.  In a group several people do, and its steps run with the rights of whoever runs it.
    """

    sequence: Sequence
    scope: str
    guests: bool = False
    role: str = "owner"

    def above(self, role: str) -> bool:
        """Whether it was written by somebody with more rights than a role has."""
        return rank(self.role) > rank(role)

    def below(self, role: str) -> bool:
        """Whether it was written by somebody with fewer."""
        return rank(self.role) < rank(role)


def rank(role: str) -> int:
    """Where a role stands in `RANKS`; an unknown one has no rights."""
    return RANKS.index(role) if role in RANKS else -1


class Shelf:
    """All sequences, by scope and name."""

    def __init__(self, kept: Iterable[Kept] = ()) -> None:
        self._kept = {(one.scope, one.sequence.name): one for one in kept}

    def all(self) -> list[Kept]:
        """Every one."""
        return list(self._kept.values())

    def seen_from(self, scope: str) -> dict[str, Sequence]:
        """Those of a scope, and the owner's that are for guests; one's own come before another's of that name."""
        return {name: one.sequence for name, one in self.kept_for(scope).items()}

    def kept_for(self, scope: str) -> dict[str, Kept]:
        """The same, with who wrote each."""
        every = self._kept.values()
        open_ = {one.sequence.name: one for one in every if one.guests and one.scope == OWNER}
        return open_ | {one.sequence.name: one for one in every if one.scope == scope}

    def own(self, scope: str) -> dict[str, Sequence]:
        """Those made in a scope."""
        return {one.sequence.name: one.sequence for one in self._kept.values() if one.scope == scope}

    def with_(self, one: Kept) -> Shelf:
        """A shelf that holds this one too."""
        return Shelf([*({**self._kept, (one.scope, one.sequence.name): one}.values())])

    def without(self, scope: str, name: str) -> Shelf:
        """A shelf that lacks one."""
        return Shelf(one for key, one in self._kept.items() if key != (scope, name))


def load(path: Path) -> Shelf:
    """Read the file; no file yet means an empty shelf.  Raises `BadShelf`.  Blocks: run it in a thread."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Shelf()
    except (ValueError, RecursionError) as error:
        raise BadShelf(f"{path} is no JSON: {error}") from None
    if not isinstance(data, Mapping) or data.get("version") != VERSION or not isinstance(data.get("sequences"), list):
        raise BadShelf(f"{path} is not a list of sequences of version {VERSION}")
    return Shelf(_kept(item, path) for item in data["sequences"])


def _kept(item: object, path: Path) -> Kept:
    if not isinstance(item, Mapping) or set(item) != {"scope", "guests", "role", "sequence"}:
        raise BadShelf(f"{path} holds a sequence that cannot be read")
    if not isinstance(item["scope"], str) or not isinstance(item["guests"], bool) or item["role"] not in RANKS:
        raise BadShelf(f"{path} holds a sequence whose scope, guests or role is wrong")
    try:
        return Kept(grammar.parse(item["sequence"]), item["scope"], item["guests"], item["role"])
    except BadSequence as error:
        raise BadShelf(f"{path} holds a sequence that is wrong: {error.errors[0]}") from None


def save(path: Path, shelf: Shelf) -> None:
    """Replace the file.  After a power cut it holds the old shelf or the new one.  Blocks: run it in a thread."""
    rows = [
        {"scope": k.scope, "guests": k.guests, "role": k.role, "sequence": grammar.as_json(k.sequence)}
        for k in shelf.all()
    ]
    body = json.dumps({"version": VERSION, "sequences": rows}, ensure_ascii=False, indent=1)
    write_whole(path, body)
