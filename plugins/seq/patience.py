"""Time limits that stand still while a person is being asked: what a limit bounds is the work, as with direct calls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio


@dataclass(slots=True, eq=False)
class _Limit:
    scope: trio.CancelScope
    left: float

    def go_on(self) -> None:
        self.scope.deadline = trio.current_time() + self.left

    def stand_still(self) -> None:
        self.left = max(0.0, self.scope.deadline - trio.current_time())
        self.scope.deadline = math.inf


@dataclass(slots=True)
class _Turn:
    limits: list[_Limit] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)


class Patience:
    """The limits of every turn that runs sequences, and the questions that are open in it."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    @contextmanager
    def limit(self, turn: str, seconds: float) -> Iterator[trio.CancelScope]:
        """Cancel the block after so many seconds in which nobody was being asked."""
        mine = self._turns.setdefault(turn, _Turn())
        with trio.CancelScope() as scope:
            limit = _Limit(scope, seconds)
            if not mine.asked:
                limit.go_on()
            mine.limits.append(limit)
            try:
                yield scope
            finally:
                mine.limits.remove(limit)
                if not mine.limits:
                    self._turns.pop(turn, None)

    def asked(self, turn: str, approval: str) -> None:
        """A question was asked in this turn."""
        mine = self._turns.get(turn)
        if mine is not None:
            if not mine.asked:
                for limit in mine.limits:
                    limit.stand_still()
            mine.asked.add(approval)

    def answered(self, turn: str, approval: str) -> None:
        """It is open no more, however it ended."""
        mine = self._turns.get(turn)
        if mine is not None and approval in mine.asked:
            mine.asked.discard(approval)
            if not mine.asked:
                for limit in mine.limits:
                    limit.go_on()

    def unsure(self) -> None:
        """Something was missed: no question is known to be open any more, so every limit runs."""
        for turn, mine in list(self._turns.items()):
            for approval in list(mine.asked):
                self.answered(turn, approval)
