"""What outlives the daemon of a plugin's past: crashes inside the window, reports, and who wants it stopped."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol

import trio

from homed.clock import WallClock, new_id
from homed.errors import HomedError
from homed.host.states import CrashReport
from homed.store.db import Store
from homed.store.rows import Damaged, Tx, dumps, loads

_log = logging.getLogger(__name__)

KEPT_REPORTS = 10
_SAVE_LIMIT = 5.0
"""Seconds for a person's wish to be stored, shielded."""

RUN = "run"
ATTENTION = "attention"
OFF = "off"
DISABLED = "disabled"
"""Stored wishes: it should run (also one whose manifest says otherwise) · it gave up · a person stopped it · a person
disabled it."""


@dataclass(frozen=True, slots=True)
class Past:
    """What the store knows: ``wish`` is one of the above or empty; ``crashes`` are wall-clock seconds, oldest first."""

    wish: str = ""
    reason: str = ""
    crashes: tuple[float, ...] = ()
    reports: tuple[CrashReport, ...] = ()


class History(Protocol):
    """The port through which supervision remembers."""

    async def load(self, plugin: str) -> Past:
        """What is known of a plugin."""
        ...

    async def save(self, plugin: str, past: Past, *, at: float) -> None:
        """Remember wish, reason and crashes (not the reports).  Cancelled, it may be stored or not."""
        ...

    async def report(self, plugin: str, report: CrashReport) -> None:
        """Keep a crash report, and only the last ``KEPT_REPORTS`` of this plugin."""
        ...


class Record:
    """One plugin's past in memory, and the store kept up with it.

    A store that refuses does not take the plugin down with it: it is logged, and what is in memory still holds.
    """

    def __init__(self, plugin: str, store: History, wall: WallClock) -> None:
        self.past = Past()
        self._plugin, self._store, self._wall = plugin, store, wall

    async def load(self) -> Past:
        """Read it, once."""
        self.past = await self._store.load(self._plugin)
        return self.past

    def note(self, **changes: Any) -> None:
        """Change fields of `Past`; in memory at once, in the store with the next `save`."""
        self.past = replace(self.past, **changes)

    async def save(self) -> None:
        """Store wish, reason and crashes."""
        await self._write(self._store.save(self._plugin, self.past, at=self._wall()))

    async def save_wish(self) -> None:
        """Also when whoever asked is gone: a page or a terminal asks for its own end, and is cancelled by it."""
        with trio.move_on_after(_SAVE_LIMIT, shield=True):
            await self.save()

    async def report(self, report: CrashReport) -> None:
        """Keep a crash report."""
        self.past = replace(self.past, reports=(*self.past.reports, report)[-KEPT_REPORTS:])
        await self._write(self._store.report(self._plugin, report))

    async def _write(self, writing: Coroutine[Any, Any, None]) -> None:
        try:
            await writing
        except HomedError as error:
            _log.error("the state of %s could not be stored: %s", self._plugin, error)


class StoredHistory:
    """History in the tables ``plugin_states`` and ``crash_reports``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, plugin: str) -> Past:
        """What is known of a plugin; nothing where that part of the database is damaged."""
        try:
            return await self._store.read(lambda tx: _load(tx, plugin))
        except Damaged:
            return Past()

    async def save(self, plugin: str, past: Past, *, at: float) -> None:
        """Remember wish, reason and crashes."""
        await self._store.write(
            lambda tx: tx.execute(
                "INSERT INTO plugin_states (plugin, state, reason, crashes, updated_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (plugin) DO UPDATE SET state = excluded.state, reason = excluded.reason,"
                " crashes = excluded.crashes, updated_at = excluded.updated_at",
                (plugin, past.wish, past.reason, dumps(list(past.crashes)), at),
            )
        )

    async def report(self, plugin: str, report: CrashReport) -> None:
        """Keep a crash report."""
        await self._store.write(lambda tx: _report(tx, plugin, report))

    async def forget(self, plugin: str) -> None:
        """It was removed: one of the same name later has no past."""
        await self._store.write(lambda tx: _forget(tx, plugin))

    async def pardon(self, plugin: str) -> None:
        """It was replaced: the crashes of the one before do not count, nor that it gave up.  A person's wish stays."""
        await self._store.write(
            lambda tx: tx.execute(
                "UPDATE plugin_states SET crashes = '[]', state = iif(state = ?, ?, state), reason ="
                " iif(state = ?, '', reason) WHERE plugin = ?",
                (ATTENTION, RUN, ATTENTION, plugin),
            )
        )


def _load(tx: Tx, plugin: str) -> Past:
    row = tx.one("SELECT state, reason, crashes FROM plugin_states WHERE plugin = ?", (plugin,))
    reports = tx.all(
        "SELECT at, code, signal, stderr, pending FROM crash_reports WHERE plugin = ?"
        " ORDER BY at DESC, rowid DESC LIMIT ?",
        (plugin, KEPT_REPORTS),
    )
    read = tuple(CrashReport(r[0], r[1], r[2], r[3], tuple(loads(r[4]) or ())) for r in reversed(reports))
    return Past(row[0], row[1], tuple(loads(row[2]) or ()), read) if row else Past(reports=read)


def _report(tx: Tx, plugin: str, report: CrashReport) -> None:
    tx.execute(
        "INSERT INTO crash_reports (id, plugin, at, code, signal, stderr, pending) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            new_id("crash"), plugin, report.at, report.code, report.signal, report.stderr, dumps(list(report.pending)),
        ),
    )  # fmt: skip
    tx.execute(
        "DELETE FROM crash_reports WHERE plugin = ? AND id NOT IN"
        " (SELECT id FROM crash_reports WHERE plugin = ? ORDER BY at DESC, rowid DESC LIMIT ?)",
        (plugin, plugin, KEPT_REPORTS),
    )


def _forget(tx: Tx, plugin: str) -> None:
    tx.execute("DELETE FROM plugin_states WHERE plugin = ?", (plugin,))
    tx.execute("DELETE FROM crash_reports WHERE plugin = ?", (plugin,))
