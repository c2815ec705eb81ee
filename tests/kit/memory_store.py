"""The store's two verbs over SQLite in memory, on this thread: for tests on a clock that does not wait."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar

import trio

from homed.errors import StorageError
from homed.store.rows import Row, SqlValue, Tx

T = TypeVar("T")


class _Tx:
    """One connection as a `Tx`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._changed = 0

    def execute(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> None:
        self._changed = self._db.execute(sql, params).rowcount

    def all(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> list[Row]:
        return self._db.execute(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Row | None:
        found: Row | None = self._db.execute(sql, params).fetchone()
        return found

    def value(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Any:
        row = self.one(sql, params)
        return row[0] if row else None

    def many(self, sql: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        self._changed = self._db.executemany(sql, rows).rowcount

    def changes(self) -> int:
        return self._changed


class MemoryStore:
    """A `Storage` with some tables of one of the store's scripts, made as there.  ``broken`` refuses every write."""

    def __init__(self, script: str, *tables: str) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        text = (files("homed.store") / script).read_text("utf-8")
        for table in tables:
            made = re.search(rf"^CREATE TABLE {table} \(.*?^\).*?;", text, re.MULTILINE | re.DOTALL)
            assert made, table
            self._db.execute(made[0])
        self.broken = False
        self.writes = 0

    async def write(self, fn: Callable[[Tx], T]) -> T:
        await trio.lowlevel.checkpoint()
        if self.broken:
            raise StorageError("The disk is full.")
        self.writes += 1
        return fn(_Tx(self._db))

    async def read(self, fn: Callable[[Tx], T]) -> T:
        await trio.lowlevel.checkpoint()
        return fn(_Tx(self._db))

    async def empty_log(self) -> bool:
        await trio.lowlevel.checkpoint()
        return True

    def close(self) -> None:
        """Let go of it."""
        self._db.close()
