"""Going through a table a slice at a time, so that nobody who stores waits and memory stays bounded.

Rows are judged on the thread that reads them: of those that are as they should be nothing leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from homed.jobs.memcheck.room import Room
from homed.store.rows import Row, Tx, dumps

SLICE = 2_000
"""Rows of one read: some 10 ms where SQL judges them."""

HEAVY = 100
"""Rows of one read whose texts are looked at."""

BYTES = 4_000_000
"""Of such texts in memory at once; one row may be longer."""

NEWEST = 2_000
"""Rows with texts that a quick look reads."""

MOST = 5_000
"""Wrong rows that are kept to be mended; more are counted, and mended in the next round."""

LOWEST = -(1 << 62)

Judge = Callable[[Tx, Row], bool]
"""Whether a row's ``also`` columns are wrong."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, by rising key.

    ``source``: behind FROM; ``key``: what orders them, of an index; ``id``: what a finding calls one; ``wrong``: SQL of
    what is not as it should be; ``also``: more columns, for ``judge`` and for whoever mends; ``where``: which rows are
    meant.  ``weight``: SQL of the bytes that reading one takes: those are read in smaller slices, and by a quick look
    the newest alone.
    """

    source: str
    key: tuple[str, ...]
    id: str
    wrong: str = "0"
    also: tuple[str, ...] = ()
    where: str = "1"
    judge: Judge | None = None
    weight: str = ""
    start: tuple[int | str, ...] = (LOWEST,)

    def bad(self, tx: Tx, row: Row) -> bool:
        """Whether a row of ``columns`` is wrong."""
        width = len(self.key)
        return bool(row[width + 1]) or (self.judge is not None and self.judge(tx, row[width + 2 :]))

    @property
    def columns(self) -> str:
        """Key, id, whether SQL finds it wrong, and the rest."""
        return ", ".join((*self.key, self.id, self.wrong, *self.also))

    @property
    def order(self) -> str:
        """The key as a row value."""
        return self.key[0] if len(self.key) == 1 else f"({', '.join(self.key)})"

    def again(self, tx: Tx, keys: Sequence[Sequence[int | str]]) -> list[Row]:
        """Those of these that are wrong still, in this transaction: whole rows of ``columns``."""
        parts = ", ".join(f"value ->> {at}" for at in range(len(self.key)))
        found = tx.all(
            f"SELECT {self.columns} FROM {self.source} WHERE {self.where} AND {self.order} IN"
            f" (SELECT {parts} FROM json_each(?))",
            (dumps([list(key) for key in keys]),),
        )
        return [row for row in found if self.bad(tx, row)]


@dataclass(slots=True)
class Found:
    """``read`` rows of ``all``; ``wrong`` of them, with ``keys`` and ``ids`` of the first ``MOST``."""

    read: int = 0
    all: int = 0
    wrong: int = 0
    keys: list[tuple[int | str, ...]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    read: int
    last: tuple[int | str, ...]
    wrong: list[tuple[tuple[int | str, ...], str]]
    end: bool


async def walk(room: Room, rows: Rows) -> Found:
    """Look at the rows: all of them, of heavy ones in a quick look the newest.  Cancellable between two slices."""
    found = Found()
    after: tuple[int | str, ...] = rows.start
    if rows.weight and not room.deep:
        after, found.all = await room.store.read(lambda tx: _newest(tx, rows))
    while True:
        piece = await room.store.read(lambda tx, after=after: _piece(tx, rows, after))  # type: ignore[misc]
        found.read += piece.read
        found.wrong += len(piece.wrong)
        room_left = MOST - len(found.keys)
        found.keys += [key for key, _ in piece.wrong[:room_left]]
        found.ids += [id_ for _, id_ in piece.wrong[:room_left]]
        after = piece.last
        if piece.end:
            found.all = max(found.all, found.read)
            return found


def _piece(tx: Tx, rows: Rows, after: tuple[int | str, ...]) -> _Piece:
    limit = _few(tx, rows, after) if rows.weight else SLICE
    marks = "?" if len(rows.key) == 1 else f"({', '.join('?' * len(rows.key))})"
    found = tx.all(
        f"SELECT {rows.columns} FROM {rows.source} WHERE {rows.order} > {marks} AND ({rows.where})"
        f" ORDER BY {', '.join(rows.key)} LIMIT {limit}",
        after,
    )
    width = len(rows.key)
    wrong = [(tuple(row[:width]), str(row[width])) for row in found if rows.bad(tx, row)]
    last = tuple(found[-1][:width]) if found else after
    return _Piece(len(found), last, wrong, end=len(found) < limit)


def _few(tx: Tx, rows: Rows, after: tuple[int | str, ...]) -> int:
    """How many rows may be read at once without too many bytes in memory; one at least."""
    sizes = tx.all(
        f"SELECT {rows.weight} FROM {rows.source} WHERE {rows.order} > ? AND ({rows.where})"
        f" ORDER BY {rows.order} LIMIT {HEAVY}",
        after,
    )
    taken, left = 0, BYTES
    while taken < len(sizes) and (taken == 0 or left >= (sizes[taken][0] or 0)):
        left -= sizes[taken][0] or 0
        taken += 1
    return taken if 0 < taken < len(sizes) else HEAVY


def _newest(tx: Tx, rows: Rows) -> tuple[tuple[int | str, ...], int]:
    """Behind which key the newest begin, and how many rows there are."""
    count = int(tx.value(f"SELECT count(*) FROM {rows.source} WHERE {rows.where}"))
    if count <= NEWEST:
        return rows.start, count
    first = tx.value(
        f"SELECT {rows.order} FROM {rows.source} WHERE {rows.where} ORDER BY {rows.order} DESC LIMIT 1 OFFSET {NEWEST}"
    )
    return (first,), count
