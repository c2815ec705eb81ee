"""What of the vectors is in memory: parts of one space, scope and kind each, within a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homed.retrieval.vectors import flat, rows
from homed.retrieval.vectors.flat import Flat, Found
from homed.retrieval.vectors.rows import Block, Part
from homed.store.rows import Tx

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUDGET = 128 * 1024 * 1024
"""Bytes of vectors in memory: 65 000 of 512 dimensions, three scopes just below the crossover to an index."""


class Base(Protocol):
    """Vectors in files, up to an id.  Safe on any thread."""

    @property
    def mark(self) -> int:
        """The highest id that was a row of the part when it was made: it knows nothing of those above."""
        ...

    def best(self, query: NDArray[np.float32], limit: int) -> Found:
        """The nearest, best first; fewer than ``limit`` only if there are no more."""
        ...

    def drop(self, ids: Collection[int]) -> None:
        """Never find these again."""
        ...


class Held:
    """One part: what is in files, and an exact tail in memory.  Another file makes another ``Held``.

    Its lock is held while the tail catches up with the rows, not while it is searched.
    """

    def __init__(self, part: Part, base: Base | None) -> None:
        self.part = part
        self.base = base
        self._lock = threading.Lock()
        self._tail = Flat(part.dims, base.mark if base else 0)

    @property
    def nbytes(self) -> int:
        """Bytes in memory that are not a file's."""
        return self._tail.nbytes

    @property
    def tail(self) -> int:
        """Vectors in the tail, as far as anybody asked."""
        return len(self._tail)

    def caught_up(self, tx: Tx, room: int) -> tuple[Block, bool]:
        """The tail with all that ``tx`` sees (perhaps also what was committed since); False: rows above it remain.

        They do when it would need more than ``room`` bytes, or when ``tx`` may be rolled back: what was never true must
        not stay in memory.
        """
        with self._lock:
            new = rows.count_after(tx, self.part, self._tail.mark)
            if not new:
                return self._tail.block(), True
            if rows.may_be_rolled_back(tx) or (len(self._tail) + new) * self.part.bytes_each > room:
                return self._tail.block(), False
            self._tail.reserve(new)
            while len(block := rows.after(tx, self.part, self._tail.mark)):
                self._tail.add(block)
            return self._tail.block(), True

    def drop(self, ids: Collection[int]) -> None:
        """Forget these vectors."""
        with self._lock:
            self._tail.drop(ids)
        if self.base is not None:
            self.base.drop(ids)


@dataclass(frozen=True, slots=True)
class Searched:
    """A part as one transaction searches it: files, tail, and what is in neither, read row by row."""

    held: Held
    tail: Block
    whole: bool

    @property
    def part(self) -> Part:
        """What is searched."""
        return self.held.part

    def best(self, tx: Tx, query: NDArray[np.float32], limit: int) -> Found:
        """The nearest vectors, best first; fewer than ``limit`` only if there are no more.

        Some of them may be no rows any more, or not yet.
        """
        found = [flat.best(block, query, limit) for block in self._blocks(tx)]
        if self.held.base is not None:
            found.append(self.held.base.best(query, limit))
        return flat.merged(found, limit)

    def _blocks(self, tx: Tx) -> Iterator[Block]:
        yield self.tail
        mark = self._mark()
        while not self.whole and len(block := rows.after(tx, self.part, mark)):
            yield block
            mark = int(block.ids[-1])

    def _mark(self) -> int:
        if len(self.tail):
            return int(self.tail.ids[-1])
        return self.held.base.mark if self.held.base else 0

    def gone(self, tx: Tx, ids: Collection[int]) -> None:
        """These are no rows: forget them, unless they are too new for this transaction to know."""
        if not rows.may_be_rolled_back(tx):
            until = rows.highest(tx)
            self.held.drop([id_ for id_ in ids if id_ <= until])


class Parts:
    """All parts; those asked for longest ago leave memory when the budget is spent.  Safe on any thread."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[Part, Held] = OrderedDict()
        self._bases: dict[Part, Base] = {}

    @property
    def nbytes(self) -> int:
        """Bytes in memory now."""
        with self._lock:
            return sum(held.nbytes for held in self._held.values())

    def searched(self, tx: Tx, part: Part) -> Searched:
        """The part with all that ``tx`` sees."""
        with self._lock:
            held = self._held.setdefault(part, Held(part, self._bases.get(part)))
            self._held.move_to_end(part)
        tail, whole = held.caught_up(tx, self._budget)
        self._let_go(held)
        return Searched(held, tail, whole)

    def _let_go(self, kept: Held) -> None:
        with self._lock:
            used = sum(held.nbytes for held in self._held.values())
            for part, held in list(self._held.items()):
                if used <= self._budget:
                    return
                if held is not kept:
                    used -= held.nbytes
                    del self._held[part]

    def install(self, part: Part, base: Base | None) -> None:
        """From now on the part is searched with these files (None: with none).

        Whoever searches now goes on with the old ones; they are gone when the last has ended.
        """
        with self._lock:
            self._held.pop(part, None)
            if base is None:
                self._bases.pop(part, None)
            else:
                self._bases[part] = base

    def drop(self, part: Part, ids: Collection[int]) -> None:
        """Forget vectors that were deleted."""
        with self._lock:
            held, base = self._held.get(part), self._bases.get(part)
        if held is not None:
            held.drop(ids)
        elif base is not None:
            base.drop(ids)

    def clear(self) -> None:
        """Forget everything: the rows are others now (a backup was put back)."""
        with self._lock:
            self._held.clear()
            self._bases.clear()
