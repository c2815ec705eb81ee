"""Timers kept, saved and told when due.  Time comes in as a function, telling and saving as ports."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import trio

from homed.sdk import HomedError

from . import cron
from .book import Timer
from .zones import zone

log = logging.getLogger(__name__)

LATE = 60.0
"""Seconds after which a timer counts as missed rather than due."""

NAP = 30.0
"""Longest wait without a look at the wall clock: it may be set, and a suspended machine's other clock stands still."""

MANY = 99
"""Missed times counted of one timer."""

SAME = 0.5
"""Seconds between two alarms that are not worth a change."""

RETRY = 5.0
"""Seconds until a timer that the kernel refused is tried again; twice as many after each further refusal."""

LONGEST_RETRY = 600.0
"""Seconds that this grows to: who frees a full conversation need not wait long for its timers."""


@dataclass(frozen=True, slots=True)
class Due:
    """A timer whose time has come: the text to tell, and the id that makes a second telling no second message.

    ``refusals``: how often in a row it has been refused already.
    """

    timer: Timer
    text: str
    client_msg_id: str
    refusals: int = 0

    def elsewhere(self) -> Due:
        """The same for a new thread: the one it was set in is gone."""
        return replace(self, timer=replace(self.timer, thread=""))


Tell = Callable[[Due], Awaitable[bool]]
Save = Callable[[Mapping[str, Timer]], Awaitable[None]]
Arm = Callable[[float | None], Awaitable[None]]


async def unarmed(_at: float | None) -> None:
    """For a clockwork that nobody stops."""
    await trio.lowlevel.checkpoint()


@dataclass(frozen=True, slots=True)
class Refused:
    """How often in a row, and when (on Trio's clock) it is worth another try."""

    count: int
    until: float


@dataclass(slots=True)
class Clockwork:
    """The timers of one homed.  ``tell`` answers False if it could not: the timer stays and is told later.

    ``arm`` has the plugin woken at a time (UTC seconds; None: no more), for it may be stopped until then.  ``aside``
    are the ids of timers that cannot be told at all (`book.load`): they are kept, and nothing else.
    """

    timers: dict[str, Timer]
    save: Save
    tell: Tell
    wall: Callable[[], float]
    aside: Collection[str] = ()
    arm: Arm = unarmed
    _armed: float | None = None
    _refused: dict[str, Refused] = field(default_factory=dict)
    _changed: trio.Event = field(default_factory=trio.Event)
    _looked: trio.Event = field(default_factory=trio.Event)
    _lock: trio.Lock = field(default_factory=trio.Lock)

    async def put(self, timer: Timer) -> None:
        """Add a timer; it is on disk when this returns.  Cancelled, it is there as a whole or not at all."""
        async with self._lock:
            await self._store({**self.timers, timer.id: timer})

    async def drop(self, timer_id: str) -> None:
        """Remove a timer, on disk too."""
        async with self._lock:
            await self._store({key: timer for key, timer in self.timers.items() if key != timer_id})

    async def run(self) -> None:
        """Tell every timer when it is due, for ever.  First come those missed while homed was down."""
        while True:
            changed = self._changed
            wait = math.inf
            for timer in self._in_order(self.timers):
                if timer.next_at > self.wall():
                    wait = min(wait, max(0.0, timer.next_at - self.wall()))
                    break
                wait = min(wait, await self._try(timer))
            await self._rearm(None if math.isinf(wait) else self.wall() + wait)
            looked, self._looked = self._looked, trio.Event()
            looked.set()
            with trio.move_on_after(min(wait, NAP)):
                await changed.wait()

    async def settled(self) -> None:
        """For whoever was woken: wait until everything that is due has been told, or refused.

        That alarm is spent, also where nothing is due yet: the clock was set back, or the next timer follows closely.
        """
        self._armed = None
        self._look()
        while True:
            await self._looked.wait()
            now = self.wall()
            if all(timer.next_at > now or timer.id in self._refused for timer in self._in_order(self.timers)):
                return

    def _in_order(self, timers: Mapping[str, Timer]) -> list[Timer]:
        return sorted((t for t in timers.values() if t.id not in self.aside), key=lambda timer: timer.next_at)

    async def _rearm(self, at: float | None) -> None:
        """Be woken at another time.  The one set before it stands where that fails: woken for nothing is no harm."""
        if at == self._armed or (at is not None and self._armed is not None and abs(at - self._armed) < SAME):
            return
        try:
            await self.arm(at)
        except HomedError as error:
            log.warning("the next timer could not be announced: %s", error)
        else:
            self._armed = at

    async def _try(self, timer: Timer) -> float:
        """Tell a due timer unless it was refused a moment ago; returns the seconds until it wants to be looked at."""
        before = self._refused.pop(timer.id, Refused(0, 0.0))
        if before.until <= trio.current_time():
            if await self._fire(timer, before.count):
                return math.inf
            pause = min(RETRY * 2**before.count, LONGEST_RETRY)
            before = Refused(before.count + 1, trio.current_time() + pause)
        self._refused[timer.id] = before
        return before.until - trio.current_time()

    async def _fire(self, timer: Timer, refusals: int) -> bool:
        """Tell a timer and move it on; False if it could not be told now.

        It is told before it is moved on: killed in between, it is told again under the same ``client_msg_id``, and the
        kernel drops the second.
        """
        now = self.wall()
        if not await self.tell(replace(due(timer, now), refusals=refusals)):
            return False
        async with self._lock:
            if self.timers.get(timer.id) == timer:  # not cancelled or replaced meanwhile
                await self._store(moved_on(self.timers, timer, now))
        return True

    async def _store(self, timers: dict[str, Timer]) -> None:
        # First the alarm, then the file: whoever dies in between is woken for nothing, and not too late.
        if (order := self._in_order(timers)) and (self._armed is None or order[0].next_at < self._armed):
            await self.arm(order[0].next_at)
            self._armed = order[0].next_at
        await self.save(timers)
        self.timers = timers
        self._refused = {id_: refused for id_, refused in self._refused.items() if id_ in timers}
        self._look()

    def _look(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


def due(timer: Timer, now: float) -> Due:
    """What to say about a timer whose time has come, at wall-clock ``now``.  One that is late says so."""
    local = datetime.fromtimestamp(timer.next_at, zone(timer.zone))
    when = f"{local:%Y-%m-%d %H:%M} {timer.zone}"
    late = now - timer.next_at > LATE
    head = f"[timer {timer.id}, {'missed: it was' if late else 'set'} for {when}{_skipped(timer, now) if late else ''}]"
    return Due(timer, f"{head}\n{timer.text}", f"{timer.id}@{timer.next_at:.0f}")


def moved_on(timers: Mapping[str, Timer], timer: Timer, now: float) -> dict[str, Timer]:
    """The timers after ``timer`` was told at ``now``: gone if it fires once, else at its next time after now."""
    rest = dict(timers)
    del rest[timer.id]
    if timer.cron:
        following = cron.following(
            cron.parse(timer.cron), datetime.fromtimestamp(max(now, timer.next_at), UTC), zone(timer.zone)
        )
        if following is not None:
            rest[timer.id] = replace(timer, next_at=following.timestamp())
    return rest


def _skipped(timer: Timer, now: float) -> str:
    """How many more times a repeated timer was missed: one message tells them all."""
    if not timer.cron:
        return ""
    parsed, local, count = cron.parse(timer.cron), zone(timer.zone), 0
    at = datetime.fromtimestamp(timer.next_at, UTC)
    end = datetime.fromtimestamp(now, UTC)
    while count < MANY and (following := cron.following(parsed, at, local)) is not None and following <= end:
        at, count = following, count + 1
    return f", and {'at least ' if count == MANY else ''}{count} more since" if count else ""
