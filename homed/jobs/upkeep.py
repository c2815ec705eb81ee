"""The jobs that keep house: windows past their mark, the database, backups."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from homed.clock import WallClock
from homed.jobs.due import Interval, Nightly, Schedule
from homed.jobs.job import Job, Run
from homed.memory import injections, ledger
from homed.store import examine
from homed.store.rows import Damaged, Storage, Tx

log = logging.getLogger(__name__)

PRUNE = 1800.0
"""Seconds between two heartbeats: a turn brings its own window down, so this is for what kept it from doing so."""


DAY = 86_400.0

PORTION = 500
"""Records of the ledger that one transaction deletes."""

REINDEX = 6 * 3600.0
"""Seconds: an endpoint that was down is mostly up again then."""


class SinkingPort(Protocol):
    """``homed.agent.sinking.Sinking``."""

    async def crowded(self) -> Sequence[str]:
        """Scopes whose window is past its mark."""
        ...

    async def tidy(self, scope: str) -> Sequence[str]:
        """Sink what is least relevant of it; the ids."""
        ...


class IndexPort(Protocol):
    """``homed.retrieval.dense.DenseIndex``."""

    def wake(self) -> None:
        """Look for what is to be done."""
        ...

    async def retry(self) -> int:
        """Try again what failed; how many."""
        ...


class StorePort(Storage, Protocol):
    """``homed.store.db.Store``, as far as it is looked after here."""

    def found_damaged(self, error: Damaged) -> None:
        """Store nothing from now on."""
        ...


def prune(sinking: SinkingPort) -> Job:
    """Windows that are past their mark though no turn came to bring them down."""

    async def work(run: Run) -> None:
        for scope in await sinking.crowded():
            run.seen()
            await run.between()
            run.made(len(await sinking.tidy(scope)))

    return Job("prune", lambda: Interval(PRUNE), work)


def reindex(index: IndexPort) -> Job:
    """The vectors look after their index by themselves, whenever something is stored; this is for what nobody stores:
    texts whose vector failed to be made are tried again, and the index is looked at."""

    async def work(run: Run) -> None:
        run.seen(await index.retry())
        index.wake()

    return Job("reindex", lambda: Interval(REINDEX), work)


def maintenance(
    store: StorePort, night: Callable[[], Nightly], *, local: bool, wall: WallClock, ledger_days: Callable[[], int]
) -> Job:
    """Once a night: what is older in the ledger than ``ledger_days`` goes, what SQLite knows of its indexes is brought
    up to date, the log goes into the file, and the file is read through.  Damage makes homed read-only, as if it had
    been met in use.

    ``local`` False (a disk elsewhere): without a log a reader keeps everybody from storing, so the look is a quick one.
    """

    async def work(run: Run) -> None:
        await _forget_ledger(run, store, wall() - ledger_days() * DAY)
        await store.write(_optimize)
        run.seen()
        await run.between()
        if not await store.empty_log():
            run.dropped("log_in_use")
        run.seen()
        await run.between()
        found = await store.read(lambda tx: examine.damage_of(tx, deep=local))
        run.seen()
        if found:
            run.failed("damage")
            store.found_damaged(Damaged(found[0].splitlines()[-1]))
            return
        await run.between()
        broken = await store.read(examine.broken_rules)
        run.seen()
        for rule in broken:
            log.error("the database is sound, but this does not hold: %s", rule)
            run.failed(rule)

    return Job("maintenance", night, work, heavy=True)


async def _forget_ledger(run: Run, store: Storage, before: float) -> None:
    """Looked for by a reader, and deleted in small portions: nobody who stores waits for it."""
    for table in (ledger, injections):
        while gone := await store.read(lambda tx, of=table: of.older(tx, before, PORTION)):  # type: ignore[misc]
            await run.between()
            await store.write(lambda tx, of=table, seqs=gone: of.drop(tx, seqs))  # type: ignore[misc]
            run.made(len(gone))


def _optimize(tx: Tx) -> None:
    tx.execute("PRAGMA optimize")


def backup(make: Callable[[int], Awaitable[None]], keep: Callable[[], int], night: Callable[[], Nightly]) -> Job:
    """Once a night, after the database was looked at: a backup, and of those of before only the newest stay.

    ``make`` gets how many are kept.
    """

    def schedule() -> Schedule | None:
        return night() if keep() > 0 else None

    async def work(run: Run) -> None:
        await make(max(1, keep()))
        run.seen()
        run.made()

    return Job("backup", schedule, work, heavy=True)


def backups_folder(data: Path) -> Path:
    """Where nightly backups lie."""
    return data / "backups"
