"""The store: one SQLite file, one writer, a pool of readers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw
import trio

from homed.errors import StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.store.connection import hold_still, open_damaged, open_reader, open_writer
from homed.store.damage import Damage, keep, known
from homed.store.executors import Executor, ThreadExecutor
from homed.store.filesystem import FileSystem, file_system
from homed.store.gate import OpenGate, Turnstile
from homed.store.readers import READERS, ReaderPool
from homed.store.repair import finish_swap, readable
from homed.store.rows import Damaged, Reader, Tx
from homed.store.writer import Writer

PROVIDES = ("store",)
NEEDS = ("config",)

T = TypeVar("T")

_log = logging.getLogger(__name__)

FLUSH_SECONDS = 3.0
"""How long the writer may take at the end to commit what is queued."""

CLOSE_SECONDS = 3.0
"""How long closing the connections (and with it the last checkpoint) may wait for its turn."""


class Store:
    """Two verbs.  Both take a plain function of a ``Tx`` that neither waits nor keeps the ``Tx`` after it returned."""

    def __init__(
        self, path: Path, writer: Writer, readers: ReaderPool, disk: FileSystem, damage: Damage | None = None
    ) -> None:
        self.path = path
        self._disk = disk
        self._writer = writer
        self._readers = readers
        self._damage = damage
        self._words_damaged = False
        self._found, self._kept = trio.Event(), trio.Event()
        if damage is not None:
            self._kept.set()

    @property
    def disk(self) -> FileSystem:
        """What the database lies on."""
        return self._disk

    @property
    def damage(self) -> Damage | None:
        """Set once the database was found damaged, at the start or by a read: from then on nothing is stored."""
        return self._damage

    async def wait_damaged(self) -> Damage:
        """Wait until the database was found damaged and a copy of it is kept (or could not be)."""
        await self._kept.wait()
        assert self._damage is not None
        return self._damage

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a SAVEPOINT of its own and return its result once it is committed and on the disk.

        If ``fn`` raises, what it did is rolled back and the exception comes here; others of the batch are not touched.
        Raises StorageError when the batch cannot be committed: then nothing of it is stored; ``ReadOnly`` at once when
        the database is damaged.  Writes are done in the order they were asked for.

        Cancelled while still queued: it is withdrawn and never runs.  Cancelled once it has started: it may be
        committed though the caller is gone.
        """
        if self._damage is not None:
            await trio.lowlevel.checkpoint()
            raise self._damage.refusal()
        try:
            return await self._writer.write(fn)
        except Damaged as error:
            self.found_damaged(error)
            raise

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on a snapshot of what is committed and return its result.  Writing in it raises StorageError.

        Cancelled: the running statement is interrupted, and the connection is ready for the next read.
        """
        try:
            return await self._readers.read(fn)
        except Damaged as error:
            self.found_damaged(error)
            raise
        except StorageError as error:
            self._words_damaged |= error.detail.get("reason") == "index_damaged"
            raise

    def words_damaged(self) -> bool:
        """Whether a read since the last call found the word index damaged; what is stored is not touched by that."""
        found, self._words_damaged = self._words_damaged, False
        return found

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Reader]:
        """A reading connection for the length of the block, for whoever will hold something others wait for: then it
        is not waited for under that.  Reads on it are as ``read``; one at a time.
        """
        try:
            async with self._readers.reader() as reader:
                yield reader
        except Damaged as error:
            self.found_damaged(error)
            raise

    async def empty_log(self) -> bool:
        """Put everything committed into the database file and empty the log beside it, so that what was deleted is in
        neither.  False when a reader was in the way for longer than the busy time, and when the database is damaged:
        then not even that is written.
        """
        return self._damage is None and await self._writer.empty_log()

    async def copy_to(self, target: Path) -> None:
        """Write a whole copy of this moment to ``target``, which must not be there, without logins and API keys.

        Others write meanwhile; the log is not emptied.  Raises StorageError; then, and when cancelled, what is there of
        ``target`` is worth nothing.
        """
        if self._damage is not None:
            raise self._damage.refusal()
        await self._readers.copy_to(target)

    async def scrub(self, pages: Collection[int] | None = None) -> int | None:
        """Overwrite the free places of these pages (from 1; None: of all), in which bytes of what was deleted may
        stand.

        Returns how many bytes were not zero; None when a reader kept the log from being emptied first: then nothing was
        done.
        """
        return None if self._damage is not None else await self._writer.scrub(pages)

    def found_damaged(self, error: StorageError) -> None:
        """Store nothing from now on, because of ``error``.  The first finding counts."""
        if self._damage is None:
            self._damage = Damage(self.path, error.message)
            self._found.set()

    async def keep_aside(self, executor: Executor, stop: Callable[[], bool]) -> None:
        """If damage is met, keep a copy of the file; runs as long as the store.  ``stop``: give up copying."""
        await self._found.wait()
        damage = self._damage
        assert damage is not None
        await self._writer.refuse(damage.refusal)
        self._damage = await executor.run(lambda: keep(damage, cancelled=stop))
        self._kept.set()


@dataclass(frozen=True, slots=True)
class _Opened:
    """The connections, the writer's first.  ``damage``: why nothing may be written."""

    connections: list[apsw.Connection]
    disk: FileSystem
    damage: Damage | None = None

    def close_writer(self, *, still: bool) -> None:
        if still:
            hold_still(self.connections[0])
        self.connections[0].close()


@asynccontextmanager
async def open_store(
    path: Path,
    *,
    executor: Executor | None = None,
    failpoints: Failpoints | None = None,
) -> AsyncIterator[Store]:
    """Open, create or migrate the database at ``path`` for the length of the block.

    Damaged: it opens, what can be saved of it is read, and every write raises ``ReadOnly`` (see ``Store.damage``).
    Raises StorageError, with the file left as it was, when it is not a database, another
    program's, of a newer schema, or cannot be written.  At the end, also when cancelled, what is queued is still
    committed, within ``FLUSH_SECONDS``.
    """
    # One thread more than connections: a copy of a damaged file must not keep anybody from reading.
    runs = executor or ThreadExecutor(2 + READERS)
    opened = await runs.run(lambda: _open_all(path, file_system(path.parent)))
    gate = OpenGate() if opened.disk.local else Turnstile(READERS)
    writer = Writer(opened.connections[0], path, runs, failpoints or NoFailpoints(), gate)
    readers = ReaderPool(opened.connections[1:], path, runs, gate)
    store = Store(path, writer, readers, opened.disk, opened.damage)
    # Cancelling what surrounds the store must not stop its writer before the block has ended: last words need it.
    flush = trio.CancelScope(shield=True)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, writer, flush)
            nursery.start_soon(store.keep_aside, runs, lambda: flush.deadline < float("inf"))
            try:
                yield store
            finally:
                writer.close()
                flush.deadline = trio.current_time() + FLUSH_SECONDS
                nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await readers.aclose()
            await runs.run(lambda: opened.close_writer(still=store.damage is not None))


async def _serve(writer: Writer, scope: trio.CancelScope) -> None:
    with scope:
        await writer.run()


def _open_all(path: Path, disk: FileSystem) -> _Opened:
    finish_swap(path)
    if (damage := known(path)) is not None:
        return _open_damaged(damage, disk)
    try:
        writer = open_writer(path, wal=disk.local)
    except Damaged as error:
        return _open_damaged(keep(Damage(path, error.message)), disk, error)
    if not disk.local:
        _log.warning(
            "%s lies on a %s file system: a rollback journal is used, which is slower than a log", path, disk.name
        )
    return _Opened(_with_readers(writer, lambda: open_reader(path)), disk)


def _open_damaged(damage: Damage, disk: FileSystem, error: Damaged | None = None) -> _Opened:
    """Connections that read what can be saved of a damaged database; raises ``error`` where that is nothing."""
    _log.warning("%s is damaged; what can be saved of it is gathered to be read, which may take a while", damage.path)
    view = readable(damage)
    try:
        return _Opened(_with_readers(open_damaged(view), lambda: open_damaged(view)), disk, damage)
    except StorageError:
        raise error or damage.refusal() from None


def _with_readers(first: apsw.Connection, open_one: Callable[[], apsw.Connection]) -> list[apsw.Connection]:
    connections = [first]
    try:
        connections.extend(open_one() for _ in range(READERS))
    except BaseException:
        for connection in connections:
            connection.close()
        raise
    return connections
