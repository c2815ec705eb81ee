"""Both executors keep the same promise: not begun when cancelled before, ended once begun."""

from __future__ import annotations

from threading import Event as ThreadEvent
from threading import get_ident

import pytest
import trio

from homed.store.executors import Executor, InlineExecutor, ThreadExecutor

BOTH = pytest.mark.parametrize("executor", [InlineExecutor(), ThreadExecutor(1)], ids=["inline", "thread"])


@BOTH
async def test_the_result_comes_back_and_so_does_the_error(executor: Executor) -> None:
    assert await executor.run(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        await executor.run(lambda: 1 // 0)


@BOTH
async def test_cancelled_before_it_began_it_never_runs(executor: Executor) -> None:
    ran: list[int] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        await executor.run(lambda: ran.append(1))
    assert scope.cancelled_caught
    assert ran == []


async def test_a_thread_once_begun_runs_to_its_end_and_its_result_is_kept() -> None:
    begun, go_on = ThreadEvent(), ThreadEvent()
    results: list[int] = []

    def work() -> int:
        begun.set()
        go_on.wait(5)
        return 7

    async def caller() -> None:
        results.append(await ThreadExecutor(1).run(work))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(caller)
        await trio.to_thread.run_sync(begun.wait, 5)
        nursery.cancel_scope.cancel()
        go_on.set()
    assert results == [7]


async def test_inline_means_on_the_loops_own_thread() -> None:
    assert await InlineExecutor().run(get_ident) == get_ident()
    assert await ThreadExecutor(1).run(get_ident) != get_ident()
