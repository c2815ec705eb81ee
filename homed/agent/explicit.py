"""Which entities a model asked for by name, and when: what it has before it is not told once more.

Bounded, and only as long as the turn that asked is in view: in the earlier system the set grew for ever, and nothing
was told any more (E29).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

MOST = 1024
"""Entities of one scope that are remembered so; the oldest goes first."""

SCOPES = 256
"""Scopes; the one that asked longest ago goes first."""


class Explicit:
    """The last entities that each scope asked for.  In memory only: after a restart they are told again, no more."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._asked: dict[str, dict[str, str]] = {}

    def saw(self, scope: str, turn: str, entities: Iterable[str]) -> None:
        """``turn`` was shown these entities because it asked for them."""
        found = self._asked.pop(scope, {})
        self._asked[scope] = found
        for entity in entities:
            found.pop(entity, None)
            found[entity] = turn
        while len(found) > self._most:
            del found[next(iter(found))]
        while len(self._asked) > SCOPES:
            del self._asked[next(iter(self._asked))]

    def seen(self, scope: str, turns: Collection[str]) -> frozenset[str]:
        """Entities of the scope that one of these turns asked for last."""
        return frozenset(entity for entity, turn in self._asked.get(scope, {}).items() if turn in turns)
