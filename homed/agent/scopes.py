"""Which events of a scope are in use by its turns in flight, and the one lock under which its window changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from homed.retrieval.asking import Question

REMEMBERED = 64
"""Questions whose vectors are kept: sinking asks once more what turns asked, and each costs some milliseconds."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a turn in flight shows: the ids of the events, for which question, in how many tokens."""

    thread: str
    query: Question
    events: frozenset[str]
    tokens: int


@dataclass(slots=True)
class _Scope:
    lock: trio.Lock = field(default_factory=trio.Lock)
    uses: dict[str, Use] = field(default_factory=dict)
    wanted: int = 0


class Scopes:
    """Every scope that has a turn in flight; one without is forgotten."""

    def __init__(self) -> None:
        self._scopes: dict[str, _Scope] = {}
        self._asked: dict[str, Question] = {}

    @asynccontextmanager
    async def window(self, scope: str) -> AsyncIterator[None]:
        """Nobody else selects from, or sinks events of, this scope's window meanwhile."""
        held = self._scopes.setdefault(scope, _Scope())
        held.wanted += 1
        try:
            async with held.lock:
                yield
        finally:
            held.wanted -= 1
            self._forget(scope)

    def use(self, scope: str, turn: str, use: Use) -> None:
        """``turn`` shows these events from now on (in the place of those before)."""
        self._scopes.setdefault(scope, _Scope()).uses[turn] = use
        if use.query.vector is not None:
            self._asked.pop(use.query.text, None)
            self._asked[use.query.text] = use.query
            if len(self._asked) > REMEMBERED:
                del self._asked[next(iter(self._asked))]

    def asked(self, text: str) -> Question | None:
        """The question of this text with its vector, if it was one of the last that turns had."""
        return self._asked.get(text)

    def release(self, scope: str, turn: str) -> None:
        """``turn`` has ended.  Fine for one that used nothing."""
        held = self._scopes.get(scope)
        if held is not None:
            held.uses.pop(turn, None)
            self._forget(scope)

    def in_use(self, scope: str, *, but: str = "") -> list[Use]:
        """What the turns in flight show, without that of the turn ``but``."""
        held = self._scopes.get(scope)
        return [use for turn, use in held.uses.items() if turn != but] if held else []

    def _forget(self, scope: str) -> None:
        held = self._scopes.get(scope)
        if held is not None and not held.uses and not held.wanted:
            del self._scopes[scope]


def ids(uses: Iterable[Use]) -> frozenset[str]:
    """The events of all of them."""
    return frozenset().union(*(use.events for use in uses))
