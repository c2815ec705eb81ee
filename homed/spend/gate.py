"""The gate before every model call: no call is made that a limit does not allow.

A call reserves what it may take, in the transaction that looks at the limits: two at once cannot overrun one together,
and what was reserved when homed was killed counts as spent.  Kept small, for it is loaded at the start: prices and
reports come when they are needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

from homed.clock import WallClock
from homed.config.definitions import (
    SPEND_BACKGROUND,
    SPEND_CURRENCY,
    SPEND_DAY_MONEY,
    SPEND_DAY_TOKENS,
    SPEND_KEEP,
    SPEND_PRICES,
    SPEND_RATES,
    SPEND_TURN_TOKENS,
)
from homed.errors import TimedOut

if TYPE_CHECKING:
    from homed.spend.book import Reservation
    from homed.spend.limits import Limits
    from homed.spend.ports import GoOn, Settlement
    from homed.spend.prices import Prices
    from homed.spend.records import Cost, Purpose, Spent, Tokens, Whence
    from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

WRITE_LIMIT = 10.0
"""Seconds that writing down what a call takes may take, also when the call was cancelled."""

DAY = 86_400.0


class SettingsPort(Protocol):
    """What is read of the settings, at every call."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def float(self, key: str) -> float:
        """A number."""
        ...

    def str(self, key: str) -> str:
        """A text."""
        ...


@dataclass(frozen=True, slots=True)
class GatePorts:
    """What the gate touches.  ``zone``: where the person's day begins and ends."""

    store: Storage
    settings: SettingsPort
    zone: Callable[[], tzinfo]
    wall: WallClock


class Gate:
    """Lets calls through, and writes down what they took.  Used from the Trio thread only."""

    def __init__(self, ports: GatePorts) -> None:
        self._ports = ports
        self._claimed = False
        self._first = trio.Lock()
        self._day = ""
        self._prices: tuple[object, Prices] | None = None

    async def hold(self, purpose: Purpose, whence: Whence, tokens: Tokens, *, can: int = 0) -> Held:
        """Reserve what a call takes at the most.

        ``can``: tokens that its answer may have, where that is more than ``tokens`` says, with which the verdict falls.
        What the limits leave of them is reserved, and where that is less, it is the answer's ``room``.

        Raises OverLimit before anything is spent, and StorageError or TimedOut: nothing is spent unseen.  Not
        interrupted once begun, so that whoever is cancelled afterwards can release what was reserved.
        """
        if self._claimed:
            return await self._hold(purpose, whence, tokens, can)
        try:  # one after the other: none may take another's call for one of an earlier run
            self._first.acquire_nowait()
        except trio.WouldBlock:
            await self._first.acquire()
        try:
            return await self._hold(purpose, whence, tokens, can)
        finally:
            self._first.release()

    async def _hold(self, purpose: Purpose, whence: Whence, tokens: Tokens, can: int) -> Held:
        from homed.spend import book
        from homed.spend.limits import MILLION, Refusal, Wanted, judge, room
        from homed.spend.over import over
        from homed.spend.records import Spent, Tokens

        limits, cost_of = self.limits(), partial(self.prices().of, whence)
        prompt, million = replace(tokens, completion=0), cost_of(Tokens(completion=MILLION))
        at, day = self._ports.wall(), self.today()
        claimed, pruned = self._claimed, self._day == day

        def reserve(tx: Tx) -> tuple[Reservation, int | None] | tuple[Refusal, int]:
            if not claimed and (lost := book.claim_lost(tx)):
                log.warning("%d model calls were under way when homed ended; they count as reserved", lost)
            if not pruned:
                book.prune(tx, self._first_kept(at))
            standing = book.standing(tx, limits, day, purpose.turn)
            refusal = judge(limits, standing, Wanted(purpose, tokens.total, cost_of(tokens)))
            if refusal is not None:
                return refusal, standing.times
            left = room(limits, standing, Wanted(purpose, prompt.total, cost_of(prompt)), million)
            held = replace(tokens, completion=max(tokens.completion, min(can, left or 0)))
            made = book.reserve(tx, purpose, whence, Spent(held, cost_of(held)), at=at, day=day)
            return made, held.completion if left is not None and left < can else None

        made = await self._write(reserve)
        self._claimed, self._day = True, day
        if isinstance(made[0], Refusal):
            raise over(made[0], made[1] or 0, limits, purpose, whence, day)
        return Held(self, made[0], made[1])

    async def go_on(self, ask: GoOn) -> None:
        """The person lets the day go on past its limit.

        That which they were asked about: when the answer comes after midnight, it is no word on the new one.
        """
        from homed.spend import book

        await self._write(lambda tx: book.allow(tx, ask.day, ask.times))
        log.info("%s goes on past its limit of spend, for the time %d", ask.day, ask.times)

    async def of_turn(self, turn: str) -> Sequence[Spent]:
        """What a turn took so far, a call each, what is reserved included."""
        from homed.spend import book

        return await self._ports.store.read(lambda tx: book.of_turn(tx, turn))

    def turn_left(self, used: int) -> int | None:
        """Tokens that a turn may still use after ``used``; None without a limit."""
        most = self._ports.settings.int(SPEND_TURN_TOKENS)
        return max(0, most - used) if most else None

    def settling(self, held: Reservation, tokens: Tokens) -> tuple[Settlement, Cost]:
        """What writes down what a call took, and what that costs.  ``Held.settling`` is for callers."""
        from homed.spend import book
        from homed.spend.records import Spent

        cost = self.prices().of(held.whence, tokens)
        return (lambda tx: book.settle(tx, held, Spent(tokens, cost))), cost

    async def settle(self, held: Reservation, tokens: Tokens) -> Cost:
        """Write down what a call took.  ``Held.settle`` is for callers."""
        settlement, cost = self.settling(held, tokens)
        await self._write(settlement)
        return cost

    async def release(self, held: Reservation) -> None:
        """Nothing is owed for a call.  ``Held.release`` is for callers."""
        from homed.spend import book

        await self._write(lambda tx: book.release(tx, held))

    def today(self) -> str:
        """The person's day, YYYY-MM-DD."""
        return self._date(self._ports.wall())

    def limits(self) -> Limits:
        """The limits in force."""
        from homed.spend.limits import Limits
        from homed.spend.prices import nanos, rates_of

        read = self._ports.settings
        return Limits(
            turn_tokens=read.int(SPEND_TURN_TOKENS), day_tokens=read.int(SPEND_DAY_TOKENS),
            day_nanos=nanos(Decimal(str(read.float(SPEND_DAY_MONEY)))), currency=read.str(SPEND_CURRENCY).strip(),
            percent=read.int(SPEND_BACKGROUND), rates=rates_of(read.get(SPEND_RATES)),
        )  # fmt: skip

    def prices(self) -> Prices:
        """The prices in force; made anew when the person's have changed."""
        from homed.spend.known import known
        from homed.spend.prices import Prices, from_setting

        stored = self._ports.settings.get(SPEND_PRICES)
        if self._prices is None or self._prices[0] != stored:
            given, faults = from_setting(stored)
            for fault in faults:  # written by hand: what is wrong is not worth no answers
                log.error("a price of the settings is ignored: %s", fault)
            self._prices = (stored, Prices(given, known()))
        return self._prices[1]

    def kept_days(self) -> int:
        """Days for which single calls are kept."""
        return self._ports.settings.int(SPEND_KEEP)

    def _date(self, at: float) -> str:
        return datetime.fromtimestamp(at, self._ports.zone()).date().isoformat()

    def _first_kept(self, at: float) -> str:
        return self._date(at - self._ports.settings.int(SPEND_KEEP) * DAY)

    async def _write(self, fn: Callable[[Tx], T]) -> T:
        try:
            with trio.fail_after(WRITE_LIMIT, shield=True):
                return await self._ports.store.write(fn)
        except trio.TooSlowError:
            raise TimedOut(
                "What a model call costs could not be written down in time, so none is made.",
                hint="Is the disk full or hanging?",
            ) from None


@dataclass(frozen=True, slots=True)
class Held:
    """A call that may be made; ``settle`` or ``release`` it when it is over.  Neither is interrupted."""

    gate: Gate
    reservation: Reservation
    room: int | None = None

    def settling(self, tokens: Tokens) -> tuple[Settlement, Cost]:
        """It took this: what writes that down in a transaction of the caller's, and what it costs."""
        return self.gate.settling(self.reservation, tokens)

    async def settle(self, tokens: Tokens) -> Cost:
        """It took this; what that costs."""
        return await self.gate.settle(self.reservation, tokens)

    async def release(self) -> None:
        """The source took nothing on: nothing is owed."""
        await self.gate.release(self.reservation)
