"""A bounded pool of reading connections, one borrower at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import apsw
import outcome
import trio

from homed.store import copying, problems
from homed.store.connection import Transaction
from homed.store.executors import Executor
from homed.store.gate import Gate, OpenGate
from homed.store.rows import Reader, Tx

T = TypeVar("T")

READERS = 3
"""Connections in the pool: a page, a turn and a status question at once; more would only contend for two cores."""

_INTERRUPT_SECONDS = 2.0
_INTERRUPT_AGAIN = 0.01


class ReaderPool:
    """Lends each connection to one read at a time; a read beyond that waits its turn."""

    def __init__(
        self, connections: list[apsw.Connection], path: Path, executor: Executor, gate: Gate | None = None
    ) -> None:
        self._path = path
        self._executor = executor
        self._gate = gate or OpenGate()
        self._count = len(connections)
        # As many places as connections: giving one back never waits.
        self._give, self._take = trio.open_memory_channel[apsw.Connection](self._count)
        for connection in connections:
            self._give.send_nowait(connection)
        self._closed = False

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See ``Store.read``."""
        async with self.reader() as reader:
            return await reader.read(fn)

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Reader]:
        """See ``Store.reader``."""
        async with self._borrowed() as connection:
            yield _Borrowed(self, connection)

    async def read_on(self, connection: apsw.Connection, fn: Callable[[Tx], T]) -> T:
        """Read on a connection that is borrowed."""
        async with self._gate.reading():
            reading = _Reading(connection, self._path, fn)
            group: BaseExceptionGroup[BaseException] | None = None
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(reading.interrupt_on_cancel)
                    try:
                        answer = await self._executor.run(reading.run)
                    finally:
                        reading.ended.set()
                        nursery.cancel_scope.cancel()
            except BaseExceptionGroup as caught:
                group = caught
            if group is not None:
                # Callers shall see a bare Cancelled, as from any other call, not the nursery's group of one.
                await trio.lowlevel.checkpoint_if_cancelled()
                raise group
        return answer.unwrap()

    async def copy_to(self, target: Path) -> None:
        """See ``Store.copy_to``."""
        if self._closed:
            raise problems.closed()
        await copying.copy(self._path, target, self._executor, self._gate)

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[apsw.Connection]:
        if self._closed:
            raise problems.closed()
        connection = await self._take.receive()
        try:
            yield connection
        finally:
            self._give.send_nowait(connection)

    async def aclose(self) -> None:
        """Close every connection that is home.  Callers have ended by now, so all are."""
        self._closed = True
        for _ in range(self._count):
            connection = await self._take.receive()
            await self._executor.run(connection.close)


@dataclass(frozen=True, slots=True)
class _Borrowed:
    """A connection for whoever has borrowed it."""

    pool: ReaderPool
    connection: apsw.Connection

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See ``Store.read``."""
        return await self.pool.read_on(self.connection, fn)


class _Reading(Generic[T]):
    """One read: runs in the executor, and is interrupted from the Trio side when its caller is cancelled."""

    def __init__(self, connection: apsw.Connection, path: Path, fn: Callable[[Tx], T]) -> None:
        self._connection = connection
        self._path = path
        self._fn = fn
        self._cancelled = False
        self._over = False
        self.ended = trio.Event()

    def run(self) -> outcome.Maybe[T]:
        """Run the function on one snapshot: everything it reads is of one moment."""
        return outcome.capture(self._snapshot)

    def _snapshot(self) -> T:
        tx = Transaction(self._connection, self._path, cancelled=lambda: self._cancelled)
        with problems.translated(self._path):
            self._connection.execute("BEGIN")
        try:
            return self._fn(tx)
        finally:
            tx.end()
            self._over = True  # before the rollback, so that no late interrupt hits that
            self._roll_back()

    def _roll_back(self) -> None:
        while self._connection.in_transaction:
            with suppress(apsw.InterruptError):
                self._connection.execute("ROLLBACK")

    async def interrupt_on_cancel(self) -> None:
        """Wait to be cancelled.  If the read still runs then, interrupt it until it has ended.

        Again and again, because an interrupt that falls between two statements is forgotten.
        """
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(_INTERRUPT_SECONDS, shield=True):
                while not (self._over or self.ended.is_set()):
                    self._cancelled = True
                    self._connection.interrupt()
                    with trio.move_on_after(_INTERRUPT_AGAIN):
                        await self.ended.wait()
