"""One writer: batches, each transaction alone in its SAVEPOINT, an answer only after COMMIT."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event as ThreadEvent
from typing import TypeVar

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import NotFound, StorageError
from homed.store.db import open_store
from homed.store.executors import InlineExecutor, ThreadExecutor
from homed.store.rows import Tx
from homed.store.writer import MAX_BATCH
from tests.homed.store.files import count, put
from tests.kit.failpoints import RaiseAt, Recorder

pytestmark = pytest.mark.usefixtures("either_journal")

T = TypeVar("T")


class Gate(InlineExecutor):
    """Runs nothing while ``shut``."""

    def __init__(self) -> None:
        self.open = trio.Event()
        self.open.set()

    def shut(self) -> None:
        self.open = trio.Event()

    async def run(self, fn: Callable[[], T]) -> T:
        with trio.CancelScope(shield=True):  # as a thread would: once begun, it ends
            await self.open.wait()
        return fn()


async def test_a_write_returns_what_its_function_returned(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        assert await store.write(lambda tx: tx.value("SELECT 41 + 1")) == 42


async def test_a_failing_transaction_is_rolled_back_alone_and_its_error_comes_to_its_caller(tmp_path: Path) -> None:
    gate = Gate()
    errors: list[NotFound] = []

    async with open_store(tmp_path / "homed.db", executor=gate) as store:

        async def failing() -> None:
            def fails(tx: Tx) -> None:
                put("lost")(tx)
                raise NotFound("no such thing")

            try:
                await store.write(fails)
            except NotFound as error:
                errors.append(error)

        gate.shut()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.write, put("a"))
            nursery.start_soon(failing)
            nursery.start_soon(store.write, put("b"))
            await wait_all_tasks_blocked()
            gate.open.set()
        keys = await store.read(lambda tx: tx.all("SELECT key FROM settings ORDER BY key"))
    assert keys == [("a",), ("b",)]
    assert [error.message for error in errors] == ["no such thing"]


async def test_what_waits_is_committed_together_and_never_more_than_the_bound(tmp_path: Path) -> None:
    gate, recorder = Gate(), Recorder()
    async with open_store(tmp_path / "homed.db", executor=gate, failpoints=recorder) as store:
        gate.shut()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.write, put("first"))
            await wait_all_tasks_blocked()
            for n in range(2 * MAX_BATCH):
                nursery.start_soon(store.write, put(f"k{n}"))
            await wait_all_tasks_blocked()
            gate.open.set()
        assert await store.read(count) == 1 + 2 * MAX_BATCH
    assert recorder.reached.count("store.after_commit") == 3  # the first alone, then two full batches


async def test_writes_of_one_task_are_done_in_order_and_seen_by_its_next_read(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        for n in range(10):
            await store.write(put(f"k{n}"))
            assert await store.read(count) == n + 1


async def test_a_failing_commit_fails_every_transaction_of_the_batch_and_stores_nothing(tmp_path: Path) -> None:
    gate = Gate()
    errors: list[StorageError] = []
    failing = RaiseAt("store.before_commit", OSError(28, "No space left on device"))
    async with open_store(tmp_path / "homed.db", executor=gate, failpoints=failing) as store:

        async def write(key: str) -> None:
            try:
                await store.write(put(key))
            except StorageError as error:
                errors.append(error)

        gate.shut()
        async with trio.open_nursery() as nursery:
            for key in "abc":
                nursery.start_soon(write, key)
            await wait_all_tasks_blocked()
            gate.open.set()
        # The first was in a batch of its own, as the writer took it before the others came.
        assert [error.detail["reason"] for error in errors] == ["full"] * len(errors)
        stored = await store.read(count)
        assert len(errors) + stored == 3
        assert errors
        await store.write(put("later"))
        assert await store.read(count) == stored + 1


async def test_errors_of_a_failed_batch_are_objects_of_their_own(tmp_path: Path) -> None:
    gate = Gate()
    errors: list[StorageError] = []
    failing = RaiseAt("store.before_commit", RuntimeError("pulled the plug"), nth=2)
    async with open_store(tmp_path / "homed.db", executor=gate, failpoints=failing) as store:

        async def write(key: str) -> None:
            try:
                await store.write(put(key))
            except StorageError as error:
                errors.append(error)

        gate.shut()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, "first")
            await wait_all_tasks_blocked()
            for key in "abc":
                nursery.start_soon(write, key)
            await wait_all_tasks_blocked()
            gate.open.set()
        assert await store.read(count) == 1
    assert len(errors) == len({id(error) for error in errors}) == 3
    assert all("pulled the plug" in error.message for error in errors)


async def test_cancelled_while_queued_is_withdrawn(tmp_path: Path) -> None:
    gate = Gate()
    async with open_store(tmp_path / "homed.db", executor=gate) as store:
        gate.shut()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.write, put("first"))
            await wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                nursery.start_soon(_cancel_when_blocked, scope, gate)
                await store.write(put("withdrawn"))
            assert scope.cancelled_caught
        assert await store.read(count) == 1


async def _cancel_when_blocked(scope: trio.CancelScope, gate: Gate) -> None:
    await wait_all_tasks_blocked()
    scope.cancel()
    await wait_all_tasks_blocked()
    gate.open.set()


async def test_cancelled_after_it_started_it_is_committed_though_nobody_waits(tmp_path: Path) -> None:
    gate = Gate()
    async with open_store(tmp_path / "homed.db", executor=gate) as store:
        gate.shut()
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                nursery.start_soon(_cancel_when_blocked, scope, gate)
                await store.write(put("started"))
        assert scope.cancelled_caught
        assert await store.write(count) == 1


async def test_a_full_queue_makes_the_next_write_wait_and_cancelling_that_leaves_nothing(tmp_path: Path) -> None:
    gate = Gate()
    async with open_store(tmp_path / "homed.db", executor=gate) as store:
        gate.shut()
        async with trio.open_nursery() as nursery:
            for n in range(MAX_BATCH * 2 + 1):
                nursery.start_soon(store.write, put(f"k{n}"))
                await wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                nursery.start_soon(_cancel_when_blocked, scope, gate)
                await store.write(put("one too many"))
        assert await store.read(count) == MAX_BATCH * 2 + 1


async def test_a_tx_kept_after_its_function_is_dead(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        kept = await store.write(lambda tx: tx)
        with pytest.raises(RuntimeError, match="over"):
            kept.value("SELECT 1")


async def test_a_wrong_statement_is_a_storage_error_and_the_store_goes_on(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        with pytest.raises(StorageError, match="no such table: nowhere"):
            await store.write(lambda tx: tx.execute("DELETE FROM nowhere"))
        await store.write(put("k"))


async def test_a_function_that_ends_the_transaction_is_refused_clearly(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        with pytest.raises(StorageError, match="ended its transaction"):
            await store.write(lambda tx: tx.execute("ROLLBACK"))
        await store.write(put("k"))
        assert await store.read(count) == 1


async def test_the_writer_runs_off_the_event_loop(tmp_path: Path) -> None:
    """A slow disk must not stop the loop: while one transaction hangs, tasks run."""
    release, released = ThreadEvent(), list[bool]()
    async with open_store(tmp_path / "homed.db") as store, trio.open_nursery() as nursery:
        nursery.start_soon(store.write, lambda tx: released.append(release.wait(10)))
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        release.set()
    assert released == [True], "not by the end of its patience"


async def test_many_transactions_share_commits(tmp_path: Path) -> None:
    recorder = Recorder()
    async with (
        open_store(tmp_path / "homed.db", executor=ThreadExecutor(4), failpoints=recorder) as store,
        trio.open_nursery() as nursery,
    ):
        for n in range(500):
            nursery.start_soon(store.write, put(f"k{n}"))
    assert recorder.reached.count("store.after_commit") < 250


async def test_under_mock_clock_an_inline_store_never_lets_time_jump(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_store(tmp_path / "homed.db", executor=InlineExecutor()) as store:
        began = trio.current_time()
        await store.write(put("k"))
        assert await store.read(count) == 1
        assert trio.current_time() == began
