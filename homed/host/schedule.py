"""When plugins want to be woken: kernel schedules, which survive restarts and start a lazy plugin.

A schedule is told once for all the times that it was due since it was last told; what came due while homed was down, or
its plugin could not run, is told when it can be.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import trio

from homed.clock import WallClock
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, StorageError, Unavailable
from homed.store.rows import Damaged, Storage, Tx
from homed.wire.manifest import MOST_OFTEN, MOST_SELDOM, NAME, Manifest

PROVIDES = ("scheduler",)
NEEDS = ("store", "settings")

_log = logging.getLogger(__name__)

NAP = 30.0
"""Longest wait without a look at the wall clock: it may be set, and a suspended machine's other clock stands still."""
RETRY = 5.0
"""Seconds until a schedule is told again whose plugin went away meanwhile; twice as many after each further time."""
LONGEST_RETRY = 600.0
REST = 1.0
"""Seconds between two tellings of one schedule: a plugin may set it to a time that has passed, again and again."""
MOST = 64
"""Schedules of one plugin."""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Schedule:
    """``at``: when it is due next (wall-clock seconds; None: switched off); ``every``: seconds, None for once.

    ``own``: the plugin set it; else it stands in the manifest.
    """

    plugin: str
    name: str
    at: float | None
    every: float | None
    own: bool = True

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.plugin, self.name


@dataclass(frozen=True, slots=True)
class Due:
    """The last time it was due, and how many earlier times were never told."""

    at: float
    missed: int = 0


def due(schedule: Schedule, now: float) -> Due | None:
    """What is to be told at ``now``; None while it is not due."""
    if schedule.at is None or schedule.at > now:
        return None
    missed = 0 if schedule.every is None else int((now - schedule.at) // schedule.every)
    return Due(schedule.at + missed * (schedule.every or 0.0), missed)


def moved_on(schedule: Schedule, told: Due) -> Schedule | None:
    """The schedule after it was told; None when that was all."""
    return None if schedule.every is None else replace(schedule, at=told.at + schedule.every)


def within_period(schedule: Schedule, now: float) -> Schedule:
    """The same, due after one period at the latest: the clock that its time was taken from was ahead of this one."""
    if schedule.at is None or schedule.every is None or schedule.at <= now + schedule.every:
        return schedule
    return replace(schedule, at=now + schedule.every)


class Schedules:
    """All schedules, in memory and in the table ``plugin_schedules``.

    ``tell(plugin, name, due)`` calls the plugin; it is asked only while ``able(plugin)`` holds.
    """

    def __init__(
        self,
        store: Storage,
        wall: WallClock,
        tell: Callable[[Schedule, Due], Awaitable[object]],
        able: Callable[[str], bool],
    ) -> None:
        self._store, self._wall, self._tell, self._able = store, wall, tell, able
        self._all: dict[Key, Schedule] = {}
        self._telling: set[Key] = set()
        self._retries: dict[Key, tuple[int, float]] = {}
        self._rests: dict[Key, float] = {}
        self._seen = wall()
        self._lock = trio.Lock()
        self._changed = trio.Event()

    async def load(self) -> None:
        """Read what earlier runs left; nothing where that part of the database is damaged."""
        try:
            rows = await self._store.read(
                lambda tx: tx.all("SELECT plugin, name, at, every, own FROM plugin_schedules")
            )
        except Damaged as error:
            _log.error("the schedules of plugins cannot be read: %s", error.message)
            return
        found = (Schedule(plugin, name, at, every, bool(own)) for plugin, name, at, every, own in rows)
        self._all = {one.key: one for one in found}

    async def adopt(self, manifest: Manifest) -> None:
        """Take on what a manifest says, where the plugin has not said otherwise.  What is new is due at once."""
        wanted = {(manifest.name, spec.name): spec.every for spec in manifest.schedules}
        async with self._lock:
            mine = {key: one for key, one in self._all.items() if key[0] == manifest.name}
            gone = [key for key, one in mine.items() if not one.own and key not in wanted]
            now = self._wall()
            said = [
                within_period(replace(mine.get(key, Schedule(*key, now, every, own=False)), every=every), now)
                for key, every in wanted.items()
                if key not in mine or not mine[key].own
            ]
            new = [one for one in said if one != mine.get(one.key)]
            if gone or new:
                await self._write(new, gone)

    async def set(self, plugin: str, name: str, *, at: float | None, every: float | None) -> float:
        """Set or replace one; returns when it is due (wall-clock seconds).  ``every`` alone begins so long from now."""
        when = _check(name, at, every, self._wall())
        async with self._lock:
            if (plugin, name) not in self._all and sum(key[0] == plugin for key in self._all) >= MOST:
                raise Conflict(f"The plugin {plugin} has {MOST} schedules already.", hint="Clear one first.")
            await self._write([Schedule(plugin, name, when, every)], [])
        return when

    async def clear(self, plugin: str, name: str) -> None:
        """Forget one; one of the manifest's stays switched off.  `NotFound` when there is none."""
        async with self._lock:
            found = self._all.get((plugin, name))
            if found is None or found.at is None:
                raise NotFound(f"The plugin {plugin} has no schedule {name[:80]!r}.")
            await self._write([replace(found, at=None)] if not found.own else [], [found.key] if found.own else [])

    async def forget(self, plugin: str) -> None:
        """The plugin was removed."""
        async with self._lock:
            await self._write([], [key for key in self._all if key[0] == plugin])

    def of(self, plugin: str) -> Sequence[Schedule]:
        """A plugin's schedules that are on, by name."""
        return sorted((s for s in self._all.values() if s.plugin == plugin and s.at is not None), key=lambda s: s.name)

    def look(self) -> None:
        """Some plugin's state has changed: it may be able now."""
        self._changed.set()
        self._changed = trio.Event()

    async def run(self) -> None:
        """Tell each when it is due, for ever; each by itself, so that none waits for another's plugin."""
        async with trio.open_nursery() as nursery:
            while True:
                changed = self._changed
                await self._heed_clock()
                wait = NAP
                for one in list(self._all.values()):
                    wait = min(wait, self._begin(one, nursery))
                with trio.move_on_after(wait):
                    await changed.wait()

    async def _heed_clock(self) -> None:
        """Where the wall clock was set back: none that repeats waits for it to come to where it was."""
        now, seen = self._wall(), self._seen
        self._seen = now
        self._rests = {key: until for key, until in self._rests.items() if until > trio.current_time()}
        if now >= seen:
            return
        async with self._lock:
            begun = [one for one in self._all.values() if one.every and one.at and one.at <= seen + one.every]
            late = [near for one in begun if (near := within_period(one, now)) != one]
            if late:
                _log.warning("the clock was set back: %d schedules are due earlier", len(late))
                try:
                    await self._write(late, [])
                except StorageError as error:
                    _log.error("the schedules of plugins could not be stored: %s", error)
                    self._take(late, [])

    def _begin(self, one: Schedule, nursery: trio.Nursery) -> float:
        """Tell it if it is due; returns the seconds until it wants to be looked at."""
        if one.at is None or one.key in self._telling:
            return math.inf
        now = self._wall()
        told = due(one, now)
        if told is None:
            return one.at - now
        until = max(self._retries.get(one.key, (0, 0.0))[1], self._rests.get(one.key, 0.0))
        if until > trio.current_time():
            return until - trio.current_time()
        if self._able(one.plugin):
            self._telling.add(one.key)
            nursery.start_soon(self._tell_one, one, told)
        return math.inf

    async def _tell_one(self, one: Schedule, told: Due) -> None:
        try:
            await self._tell(one, told)
        except Unavailable as error:  # it went away, and may not have got to it
            count, _ = self._retries.get(one.key, (0, 0.0))
            pause = min(RETRY * 2**count, LONGEST_RETRY)
            self._retries[one.key] = (min(count + 1, 32), trio.current_time() + pause)
            _log.warning("the schedule %s of %s is told again in %g s: %s", one.name, one.plugin, pause, error.message)
        except HomedError as error:  # it had it, and failed
            _log.warning("the schedule %s of %s failed: %s", one.name, one.plugin, error.message)
            await self._move_on(one, told)
        else:
            await self._move_on(one, told)
        finally:
            self._rests[one.key] = trio.current_time() + REST
            self._telling.discard(one.key)
            self.look()

    async def _move_on(self, one: Schedule, told: Due) -> None:
        """Have it wait for its next time, unless the plugin has set another meanwhile."""
        self._retries.pop(one.key, None)
        async with self._lock:
            if self._all.get(one.key) != one:
                return
            following = moved_on(one, told)
            try:
                await self._write([following] if following else [], [] if following else [one.key])
            except StorageError as error:  # told again after the next start of homed, not before
                _log.error("the schedules of plugins could not be stored: %s", error)
                self._take([following] if following else [], [] if following else [one.key])

    async def _write(self, new: Sequence[Schedule], gone: Sequence[Key]) -> None:
        """Store, then believe it.  Cancelled, it may be stored all the same: then it holds from the next start on."""
        await self._store.write(lambda tx: _store(tx, new, gone))
        self._take(new, gone)

    def _take(self, new: Iterable[Schedule], gone: Iterable[Key]) -> None:
        for key in gone:
            self._all.pop(key, None)
            self._retries.pop(key, None)
        for one in new:
            self._all[one.key] = one
            self._retries.pop(one.key, None)
        self.look()


def as_params(one: Schedule, told: Due) -> Mapping[str, object]:
    """The parameters of ``schedule.invoke``."""
    return {"name": one.name, "due": told.at, "missed": told.missed}


def _check(name: str, at: float | None, every: float | None, now: float) -> float:
    if not NAME.fullmatch(name):
        raise InvalidInput(f"A schedule's name matches {NAME.pattern}; {name[:80]!r} does not.")
    if at is None and every is None:
        raise InvalidInput("A schedule needs a time: at, every, or both.")
    if every is not None and not MOST_OFTEN <= every <= MOST_SELDOM:
        raise InvalidInput(f"every is {MOST_OFTEN:g} to {MOST_SELDOM:g} seconds, not {every:g}.")
    if at is not None and not (math.isfinite(at) and at >= 0):
        raise InvalidInput("at is a time in UTC seconds since 1970.")
    return now + (every or 0.0) if at is None else at


def _store(tx: Tx, new: Sequence[Schedule], gone: Sequence[Key]) -> None:
    for key in gone:
        tx.execute("DELETE FROM plugin_schedules WHERE plugin = ? AND name = ?", key)
    for one in new:
        tx.execute(
            "INSERT INTO plugin_schedules (plugin, name, at, every, own) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (plugin, name) DO UPDATE SET at = excluded.at, every = excluded.every, own = excluded.own",
            (one.plugin, one.name, one.at, one.every, int(one.own)),
        )
