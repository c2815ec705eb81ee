"""What a transaction sees of the database.  Other rooms write SQL through this and never import apsw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from homed.errors import StorageError

T = TypeVar("T")

SqlValue = None | int | float | str | bytes
Row = tuple[Any, ...]


class Damaged(StorageError):
    """What was asked for stands on a damaged part of the database.  From then on the store is read-only."""


class ReadOnly(StorageError):
    """Nothing is stored, because the database was found damaged; what can be read still is.

    Raised by every write.  Who only wanted to note something (a peer was seen, a key was used) goes on without.
    """


class Looking(ReadOnly):
    """Nothing is stored, because a command only looks at the database of a homed that does not run: no fault."""


class Full(StorageError):
    """No space is left.  What was being stored was not; the next time it may be."""


class Tx(Protocol):
    """One connection inside one transaction, valid only while the function it was given to runs."""

    def execute(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> None:
        """Run one statement for its effect."""
        ...

    def all(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> list[Row]:
        """Every row."""
        ...

    def one(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Row | None:
        """The first row, or None."""
        ...

    def value(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Any:
        """The first column of the first row, or None."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[SqlValue]]) -> None:
        """Run one statement once for each row."""
        ...

    def changes(self) -> int:
        """Rows changed by the last statement."""
        ...


class Storage(Protocol):
    """`homed.store.db.Store` as the rooms above use it, so that a test can stand in for it."""

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a transaction of its own; returns after COMMIT."""
        ...

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on a reading connection."""
        ...

    async def empty_log(self) -> bool:
        """Leave nothing that was deleted in the log; False when that was not possible now."""
        ...


class Reader(Protocol):
    """A reading connection that somebody has for himself."""

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See ``Storage.read``; does not wait for a connection."""
        ...


class Lending(Storage, Protocol):
    """A ``Storage`` that lends connections to those who must not wait for one later, while they hold something."""

    def reader(self) -> AbstractAsyncContextManager[Reader]:
        """A reading connection for the length of the block."""
        ...

    def words_damaged(self) -> bool:
        """Whether a read since the last call found the word index damaged."""
        ...


def dumps(value: object) -> str:
    """JSON as we store it: compact, not escaped to ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str | None) -> Any:
    """JSON from a column; NULL and the empty string are None."""
    return json.loads(text) if text else None
