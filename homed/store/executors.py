"""Where the store's blocking work runs: in threads, or inline under MockClock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import trio

T = TypeVar("T")


class Executor(Protocol):
    """Runs one blocking function to its end."""

    async def run(self, fn: Callable[[], T]) -> T:
        """Run ``fn`` and return its result.  A checkpoint.

        Cancelled before ``fn`` began: it never runs.  Once begun it runs to its end, and the result is returned.
        """
        ...


class ThreadExecutor:
    """Runs in Trio's worker threads under a limiter of its own, so that other thread users never starve the store."""

    def __init__(self, threads: int) -> None:
        """``threads``: how many may run at once; one for the writer and one for each reader."""
        self._limiter = trio.CapacityLimiter(threads)

    async def run(self, fn: Callable[[], T]) -> T:
        """See ``Executor.run``."""
        return await trio.to_thread.run_sync(fn, limiter=self._limiter)


class InlineExecutor:
    """Runs on the Trio thread, so that ``MockClock`` with autojump never takes a waiting thread for idle."""

    async def run(self, fn: Callable[[], T]) -> T:
        """See ``Executor.run``."""
        await trio.lowlevel.checkpoint()
        return fn()
