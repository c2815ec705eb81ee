"""Opening and checking the file, and the transaction that other rooms see."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from homed.errors import StorageError
from homed.store import migrations, problems, wordtables
from homed.store.rows import Row, SqlValue
from homed.store.unreadable import read_at

_log = logging.getLogger(__name__)

APPLICATION_ID = 0x686F6D64
"""In the file's header: "homd"."""

BUSY_MS = 5_000
"""How long a connection waits for another process (a backup, a sqlite3 shell) before it gives up."""

CHECK_SECONDS = 1.0
"""How long a start may spend looking for damage; a file too large for that is checked as far as it goes."""

_HEADER = b"SQLite format 3\x00"


class Transaction:
    """``Tx`` over one connection.  Raises StorageError only, and RuntimeError when used after its function returned."""

    def __init__(self, connection: apsw.Connection, path: Path, *, cancelled: Callable[[], bool] | None = None) -> None:
        self._connection: apsw.Connection | None = connection
        self._path = path
        self._cancelled = cancelled

    def _run(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue]) -> apsw.Cursor:
        if self._connection is None:
            raise RuntimeError("this transaction is over")
        if self._cancelled is not None and self._cancelled():
            raise problems.Interrupted("The read was interrupted.")
        if not self._connection.in_transaction:
            # After "disk full" SQLite has rolled everything back; a statement now would commit by itself.
            raise StorageError("The transaction was rolled back.", hint="Try again.", detail={"reason": "rolled_back"})
        return self._connection.execute(sql, params)

    def execute(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> None:
        """Run one statement for its effect."""
        with problems.translated(self._path):
            for _ in self._run(sql, params):
                pass

    def all(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> list[Row]:
        """Every row."""
        with problems.translated(self._path):
            return list(self._run(sql, params))

    def one(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Row | None:
        """The first row, or None."""
        with problems.translated(self._path):
            cursor = self._run(sql, params)
            row = cursor.fetchone()
            cursor.close(True)  # a half-read statement would hold its lock
            return row

    def value(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, params)
        return None if row is None else row[0]

    def many(self, sql: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        """Run one statement once for each row."""
        for row in rows:
            self.execute(sql, row)

    def changes(self) -> int:
        """Rows changed by the last statement."""
        if self._connection is None:
            raise RuntimeError("this transaction is over")
        return self._connection.changes()

    def end(self) -> None:
        """From here on every use raises."""
        self._connection = None


def open_writer(path: Path, *, wal: bool = True) -> apsw.Connection:
    """Open or create the database: checked and migrated.  A damaged, foreign or newer file is not changed.

    ``wal``: keep a write-ahead log; else a rollback journal, for file systems where memory cannot be shared.  A file
    that was in the other mode is taken over into this one.
    """
    with problems.translated(path):
        _refuse_strangers(path)
        _create_private(path)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            # Until it is known to be sound, not even a checkpoint may touch the file.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _harden(connection)
            if not wal:
                _alone(connection)
            _check(connection, path)
            _prepare(connection, path, wal=wal)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except BaseException:
            connection.close()
            raise
        return connection


def open_reader(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    with problems.translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        _harden(connection)
        connection.execute("PRAGMA query_only = ON")
        return connection


def open_damaged(path: Path, *, any_version: bool = False) -> apsw.Connection:
    """A connection that reads a damaged database and changes nothing of it, not even by closing it.

    ``any_version``: also one of an older schema, which only a repair can read.  Raises StorageError if it is not even
    readable so far that one knows whose it is and that its tables are ours.
    """
    with problems.translated(path):
        connection = open_reader(path)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _whose(connection, path)
            if connection.pragma("user_version") != migrations.latest() and not any_version:
                raise problems.corrupt(path, "and of an older version of homed")
            connection.execute("SELECT 1 FROM events, inputs, threads LIMIT 0")
        except BaseException:
            connection.close()
            raise
        return connection


def hold_still(connection: apsw.Connection) -> None:
    """From now on closing this connection changes nothing in the file."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def _alone(connection: apsw.Connection) -> None:
    """Keep the index of a log that may still be there in this process's own memory, not in a mapped file."""
    connection.pragma("locking_mode", "exclusive")


def _refuse_strangers(path: Path) -> None:
    log = path.with_name(path.name + "-wal")
    if not path.exists() or path.stat().st_size == 0:
        if log.exists() and log.stat().st_size > 0:
            raise problems.log_without_database(path)
        return
    if not path.is_file():
        raise problems.not_a_database(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        head = read_at(fd, len(_HEADER), 0)
    finally:
        os.close(fd)
    if head is None:
        raise problems.unreadable(path)
    if head != _HEADER:
        raise problems.not_a_database(path)


def _create_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives -wal and -shm the mode of the database, so this covers them too.
    if not path.exists():
        path.touch(mode=0o600)


def _harden(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.execute("PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON")


def _check(connection: apsw.Connection, path: Path) -> None:
    """Look before changing anything: whose it is, which version, whether it is sound."""
    if connection.readonly("main"):
        raise problems.read_only(path)
    if not _whose(connection, path):
        _look_for_damage(connection, path)


def _whose(connection: apsw.Connection, path: Path) -> bool:
    """Refuse what is not ours or too new; True if there is nothing in it yet."""
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    empty: bool = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if owner != APPLICATION_ID and not empty:
        raise problems.foreign(path)
    if version > migrations.latest():
        raise problems.newer(path, version, migrations.latest())
    return empty


def _look_for_damage(connection: apsw.Connection, path: Path) -> None:
    found = _quick_check(connection, CHECK_SECONDS)
    if found != "ok" and not _words_mended(connection, path):
        raise problems.corrupt(path, found.splitlines()[-1])


def _quick_check(connection: apsw.Connection, seconds: float) -> str:
    """What SQLite finds first, or "ok", as far as it comes in the time."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    try:
        return str(connection.execute("PRAGMA quick_check(1)").get)
    except apsw.InterruptError:
        return "ok"
    finally:
        connection.set_progress_handler(None)


def _words_mended(connection: apsw.Connection, path: Path) -> bool:
    """Make the word index anew, if that is all that is wrong; else nothing is changed.

    What SQLite finds in it is told apart by trying: the change is kept only if the whole file is sound with it.
    """
    if connection.pragma("user_version") != migrations.latest():
        return False
    connection.pragma("secure_delete", "on")
    connection.pragma("cache_spill", 0)  # until it is kept, no page of it is written anywhere
    kept = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        kept = wordtables.remake(Transaction(connection, path)) and _quick_check(connection, math.inf) == "ok"
    except (apsw.Error, StorageError) as error:
        _log.debug("the word index cannot be made anew: %s", error)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT" if kept else "ROLLBACK")
        connection.pragma("cache_spill", 1)
    if kept:
        _log.warning("%s: the word index was damaged; it is made anew, nothing that was said is lost", path)
    return kept


def _prepare(connection: apsw.Connection, path: Path, *, wal: bool) -> None:
    mode = connection.pragma("journal_mode", "wal" if wal else "delete")
    if (mode == "wal") != wal:
        raise problems.journal(path, mode)
    # FULL, not NORMAL: in WAL, NORMAL syncs only at checkpoints, so a power cut may take back an input whose acceptance
    # was already reported.  One fsync a batch is what that promise costs.
    connection.pragma("synchronous", "full" if wal else "extra")
    connection.pragma("secure_delete", "on")  # what on_input scrubbed must not stay on a free page
    connection.pragma("journal_size_limit", 64 * 1024 * 1024)
    if connection.pragma("application_id") != APPLICATION_ID:
        connection.pragma("application_id", APPLICATION_ID)
    migrations.migrate(connection, path)
    if not wal:
        connection.pragma("locking_mode", "normal")
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # the lock is let go by the next use
