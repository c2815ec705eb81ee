"""Timers kept, saved and told when due.  Time comes in as a function, telling and saving as ports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import trio

from . import cron
from .book import Timer
from .zones import zone

LATE = 60.0
"""Seconds after which a timer counts as missed rather than due."""

NAP = 30.0
"""Longest wait without a look at the wall clock: it may be set, and a suspended machine's other clock stands still."""

MANY = 99
"""Missed times counted of one timer."""

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


@dataclass(frozen=True, slots=True)
class Refused:
    """How often in a row, and when (on Trio's clock) it is worth another try."""

    count: int
    until: float


@dataclass(slots=True)
class Clockwork:
    """The timers of one homed.  ``tell`` answers False if it could not: the timer stays and is told later.

    ``aside`` are the ids of timers that cannot be told at all (`book.load`): they are kept, and nothing else.
    """

    timers: dict[str, Timer]
    save: Save
    tell: Tell
    wall: Callable[[], float]
    aside: Collection[str] = ()
    _refused: dict[str, Refused] = field(default_factory=dict)
    _changed: trio.Event = field(default_factory=trio.Event)
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
            wait = NAP
            usable = (timer for timer in self.timers.values() if timer.id not in self.aside)
            for timer in sorted(usable, key=lambda timer: timer.next_at):
                if timer.next_at > self.wall():
                    wait = min(wait, max(0.0, timer.next_at - self.wall()))
                    break
                wait = min(wait, await self._try(timer))
            with trio.move_on_after(wait):
                await changed.wait()

    async def _try(self, timer: Timer) -> float:
        """Tell a due timer unless it was refused a moment ago; returns the seconds until it wants to be looked at."""
        before = self._refused.pop(timer.id, Refused(0, 0.0))
        if before.until <= trio.current_time():
            if await self._fire(timer, before.count):
                return NAP
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
        await self.save(timers)
        self.timers = timers
        self._refused = {id_: refused for id_, refused in self._refused.items() if id_ in timers}
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
