"""The one writer: transactions are queued, run in batches, and answered after COMMIT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw
import outcome
import trio

from homed.failpoints import Failpoints
from homed.store import problems
from homed.store.connection import Transaction
from homed.store.executors import Executor
from homed.store.gate import Gate, OpenGate
from homed.store.rows import Tx
from homed.store.scrubbing import PAGES, scrub

T = TypeVar("T")

MAX_BATCH = 64
"""Most transactions in one COMMIT: so many share one fsync, and a crash before it takes back no more.

The queue is as long, so that a batch can gather while one is committed; when it is full ``write`` waits (backpressure).
"""


class _Job(Generic[T]):
    __slots__ = ("answer", "done", "fn", "started", "withdrawn")

    def __init__(self, fn: Callable[[Tx], T]) -> None:
        self.fn = fn
        self.done = trio.Event()
        self.answer: outcome.Maybe[T] = outcome.Error(problems.closed())
        self.started = False
        self.withdrawn = False


class Writer:
    """Owns the writing connection.  ``run`` is its task; it returns when the queue is closed and empty."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: Path,
        executor: Executor,
        failpoints: Failpoints,
        gate: Gate | None = None,
    ) -> None:
        self._connection = connection
        self._path = path
        self._executor = executor
        self._failpoints = failpoints
        self._gate = gate or OpenGate()
        self._refused: Callable[[], Exception] | None = None
        self._in_hand = trio.Lock()  # one batch, or whoever waits for there to be none
        self._send, self._receive = trio.open_memory_channel[_Job[Any]](MAX_BATCH)

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See ``Store.write``."""
        job = _Job(fn)
        try:
            await self._send.send(job)
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            raise problems.closed() from None
        try:
            await job.done.wait()
        except trio.Cancelled:
            job.withdrawn = not job.started
            raise
        return job.answer.unwrap()

    async def empty_log(self) -> bool:
        """See ``Store.empty_log``."""
        async with self._in_hand, self._gate.writing():
            return self._refused is None and await self._executor.run(self._empty_log)

    def _empty_log(self) -> bool:
        if self._connection.pragma("journal_mode") != "wal":
            return True  # a rollback journal goes with its transaction
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        return True

    async def scrub(self, pages: Collection[int] | None) -> int | None:
        """See ``Store.scrub``; holds the writer for some pages at a time."""
        total, wanted = 0, list(pages) if pages is not None else None
        for at in count(0, PAGES):
            if wanted is not None and at >= len(wanted):
                return total
            async with self._in_hand, self._gate.writing():
                if self._refused is not None:
                    return None
                some = wanted[at : at + PAGES] if wanted is not None else range(at + 1, at + 1 + PAGES)
                done = await self._executor.run(partial(self._scrub, some))
            if done is None:
                return None
            found, over = done
            total += found
            if over and wanted is None:
                return total
        raise AssertionError("a count does not end")

    def _scrub(self, pages: Sequence[int]) -> tuple[int, bool] | None:
        with problems.translated(self._path):
            return scrub(self._connection, self._path, pages) if self._empty_log() else None

    async def refuse(self, why: Callable[[], Exception]) -> None:
        """From now on nothing is written: every job gets ``why()``.  Returns once the batch in hand is over."""
        self._refused = why
        async with self._in_hand:
            pass

    def close(self) -> None:
        """Take no more; ``run`` commits what is queued and returns."""
        self._send.close()

    async def run(self) -> None:
        """Commit batches until closed.  Cancelled: the batch in hand is finished, what waits is answered "closed"."""
        try:
            async for job in self._receive:
                await self._commit([job, *self._queued(MAX_BATCH - 1)])
        finally:
            for job in self._queued(None):
                job.done.set()
            self._receive.close()

    def _queued(self, most: int | None) -> list[_Job[Any]]:
        jobs: list[_Job[Any]] = []
        while most is None or len(jobs) < most:
            try:
                jobs.append(self._receive.receive_nowait())
            except (trio.WouldBlock, trio.EndOfChannel):
                break
        return jobs

    async def _commit(self, jobs: Sequence[_Job[Any]]) -> None:
        batch = [job for job in jobs if not job.withdrawn]
        if not batch:
            return
        for job in batch:
            job.started = True
        try:
            async with self._in_hand:
                answers = await self._answer([job.fn for job in batch])
            for job, answer in zip(batch, answers, strict=True):
                job.answer = answer
        finally:
            for job in batch:
                job.done.set()

    async def _answer(self, fns: Sequence[Callable[[Tx], Any]]) -> list[outcome.Maybe[Any]]:
        async with self._gate.writing():
            if self._refused is not None:
                return [outcome.Error(self._refused()) for _ in fns]
            return await self._executor.run(lambda: self._transact(fns))

    def _transact(self, fns: Sequence[Callable[[Tx], Any]]) -> list[outcome.Maybe[Any]]:
        """Run the functions, each in a SAVEPOINT, and COMMIT.  One answer for each; all errors if the COMMIT fails."""
        committed: outcome.Maybe[list[outcome.Maybe[Any]]] = outcome.capture(self._run_all, fns)
        if isinstance(committed, outcome.Value):
            return committed.value
        if not isinstance(committed.error, Exception):
            raise committed.error
        return [outcome.Error(problems.rolled_back(self._path, committed.error)) for _ in fns]

    def _run_all(self, fns: Sequence[Callable[[Tx], Any]]) -> list[outcome.Maybe[Any]]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            answers = [self._run_one(fn) for fn in fns]
            self._failpoints.reach("store.before_commit")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._failpoints.reach("store.after_commit")
        return answers

    def _run_one(self, fn: Callable[[Tx], Any]) -> outcome.Maybe[Any]:
        connection = self._connection
        tx = Transaction(connection, self._path)
        connection.execute("SAVEPOINT job")
        answer: outcome.Maybe[Any] = outcome.capture(fn, tx)
        tx.end()
        if not connection.in_transaction:  # SQLite took the whole transaction back: disk full, damage
            raise answer.error if isinstance(answer, outcome.Error) else RuntimeError("it ended its transaction")
        if isinstance(answer, outcome.Error):
            connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return answer
