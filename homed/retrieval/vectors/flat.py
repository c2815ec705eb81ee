"""A matrix that grows: vectors of one part in memory, searched exactly."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homed.retrieval.vectors.rows import Block

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST = 256
"""Rows that a new matrix has room for."""


@dataclass(frozen=True, slots=True)
class Found:
    """Vectors and how near they are, best first: three arrays of one length."""

    ids: NDArray[np.int64]
    items: NDArray[np.int64]
    cosines: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)


def nearest_rows(cosines: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """The places of the ``limit`` highest, highest first; of equal ones the later (newer) row first."""
    count = len(cosines)
    chosen = np.argpartition(cosines, count - limit)[count - limit :] if limit < count else np.arange(count)
    return chosen[np.lexsort((-chosen, -cosines[chosen]))]


def best(block: Block, query: NDArray[np.float32], limit: int) -> Found:
    """The nearest of a block to ``query``, shape (dims,)."""
    cosines = block.vectors @ query
    rows = nearest_rows(cosines, limit)
    return Found(block.ids[rows], block.items[rows], cosines[rows])


def merged(found: Collection[Found], limit: int) -> Found:
    """The best of several."""
    ids = np.concatenate([one.ids for one in found])
    cosines = np.concatenate([one.cosines for one in found])
    order = np.lexsort((-ids, -cosines))[:limit]
    return Found(ids[order], np.concatenate([one.items for one in found])[order], cosines[order])


class Flat:
    """Vectors by rising id.  Not safe by itself: whoever adds or drops holds a lock; a ``Block`` taken from it is.

    Rows are added behind those that a block given out earlier shows, and never changed or moved within an array.
    """

    def __init__(self, dims: int, mark: int = 0) -> None:
        self._ids = np.empty(0, np.int64)
        self._items = np.empty(0, np.int64)
        self._vectors = np.empty((0, dims), np.float32)
        self._count = 0
        self.mark = mark
        """The highest id it has seen: what is above is new to it."""

    @property
    def nbytes(self) -> int:
        """What it takes of memory."""
        return self._ids.nbytes + self._items.nbytes + self._vectors.nbytes

    def __len__(self) -> int:
        return self._count

    def add(self, block: Block) -> None:
        """Put a block behind the others; all its ids are above ``mark``."""
        if not len(block):
            return
        until = self._count + len(block)
        if until > len(self._ids):
            self._grow(max(until, _FIRST, self._count * 5 // 4))
        self._ids[self._count : until] = block.ids
        self._items[self._count : until] = block.items
        self._vectors[self._count : until] = block.vectors
        self._count, self.mark = until, int(block.ids[-1])

    def reserve(self, more: int) -> None:
        """Make room for so many at once."""
        if self._count + more > len(self._ids):
            self._grow(max(self._count + more, self._count * 5 // 4 if self._count else 0))

    def _grow(self, rows: int) -> None:
        old = self.block()
        dims = self._vectors.shape[1]
        self._ids, self._items = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self._vectors = np.empty((rows, dims), np.float32)
        self._ids[: len(old)], self._items[: len(old)], self._vectors[: len(old)] = old.ids, old.items, old.vectors

    def drop(self, ids: Collection[int]) -> None:
        """Take these out, into arrays of their own: whoever searches goes on with the old ones."""
        old = self.block()
        kept = ~np.isin(old.ids, np.fromiter(ids, np.int64, len(ids)))
        if kept.all():
            return
        self._ids, self._items, self._vectors = old.ids[kept], old.items[kept], old.vectors[kept]
        self._count = len(self._ids)

    def block(self) -> Block:
        """All there is now."""
        return Block(self._ids[: self._count], self._items[: self._count], self._vectors[: self._count])
