"""Keeping house: windows, the database, backups."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

import pytest
import trio

from homed.errors import StorageError
from homed.jobs import upkeep
from homed.jobs.book import Counts
from homed.jobs.due import Nightly
from homed.jobs.job import Job, JobPorts, Run
from homed.memory import injections, inputs
from homed.memory.injections import Injection, Line
from homed.memory.records import NewInput
from homed.store.db import Store, open_store
from homed.store.rows import ReadOnly, Storage, Tx
from tests.homed.jobs.running import Desk, Turns
from tests.homed.store.files import make_store


async def done(job: Job, store: Storage) -> Counts:
    """One run of it."""
    ports = JobPorts(store=store, wall=lambda: 1e9, zone=lambda: UTC, turns=Turns())
    run = Run(job, ports, {})
    await job.work(run)
    return run.counts


def night() -> Nightly:
    return Nightly(3, 30)


def maintenance(store: Store, days: int = 90) -> Job:
    return upkeep.maintenance(store, night, local=True, wall=lambda: 1e9, ledger_days=lambda: days)


class Windows:
    """Two crowded scopes."""

    def __init__(self) -> None:
        self.tidied: list[str] = []

    async def crowded(self) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        return ["group:1", "owner"]

    async def tidy(self, scope: str) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        self.tidied.append(scope)
        return ["ev1", "ev2"] if scope == "owner" else []


async def test_the_heartbeat_tidies_every_crowded_scope_and_counts_what_sank() -> None:
    windows = Windows()
    counts = await done(upkeep.prune(windows), Desk().store)
    assert windows.tidied == ["group:1", "owner"]
    assert (counts.seen, counts.made) == (2, 2)


async def test_a_sound_database_is_read_through_and_its_log_put_away(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(lambda tx: tx.execute("INSERT INTO seeds VALUES ('a', 1.0)"))
        assert path.with_name("homed.db-wal").stat().st_size > 0
        counts = await done(maintenance(store), store)
        assert path.with_name("homed.db-wal").stat().st_size == 0
        assert (counts.seen, counts.errors, counts.drops) == (4, 0, {})
        assert store.damage is None


async def test_damage_that_nobody_met_yet_is_found_at_night(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    await make_store(path)
    async with open_store(path) as store:
        assert store.damage is None
        root = await store.read(lambda tx: tx.value("SELECT rootpage FROM sqlite_schema WHERE name = 'seeds'"))
        await store.empty_log()
        with path.open("r+b") as file:
            file.seek((root - 1) * 4096)
            file.write(b"\xff" * 4096)
        job = maintenance(store)
        try:
            counts = await done(job, store)
        except StorageError:  # met by a read already
            counts = Counts(errors=1)
        assert counts.errors == 1
        with trio.fail_after(60):
            await store.wait_damaged()
        with pytest.raises(ReadOnly):
            await store.write(lambda tx: None)


async def test_a_rule_that_is_broken_is_an_error_and_no_damage(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:

        def broken(tx: Tx) -> None:
            tx.execute("INSERT INTO threads VALUES ('t', 'owner', 'cli', '', 1.0, 1.0)")
            tx.execute(
                "INSERT INTO events (id, scope, thread, channel, kind, text, created_at, layer)"
                " VALUES ('e', 'owner', 't', 'cli', 'user', 'x', 1.0, 'cold')"
            )
            tx.execute(
                "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at)"
                " VALUES ('b', 'h', 'image/png', 1, 'e', 1.0)"
            )

        await store.write(broken)
        counts = await done(maintenance(store), store)
        assert counts.errors >= 1
        assert store.damage is None


async def test_a_backup_is_made_as_long_as_any_are_kept() -> None:
    kept, made = [3], list[int]()

    async def make(keep: int) -> None:
        await trio.lowlevel.checkpoint()
        made.append(keep)

    job = upkeep.backup(make, lambda: kept[0], night)
    assert job.schedule() == night()
    counts = await done(job, Desk().store)
    assert (made, counts.made) == ([3], 1)
    kept[0] = 0
    assert job.schedule() is None


async def test_vectors_that_failed_are_tried_again() -> None:
    class Index:
        woken = 0

        def wake(self) -> None:
            self.woken += 1

        async def retry(self) -> int:
            await trio.lowlevel.checkpoint()
            return 4

    index = Index()
    counts = await done(upkeep.reindex(index), Desk().store)
    assert (counts.seen, index.woken) == (4, 1)


@pytest.mark.parametrize(("days", "left"), [(90, 3), (30, 2), (365, 4)])
async def test_the_ledger_is_kept_for_as_many_days_as_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, left: int
) -> None:
    monkeypatch.setattr(upkeep, "PORTION", 2)
    ages = (0.0, 29.9, 60.0, 100.0, *[400.0] * 5)

    def fill(tx: Tx) -> None:
        tx.execute("INSERT INTO threads (id, scope, channel, created_at, updated_at) VALUES ('h', 'owner', 'c', 1, 1)")
        given, _ = inputs.accept(tx, NewInput("h", "owner", "c", "c:o", "owner", "hi"), at=1.0)
        inputs.begin(tx, given.id, turn="t", at=1.0)
        tx.many(
            "INSERT INTO ledger (turn, scope, thread, kind, at, data) VALUES ('t', 'owner', 'h', 'recall', ?, '{}')",
            [(1e9 - age * 86_400,) for age in ages],
        )
        for number, age in enumerate(ages):
            line = Line(f"fact_{number}", "fact")
            injections.record(tx, Injection("t", "owner", "h", 1e9 - age * 86_400, "hit", 1, lines=(line,)))

    async with open_store(tmp_path / "homed.db") as store:
        await store.write(fill)
        counts = await done(maintenance(store, days), store)
        for table in ("ledger", "injections", "injected"):
            assert await store.read(lambda tx, of=table: tx.value(f"SELECT count(*) FROM {of}")) == left  # type: ignore[misc]
        assert (counts.made, counts.errors) == (2 * (len(ages) - left), 0)
