"""A copy of the database while others write: SQLite's backup API, some pages at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from homed.store import problems
from homed.store.connection import hold_still, open_reader
from homed.store.executors import Executor
from homed.store.gate import Gate, OpenGate

PAGES = 512
"""Copied in one go: 2 MB, some 5 ms, after which others have their turn."""

RESTARTS = 3
"""With a rollback journal a copy begins anew whenever somebody wrote; after so many it is made in one go."""

_NOT_KEPT = ("logins", "api_keys")
"""Tables that a copy is without: who has found an old one must not be able to log in with what is revoked by now."""


async def copy(source: Path, target: Path, executor: Executor, gate: Gate) -> None:
    """Write a copy of one moment to ``target``, which must not be there; it is whole and on the disk at the end.

    Writers go on.  In WAL the copy holds a snapshot, so the log can not be emptied meanwhile.  Raises StorageError;
    then, and when cancelled, ``target`` may be there in part.
    """
    copying = await executor.run(lambda: _Copying(source, target, snapshot=isinstance(gate, OpenGate)))
    try:
        while not copying.done:
            async with gate.reading():
                await executor.run(copying.step)
        await executor.run(copying.finish)
    finally:
        copying.close()


class _Copying:
    """Both connections; used by one thread at a time."""

    def __init__(self, source: Path, target: Path, *, snapshot: bool) -> None:
        self._path = target
        self._snapshot = snapshot
        self._restarts, self._left = 0, 1 << 62
        with problems.translated(target):
            target.touch(mode=0o600, exist_ok=False)
            self._from = open_reader(source)
            try:
                self._to = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
            except BaseException:
                self._from.close()
                raise
            hold_still(self._from)  # no checkpoint by us: the writer sees to that
            if snapshot:  # without it each commit of somebody else's would make the copy begin anew
                self._from.execute("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1")
            self._backup = self._to.backup("main", self._from, "main")

    @property
    def done(self) -> bool:
        """Whether all pages are there."""
        return bool(self._backup.done)

    def step(self) -> None:
        """Copy some pages."""
        with problems.translated(self._path):
            self._backup.step(-1 if self._restarts > RESTARTS else PAGES)
            self._restarts += self._backup.remaining > self._left
            self._left = self._backup.remaining

    def finish(self) -> None:
        """Leave out what no copy keeps, make it one file, look whether it is sound."""
        with problems.translated(self._path):
            self._backup.close()
            self._let_go()
            to = self._to
            to.pragma("journal_mode", "delete")
            to.pragma("secure_delete", "on")
            to.pragma("synchronous", "full")
            to.execute("BEGIN IMMEDIATE")
            for table in _NOT_KEPT:
                to.execute(f"DELETE FROM {table}")
            to.execute("COMMIT")
            found = str(to.execute("PRAGMA quick_check(1)").get)
            if found != "ok":
                raise problems.corrupt(self._path, found.splitlines()[-1])

    def _let_go(self) -> None:
        if self._from.in_transaction:
            self._from.execute("ROLLBACK")

    def close(self) -> None:
        """Both connections; also in the middle."""
        with suppress(apsw.Error):
            self._backup.close(True)
        for connection in (self._from, self._to):
            connection.close()


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """A copy, to be read or put right; it is closed, and one file, afterwards."""
    with problems.translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("secure_delete", "on")
            connection.pragma("trusted_schema", "off")  # it may come from anywhere
            yield connection
        finally:
            connection.close()
