"""The store: one SQLite file, one writer, a pool of readers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import apsw
import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.store.connection import open_reader, open_writer
from homed.store.executors import Executor, ThreadExecutor
from homed.store.readers import READERS, ReaderPool
from homed.store.rows import Tx
from homed.store.writer import Writer

T = TypeVar("T")

FLUSH_SECONDS = 3.0
"""How long the writer may take at the end to commit what is queued."""

CLOSE_SECONDS = 3.0
"""How long closing the connections (and with it the last checkpoint) may wait for its turn."""


class Store:
    """Two verbs.  Both take a plain function of a ``Tx`` that neither waits nor keeps the ``Tx`` after it returned."""

    def __init__(self, path: Path, writer: Writer, readers: ReaderPool) -> None:
        self.path = path
        self._writer = writer
        self._readers = readers

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a SAVEPOINT of its own and return its result once it is committed and on the disk.

        If ``fn`` raises, what it did is rolled back and the exception comes here; others of the batch are not touched.
        Raises StorageError when the batch cannot be committed: then nothing of it is stored.  Writes are done in the
        order they were asked for.

        Cancelled while still queued: it is withdrawn and never runs.  Cancelled once it has started: it may be
        committed though the caller is gone.
        """
        return await self._writer.write(fn)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on a snapshot of what is committed and return its result.  Writing in it raises StorageError.

        Cancelled: the running statement is interrupted, and the connection is ready for the next read.
        """
        return await self._readers.read(fn)


@asynccontextmanager
async def open_store(
    path: Path, *, executor: Executor | None = None, failpoints: Failpoints | None = None
) -> AsyncIterator[Store]:
    """Open, create or migrate the database at ``path`` for the length of the block.

    Raises StorageError, with the file left as it was, when it is damaged, not a database, another program's, of a
    newer schema, or cannot be written.  At the end, also when cancelled, what is queued is still committed, within
    ``FLUSH_SECONDS``.
    """
    runs = executor or ThreadExecutor(1 + READERS)
    connections = await runs.run(lambda: _open_all(path))
    writer = Writer(connections[0], path, runs, failpoints or NoFailpoints())
    readers = ReaderPool(connections[1:], path, runs)
    # Cancelling what surrounds the store must not stop its writer before the block has ended: last words need it.
    flush = trio.CancelScope(shield=True)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, writer, flush)
            try:
                yield Store(path, writer, readers)
            finally:
                writer.close()
                flush.deadline = trio.current_time() + FLUSH_SECONDS
    finally:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await readers.aclose()
            await runs.run(connections[0].close)


async def _serve(writer: Writer, scope: trio.CancelScope) -> None:
    with scope:
        await writer.run()


def _open_all(path: Path) -> list[apsw.Connection]:
    connections = [open_writer(path)]
    try:
        connections.extend(open_reader(path) for _ in range(READERS))
    except BaseException:
        for connection in connections:
            connection.close()
        raise
    return connections
