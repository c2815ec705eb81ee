"""What stands between a model call and the money: the gate as its callers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homed.spend.records import Cost, Purpose, Spent, Tokens, Whence


class Holding(Protocol):
    """A call that may be made, until it is over."""

    async def settle(self, tokens: Tokens) -> Cost:
        """It took this."""
        ...

    async def release(self) -> None:
        """The source took nothing on: nothing is owed."""
        ...


class SpendPort(Protocol):
    """``homed.spend.gate.Gate``."""

    async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens) -> Holding:
        """Reserve what a call takes at the most.  Raises OverLimit before anything is spent."""
        ...

    async def go_on(self, times: int) -> None:
        """The person lets the day go on past its limit, for the ``times``-th time."""
        ...

    async def of_turn(self, turn: str) -> Sequence[Spent]:
        """What a turn took so far, a call each."""
        ...

    def turn_left(self, used: int) -> int | None:
        """Tokens that a turn may still use after ``used``; None without a limit."""
        ...
