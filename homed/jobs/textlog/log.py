"""Keeps the files as the events are: lines are added when turns are over, and made anew when something is forgotten.

No turn waits for it.  A line comes once its turn, and every turn that began before, is over: until then a stage may
still take something back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import trio

from homed.agent.daylines import LOGGED, bounds, day_of, line
from homed.agent.ports import RedactorPort
from homed.clock import WallClock, system_wall_clock
from homed.config.definitions import TEXTLOG, TEXTLOG_BYTES, TEXTLOG_DAYS
from homed.errors import HomedError, StorageError
from homed.jobs.textlog import files
from homed.memory import events as table
from homed.memory.records import Event
from homed.store.executors import Executor, ThreadExecutor
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

PAGE = 200
"""Events read at once: their texts are held meanwhile."""

DROP_LIMIT = 5.0
"""Seconds, shielded, that taking away half-made files may take; the next start takes what is left."""

SKIPPED = 5_000
"""Events looked past with one read, where most have no line."""


class SettingsPort(Protocol):
    """What is read of the settings."""

    def get(self, key: str) -> Any:
        """The value in force."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPorts:
    """What it works with.  ``zone``: the person's, in which days are counted."""

    store: Storage
    folder: Path
    settings: SettingsPort
    redactor: RedactorPort
    zone: Callable[[], tzinfo]
    wall: WallClock = system_wall_clock


class TextLog:
    """The text log.  ``sync`` and ``rewrite`` may be called at any time; one works at a time."""

    def __init__(self, ports: LogPorts, executor: Executor | None = None) -> None:
        self._ports = ports
        self._executor = executor or ThreadExecutor(1)
        self._lock = trio.Lock()
        self._after: int | None = None  # the last event that has a line, or needs none; None before the first look
        self._zone = ""

    @property
    def on(self) -> bool:
        """Whether it is wanted."""
        return bool(self._ports.settings.get(TEXTLOG))

    async def sync(self) -> None:
        """Add what was said since; where it is switched off, take the files away.  Failures are logged."""
        try:
            async with self._lock:
                await self._sync()
        except HomedError as error:
            log.warning("the text log lags behind: %s", error.message)

    async def _sync(self) -> None:
        if not self.on:
            self._after = None
            await self._do(partial(files.clear, self._ports.folder))
            return
        zone = self._ports.zone()
        if self._zone != str(zone) and self._zone:
            await self._rewrite()  # days begin at other times now
        first, since = self._since(zone)
        if self._after is None:
            self._after = await self._do(partial(files.mend, self._ports.folder)) or await self._start(since)
        await self._do(partial(files.drop_before, self._ports.folder, first))
        self._zone = str(zone)
        while True:
            found, upto, more = await self._ports.store.read(partial(_page, after=self._after))
            by_day = self._by_day(found, since, zone)
            most = int(self._ports.settings.get(TEXTLOG_BYTES))
            await self._do(partial(files.append, self._ports.folder, by_day, most))
            self._after = upto
            if not more:
                return

    async def rewrite(self) -> None:
        """Make every file anew: once this returns, nothing is in them that is not in the events.

        Raises StorageError.  Cancelled: each file is as it was or as it is to be.
        """
        async with self._lock:
            if self.on:
                await self._rewrite()
            else:
                await self._do(partial(files.clear, self._ports.folder))

    async def _rewrite(self) -> None:
        zone = self._ports.zone()
        _, since = self._since(zone)
        after, more = await self._start(since), True
        anew = files.Anew(self._ports.folder, int(self._ports.settings.get(TEXTLOG_BYTES)))
        try:
            while more:
                found, after, more = await self._ports.store.read(partial(_page, after=after))
                await self._do(partial(anew.add, self._by_day(found, since, zone)))
            await self._do(anew.place)
        except BaseException:
            with trio.move_on_after(DROP_LIMIT, shield=True):
                await self._do(anew.drop)
            raise
        self._after, self._zone = after, str(zone)

    def _by_day(self, found: Collection[Event], since: float, zone: tzinfo) -> dict[str, list[str]]:
        by_day: dict[str, list[str]] = {}
        for event in found:
            if event.created_at >= since:
                by_day.setdefault(day_of(event.created_at, zone), []).append(line(event, self._ports.redactor))
        return by_day

    def _since(self, zone: tzinfo) -> tuple[str, float]:
        """The first day that is kept, and when it began."""
        today = date.fromisoformat(day_of(self._ports.wall(), zone))
        first = (today - timedelta(days=int(self._ports.settings.get(TEXTLOG_DAYS)) - 1)).isoformat()
        return first, bounds(first, zone)[0]

    async def _start(self, since: float) -> int:
        """The number before the first event of the days that are kept."""

        def read(tx: Tx) -> int:
            first = tx.value("SELECT min(seq) FROM events WHERE created_at >= ?", (since,))
            return int(first) - 1 if first else int(tx.value("SELECT coalesce(max(seq), 0) FROM events"))

        return await self._ports.store.read(read)

    async def _do(self, work: Callable[[], Any]) -> Any:
        try:
            return await self._executor.run(work)
        except OSError as error:
            raise StorageError(
                f"The text log cannot be written: {error.strerror}.", hint=f"Look at {self._ports.folder}."
            ) from error


def _page(tx: Tx, *, after: int) -> tuple[list[Event], int, bool]:
    """The next events that have a line, up to which number that is all of them, and whether there are more."""
    running = tx.value(
        "SELECT min(e.seq) FROM inputs i JOIN events e ON e.turn = i.turn WHERE i.outcome IS NULL AND i.turn <> ''"
    )
    end = int(tx.value("SELECT coalesce(max(seq), 0) FROM events")) if running is None else int(running) - 1
    end = min(end, after + SKIPPED)
    rows = tx.all(
        f"SELECT {table.COLUMNS} FROM events WHERE seq > ? AND seq <= ? AND scope <> '' AND {LOGGED}"
        f" AND {table.NOT_REMOVED} ORDER BY seq LIMIT ?",
        (after, end, PAGE),
    )
    found = [table.from_row(row) for row in rows]
    upto = found[-1].seq if len(found) == PAGE else max(after, end)
    last = int(tx.value("SELECT coalesce(max(seq), 0) FROM events")) if running is None else int(running) - 1
    return found, upto, upto < last
