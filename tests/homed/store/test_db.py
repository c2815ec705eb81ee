"""The store's life: open, used, closed with everything that was queued."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import StorageError
from homed.store.db import FLUSH_SECONDS, Store, open_store
from homed.store.executors import InlineExecutor
from tests.homed.store.files import count, put

pytestmark = pytest.mark.usefixtures("either_journal")

T = TypeVar("T")


def rows_in(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        found = connection.execute("SELECT count(*) FROM settings").get
        assert isinstance(found, int)
        return found
    finally:
        connection.close()


async def test_c7_what_is_written_while_everything_around_is_cancelled_is_stored_before_the_store_closes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "homed.db"
    with trio.CancelScope() as scope:
        async with open_store(path) as store:
            try:
                scope.cancel()
                await trio.sleep_forever()
            finally:
                with trio.move_on_after(5, shield=True):
                    await store.write(put("last words"))
    assert rows_in(path) == 1


async def test_what_is_queued_when_the_block_ends_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with trio.open_nursery() as outer, open_store(path) as store:
        for n in range(50):
            outer.start_soon(store.write, put(f"k{n}"))
        await wait_all_tasks_blocked()
    assert rows_in(path) == 50


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        pass
    with pytest.raises(StorageError, match="closed"):
        await store.write(put("k"))
    with pytest.raises(StorageError, match="closed"):
        await store.read(count)


async def test_a_disk_that_hangs_at_the_end_holds_the_exit_no_longer_than_the_limit(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    class Slow(InlineExecutor):
        slow = False

        async def run(self, fn: Callable[[], T]) -> T:
            if self.slow:
                await trio.sleep(60)
            return await super().run(fn)

    executor = Slow()
    refused: list[str] = []

    async def write(store: Store) -> None:
        try:
            await store.write(put("k"))
        except StorageError as error:
            refused.append(error.message)

    async with trio.open_nursery() as outer:
        async with open_store(tmp_path / "homed.db", executor=executor) as store:
            executor.slow = True
            outer.start_soon(write, store)
            outer.start_soon(write, store)
            await wait_all_tasks_blocked()
            ending = trio.current_time()
        assert trio.current_time() - ending <= 2 * FLUSH_SECONDS + 0.1
    assert refused == ["The store is closed."] * 2


async def _fail_inside(path: Path) -> None:
    async with open_store(path) as store:
        await store.write(put("k"))
        raise KeyError("mine")


def test_an_error_in_the_block_closes_the_store_as_well(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        trio.run(_fail_inside, tmp_path / "homed.db")
    assert caught.group_contains(KeyError, match="mine")
    assert [file.name for file in tmp_path.iterdir()] == ["homed.db"]
    assert rows_in(tmp_path / "homed.db") == 1


def test_importing_the_store_is_light() -> None:
    """No room pulls in apsw or a web stack by importing ``rows``; the store itself loads nothing it does not need."""
    code = (
        "import sys; import homed.store.rows; import homed.memory.window; assert 'apsw' not in sys.modules;"
        "import homed.store.db; heavy = {'numpy', 'pydantic', 'jsonschema', 'httpx2', 'quart', 'asyncio'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
