"""What outlives the daemon of a plugin's past: crashes inside the window, reports, and who wants it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from homed.clock import new_id
from homed.host.states import CrashReport
from homed.store.db import Store
from homed.store.rows import Damaged, Tx, dumps, loads

KEPT_REPORTS = 10

RUN = "run"
ATTENTION = "attention"
OFF = "off"
"""Stored wishes: it should run (also one whose manifest says otherwise) · it gave up · a person stopped it."""


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
