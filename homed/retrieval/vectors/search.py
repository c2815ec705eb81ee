"""The search: exact, or by an index with an exact tail; one scope at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from homed.memory.ports import Near
from homed.retrieval.vectors import rows
from homed.retrieval.vectors.counts import Counts, counts
from homed.retrieval.vectors.parts import BUDGET, Parts, Searched
from homed.retrieval.vectors.rows import Part
from homed.store.rows import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROOM = 16
"""Vectors looked at beyond twice the limit in the first try: some are parts of one item, some were just deleted."""


class Vectors:
    """The ``Dense`` of memory.  Any number of threads at once, each in its own transaction.

    What is kept in memory is bounded by ``budget`` bytes, and the parts asked for longest ago leave it first.
    """

    def __init__(self, *, budget: int = BUDGET) -> None:
        self.parts = Parts(budget)

    def nearest(
        self, tx: Tx, *, scope: str, vector: NDArray[np.float32], space: str, kinds: Collection[str], limit: int
    ) -> list[Near]:
        """See ``Dense``.  Nothing is near to a vector of another length, of no direction, or not of numbers."""
        found: list[Near] = []
        query = _unit(vector)
        for kind in sorted(set(kinds)) if query is not None else ():
            part = _part(tx, space, scope, kind, vector)
            if part is not None and query is not None and limit > 0:
                found += _nearest(tx, self.parts.searched(tx, part), query, limit)
        return sorted(found, key=lambda near: (-near.cosine, near.kind, -near.item))[: max(0, limit)]

    def cosines(
        self, tx: Tx, *, scope: str, vector: NDArray[np.float32], space: str, kind: str, items: Collection[int]
    ) -> Mapping[int, float]:
        """See ``Dense``.  Read from the rows themselves: some 5 µs each."""
        query, part = _unit(vector), _part(tx, space, scope, kind, vector)
        if query is None or part is None or not items:
            return {}
        block = rows.of_items(tx, part, items)
        best: dict[int, float] = {}
        for item, cosine in zip(block.items.tolist(), (block.vectors @ query).tolist(), strict=True):
            best[item] = max(cosine, best.get(item, -1.0))
        return best

    def counts(self, tx: Tx, space: str) -> Counts:
        """See the function of this name."""
        return counts(tx, space)


def _part(tx: Tx, space: str, scope: str, kind: str, vector: NDArray[np.float32]) -> Part | None:
    known = rows.space_of(tx, space)
    if known is None or vector.shape != (known[1],):
        return None
    return Part(known[0], known[1], scope, kind)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """The direction of a vector; None if it has none."""
    if vector.ndim != 1 or not np.isfinite(vector).all():
        return None
    length = float(np.linalg.norm(vector))
    return None if length < 1e-9 else (vector / length).astype(np.float32)


def _nearest(tx: Tx, searched: Searched, query: NDArray[np.float32], limit: int) -> list[Near]:
    """The best of a part, each item once.

    Of what memory or an index holds only that counts which is a row in this transaction.  More and more is looked at
    until there is enough of it, or no more.
    """
    width = 2 * limit + _ROOM
    while True:
        found = searched.best(tx, query, width)
        alive = rows.there(tx, searched.part, found.ids.tolist())
        best: dict[int, float] = {}
        for id_, item, cosine in zip(found.ids.tolist(), found.items.tolist(), found.cosines.tolist(), strict=True):
            if id_ in alive:
                best.setdefault(item, cosine)
        if len(alive) < len(found):
            searched.gone(tx, set(found.ids.tolist()) - alive)
        if len(best) >= limit or len(found) < width:
            return [Near(searched.part.kind, item, cosine) for item, cosine in list(best.items())[:limit]]
        width *= 4
