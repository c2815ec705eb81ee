"""Readers: one snapshot each, one borrower a connection, interrupted when nobody waits any more."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event as ThreadEvent

import pytest
import trio

from homed.errors import StorageError
from homed.store.db import Store, open_store
from homed.store.readers import READERS
from homed.store.rows import Tx
from tests.homed.store.conftest import LOCAL
from tests.homed.store.files import count, make_store, put

pytestmark = pytest.mark.usefixtures("either_journal")

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


async def test_a_read_cannot_write(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        with pytest.raises(StorageError):
            await store.read(put("k"))
        assert await store.read(count) == 0


@pytest.mark.parametrize("either_journal", [LOCAL], indirect=True)  # the writer writes meanwhile
async def test_all_statements_of_a_read_see_one_moment(tmp_path: Path) -> None:
    """A write committed between two statements of a read is not seen by the second."""
    entered, go_on = ThreadEvent(), ThreadEvent()

    def twice(tx: Tx) -> tuple[int, int]:
        first = count(tx)
        entered.set()
        assert go_on.wait(60)
        return first, count(tx)

    async with open_store(tmp_path / "homed.db") as store:
        seen: list[tuple[int, int]] = []

        async def read() -> None:
            seen.append(await store.read(twice))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            assert await trio.to_thread.run_sync(entered.wait, 60)
            await store.write(put("k"))
            go_on.set()
        assert seen == [(0, 0)]
        assert await store.read(count) == 1


async def _cancel_soon(store: Store, fn: object) -> float:
    """Seconds between cancelling a read that would never end and its end."""
    running = ThreadEvent()

    def read(tx: Tx) -> None:
        running.set()
        fn(tx)  # type: ignore[operator]

    ended: list[float] = []

    async def reader() -> None:
        try:
            await store.read(read)
        except trio.Cancelled:  # bare: no group around it
            ended.append(time.perf_counter())
            raise

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader)
        assert await trio.to_thread.run_sync(running.wait, 5)
        began = time.perf_counter()
        nursery.cancel_scope.cancel()
    return ended[0] - began


async def test_cancelling_an_endless_scan_ends_it_at_once_and_frees_the_connection(tmp_path: Path) -> None:
    """Measured: a few milliseconds; the bound is wide for a busy machine.  Each connection is used again after it."""
    async with open_store(tmp_path / "homed.db") as store:
        for _ in range(2 * READERS):
            assert await _cancel_soon(store, lambda tx: tx.value(ENDLESS)) < 1.0
        assert [await store.read(count) for _ in range(2 * READERS)] == [0] * 2 * READERS


async def test_cancelling_a_read_of_many_short_statements_ends_it_too(tmp_path: Path) -> None:
    """An interrupt that falls between two statements is forgotten by SQLite, not by us."""

    def busy(tx: Tx) -> None:
        while True:
            tx.value("SELECT 1")

    async with open_store(tmp_path / "homed.db") as store:
        assert await _cancel_soon(store, busy) < 1.0
        assert await store.read(count) == 0


async def test_a_read_beyond_the_pool_waits_and_can_be_cancelled(tmp_path: Path) -> None:
    release = ThreadEvent()
    async with open_store(tmp_path / "homed.db") as store, trio.open_nursery() as nursery:
        for _ in range(READERS):
            nursery.start_soon(store.read, lambda tx: release.wait(5))
        await trio.testing.wait_all_tasks_blocked(0.01)
        with trio.move_on_after(0.02) as scope:
            await store.read(count)
        assert scope.cancelled_caught
        release.set()


async def test_a_read_whose_function_raises_gives_its_connection_back(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        for _ in range(2 * READERS):
            with pytest.raises(ZeroDivisionError):
                await store.read(lambda tx: 1 // 0)
        assert await store.read(count) == 0


async def test_damage_met_while_running_is_a_clear_error_and_other_reads_go_on(tmp_path: Path) -> None:
    """C12: a page that went bad after the start."""
    path = tmp_path / "homed.db"
    await make_store(path, rows=2000)
    async with open_store(path) as store:
        root = await store.read(lambda tx: tx.value("SELECT rootpage FROM sqlite_schema WHERE name = 'settings'"))
        with path.open("r+b") as file:
            file.seek((root - 1) * 4096)
            file.write(b"\xff" * 4096)
        with pytest.raises(StorageError) as caught:
            await store.read(count)
        assert caught.value.detail["reason"] == "corrupt"
        assert caught.value.hint
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM threads")) == 0
