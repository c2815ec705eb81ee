"""Looking at a database without changing anything of it: for `homed doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw
import trio

from homed.errors import StorageError
from homed.store import migrations, problems
from homed.store.connection import Transaction, open_damaged
from homed.store.repair import INVARIANTS
from homed.store.rows import Looking, Tx

T = TypeVar("T")

MOST = 5
"""Faults of one kind that are told; whoever has more needs the repair, not the list."""


@contextmanager
def reading(path: Path) -> Iterator[Tx]:
    """One look at a database that nobody else holds, also a damaged one or one of another schema.

    Raises StorageError where it cannot be read at all.  Nothing is changed, no log is put into the file.
    """
    with problems.translated(path):
        connection = open_damaged(path, any_version=True)
        try:
            connection.execute("BEGIN")
            tx = Transaction(connection, path)
            yield tx
            tx.end()
        finally:
            connection.close()


class LookingStore:
    """A ``Storage`` over a file that nobody holds: reads it as it lies there, one without a byte as an absent one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on what is committed, in a thread.  Cancelled: it is run to its end all the same."""
        return await trio.to_thread.run_sync(self._look, fn)

    async def write(self, fn: Callable[[Tx], T]) -> T:  # noqa: ARG002
        """Nothing is written here; raises ``Looking``."""
        await trio.lowlevel.checkpoint()
        raise Looking("This is only a look at the database.", detail={"reason": "read_only"})

    async def empty_log(self) -> bool:
        """The log is left as it is."""
        await trio.lowlevel.checkpoint()
        return False

    def _look(self, fn: Callable[[Tx], T]) -> T:
        if not blank(self._path):
            with reading(self._path) as tx:
                return fn(tx)
        with closing(apsw.Connection(":memory:")) as empty:
            migrations.migrate(empty, self._path)
            empty.execute("BEGIN")
            return fn(Transaction(empty, self._path))


def blank(path: Path) -> bool:
    """Whether there is nothing yet in a database: no byte in its file nor in its log.  SQLite begins a new one then."""
    return not any(file.exists() and file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")))


def sqlite_version() -> str:
    """Of the SQLite that this process uses."""
    return apsw.sqlite_lib_version()


def damage_of(tx: Tx, *, deep: bool) -> list[str]:
    """What SQLite finds wrong with the file, in its words; ``deep`` compares every index with its table too.

    A connection that has searched before keeps what it knew of the word index, and SQLite's check compares that with
    what others have written since: a sound index seems damaged.  A search makes it look anew.
    """
    with suppress(StorageError):  # what is really damaged is said by the check
        tx.all("SELECT rowid FROM word_index WHERE word_index MATCH 'x' LIMIT 1")
    pragma = "integrity_check" if deep else "quick_check"
    return [str(row[0]) for row in tx.all(f"PRAGMA {pragma}({MOST})") if row[0] != "ok"]


def broken_rules(tx: Tx) -> list[str]:
    """What should hold of the rows and does not: references, one outcome an input, one holder a block."""
    found = [f"{row[0]} that names a lost {row[2]}" for row in tx.all("PRAGMA foreign_key_check")[:MOST]]
    return found + [what for what, sql in INVARIANTS.items() if tx.value(f"SELECT EXISTS ({sql})")]


def schema_of(tx: Tx) -> tuple[int, int]:
    """``(the schema's version, the one this homed knows)``."""
    return int(tx.value("PRAGMA user_version")), migrations.latest()


def journal_of(tx: Tx) -> str:
    """How transactions are kept: wal, delete, …"""
    return str(tx.value("PRAGMA journal_mode"))
