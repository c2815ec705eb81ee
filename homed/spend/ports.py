"""What stands between a model call and the money: the gate as its callers see it, and one that lets all pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.errors import Unavailable
from homed.spend.records import Cost, Price, Purpose, Spent, Tokens, Whence
from homed.store.rows import Tx


@dataclass(frozen=True, slots=True)
class GoOn:
    """What a person may say yes to: that ``day`` goes on, for the ``times``-th time: by ``more``, in words."""

    day: str
    times: int
    more: str


class OverLimit(Unavailable):
    """A limit holds the call back.  ``limit`` names it, as ``limits.Limit`` does; ``ask``: a yes would let it go on."""

    def __init__(self, message: str, *, hint: str, limit: str, ask: GoOn | None = None) -> None:
        super().__init__(message, hint=hint, detail={"limit": limit})
        self.limit = limit
        self.ask = ask


Settlement = Callable[[Tx], object]
"""Writes down what a call took, in a transaction of somebody else's."""


class Holding(Protocol):
    """A call that may be made, until it is over; no way out is interrupted."""

    @property
    def room(self) -> int | None:
        """Tokens that its answer may have; None: as many as the source gives."""
        ...

    def settling(self, tokens: Tokens) -> tuple[Settlement, Cost]:
        """It took this; whoever asks writes it down with the next thing they do.  Until then it counts as reserved."""
        ...

    async def settle(self, tokens: Tokens) -> Cost:
        """It took this; what that costs."""
        ...

    async def release(self) -> None:
        """The source took nothing on: nothing is owed."""
        ...


class SpendPort(Protocol):
    """``homed.spend.gate.Gate``."""

    async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens, *, can: int = 0) -> Holding:
        """Reserve what a call takes at the most, of an answer between ``tokens.completion`` and ``can`` what the limits
        leave.  Raises OverLimit before anything is spent."""
        ...

    async def go_on(self, ask: GoOn) -> None:
        """The person said yes to it."""
        ...

    async def of_turn(self, turn: str) -> Sequence[Spent]:
        """What a turn took so far, a call each."""
        ...

    def turn_left(self, used: int) -> int | None:
        """Tokens that a turn may still use after ``used``; None without a limit."""
        ...


class NoSpend:
    """A gate that is always open and keeps no record, for tests of everything else."""

    async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens, *, can: int = 0) -> Holding:  # noqa: ARG002
        """See ``SpendPort.hold``."""
        await trio.lowlevel.checkpoint()
        return _Free()

    async def go_on(self, ask: GoOn) -> None:  # noqa: ARG002
        """See ``SpendPort.go_on``."""
        await trio.lowlevel.checkpoint()

    async def of_turn(self, turn: str) -> Sequence[Spent]:  # noqa: ARG002
        """See ``SpendPort.of_turn``."""
        await trio.lowlevel.checkpoint()
        return ()

    def turn_left(self, used: int) -> int | None:  # noqa: ARG002
        """See ``SpendPort.turn_left``."""
        return None


class _Free:
    room = None

    def settling(self, tokens: Tokens) -> tuple[Settlement, Cost]:  # noqa: ARG002
        return (lambda _: None), Cost(Price.FREE)

    async def settle(self, tokens: Tokens) -> Cost:  # noqa: ARG002
        await trio.lowlevel.cancel_shielded_checkpoint()
        return Cost(Price.FREE)

    async def release(self) -> None:
        await trio.lowlevel.cancel_shielded_checkpoint()
