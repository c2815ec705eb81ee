"""Vectors in their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homed.errors import InvalidInput
from homed.memory.ports import Space
from homed.store.rows import Row, Tx, dumps

if TYPE_CHECKING:
    from numpy.typing import NDArray

HALF_ABOVE = 1024
"""Dimensions above which a row holds float16: half the file, and a cosine is off by less than 0.001."""

BLOCK = 2_048
"""Rows read at once: 4 MB at 512 dimensions."""

_SKEWED = 1.1
"""No coordinate of a unit vector is beyond 1; one that is, or is no number, was not written by us."""


@dataclass(frozen=True, slots=True)
class Part:
    """Vectors that are searched together: one space's, one scope's, one kind's.  ``space``: the number of its row."""

    space: int
    dims: int
    scope: str
    kind: str

    @property
    def bytes_each(self) -> int:
        """What one takes in memory."""
        return self.dims * 4 + 16


@dataclass(frozen=True, slots=True)
class Block:
    """Some vectors of a part, by rising id: ``ids`` and ``items`` int64 (n,), ``vectors`` float32 (n, dims)."""

    ids: NDArray[np.int64]
    items: NDArray[np.int64]
    vectors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)


def space_of(tx: Tx, fingerprint: str) -> tuple[int, int] | None:
    """Number and dimensions of a space; None if nothing was ever made in it."""
    row = tx.one("SELECT id, dims FROM vector_spaces WHERE fingerprint = ?", (fingerprint,))
    return None if row is None else (int(row[0]), int(row[1]))


def enter(tx: Tx, space: Space) -> int:
    """The number of a space, which gets its row if it is new (``at`` 0: not everything was put on its list yet).

    Raises InvalidInput where the same fingerprint stands there with other dimensions: an embedder that lies about
    itself makes no vector here.
    """
    known = space_of(tx, space.fingerprint)
    if known is None:
        tx.execute(
            "INSERT INTO vector_spaces (fingerprint, dims, at) VALUES (?, ?, 0)", (space.fingerprint, space.dims)
        )
        known = space_of(tx, space.fingerprint)
        assert known is not None
    if known[1] != space.dims:
        raise InvalidInput(
            f"The embedder says {space.dims} dimensions, and its vectors so far have {known[1]}.",
            hint="Another model needs another fingerprint.",
        )
    return known[0]


def encoded(vector: NDArray[np.float32]) -> bytes:
    """A vector of unit length as its row holds it, little-endian."""
    return vector.astype("<f2" if len(vector) > HALF_ABOVE else "<f4").tobytes()


def decoded(blobs: Sequence[bytes], dims: int) -> NDArray[np.float32]:
    """Shape (len(blobs), dims).  One of another length than ``dims`` asks for, or of what is no number or beyond a unit
    vector, is all zeros: near to nothing."""
    dtype = np.dtype("<f2" if dims > HALF_ABOVE else "<f4")
    size = dims * dtype.itemsize
    whole = b"".join(blob if len(blob) == size else bytes(size) for blob in blobs)
    made = np.frombuffer(whole, dtype).reshape(len(blobs), dims).astype(np.float32)
    # two passes without an array of their size, and nearly always no third; what is no number is in both of them
    if made.size and not (made.max() <= _SKEWED and made.min() >= -_SKEWED):
        made[~(np.abs(made) <= _SKEWED).all(axis=1)] = 0
    return made


def after(tx: Tx, part: Part, mark: int, limit: int = BLOCK) -> Block:
    """The part's next vectors above the id ``mark``."""
    rows = tx.all(
        "SELECT id, item, data FROM vectors WHERE space = ? AND scope = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?",
        (part.space, part.scope, part.kind, mark, limit),
    )
    return block_of(rows, part.dims)


def block_of(rows: Sequence[Row], dims: int) -> Block:
    """Of rows (id, item, data)."""
    ids = np.array([row[0] for row in rows], np.int64)
    items = np.array([row[1] for row in rows], np.int64)
    return Block(ids, items, decoded([row[2] for row in rows], dims))


def count_after(tx: Tx, part: Part, mark: int) -> int:
    """How many of the part's vectors have an id above ``mark``."""
    return int(
        tx.value(
            "SELECT count(*) FROM vectors WHERE space = ? AND scope = ? AND kind = ? AND id > ?",
            (part.space, part.scope, part.kind, mark),
        )
    )


def ids_up_to(tx: Tx, part: Part, mark: int) -> NDArray[np.int64]:
    """The ids of the part's vectors up to ``mark``, rising.  Read from the index alone: 100 000 take 40 ms."""
    rows = tx.all(
        "SELECT id FROM vectors WHERE space = ? AND scope = ? AND kind = ? AND id <= ? ORDER BY id",
        (part.space, part.scope, part.kind, mark),
    )
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def there(tx: Tx, part: Part, ids: Collection[int]) -> set[int]:
    """Those of ``ids`` that are rows of this very part, as this transaction sees it."""
    rows = tx.all(
        "SELECT v.id FROM json_each(?) j CROSS JOIN vectors v ON v.id = j.value"
        " WHERE v.space = ? AND v.scope = ? AND v.kind = ?",
        (dumps(list(ids)), part.space, part.scope, part.kind),
    )
    return {int(row[0]) for row in rows}


def of_items(tx: Tx, part: Part, items: Collection[int]) -> Block:
    """All vectors of these items; in no order."""
    rows = tx.all(
        "SELECT v.id, v.item, v.data FROM json_each(?) j CROSS JOIN vectors v"
        " ON v.kind = ? AND v.item = j.value AND v.space = ? WHERE v.scope = ?",
        (dumps(list(items)), part.kind, part.space, part.scope),
    )
    return block_of(rows, part.dims)


def of_ids(tx: Tx, part: Part, ids: Collection[int]) -> Block:
    """The vectors with these ids that are rows of the part, by rising id."""
    rows = tx.all(
        "SELECT id, item, data FROM vectors WHERE id IN (SELECT value FROM json_each(?))"
        " AND space = ? AND scope = ? AND kind = ? ORDER BY id",
        (dumps(list(ids)), part.space, part.scope, part.kind),
    )
    return block_of(rows, part.dims)


def highest(tx: Tx) -> int:
    """The highest id that was ever given to a vector, as this transaction sees it."""
    return int(tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'") or 0)


def may_be_rolled_back(tx: Tx) -> bool:
    """True in a writing transaction: what it sees may never become true, and its ids may be given once more."""
    return not tx.value("PRAGMA query_only")
