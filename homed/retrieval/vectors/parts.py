"""The parts that are in memory, within a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homed.retrieval.vectors import flat, rows
from homed.retrieval.vectors.flat import Flat, Found
from homed.retrieval.vectors.rows import Block, Part
from homed.store.rows import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUDGET = 128 * 1024 * 1024
"""Bytes of vectors in memory: 60 000 of 512 dimensions, three scopes just below the crossover."""


class Held:
    """One part in memory.  Its lock is held while it catches up with the rows, not while it is searched."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.lock = threading.Lock()
        self.tail = Flat(part.dims)

    def catch_up(self, tx: Tx) -> Block:
        """All vectors that ``tx`` sees (and perhaps some committed later)."""
        with self.lock:
            while len(block := rows.after(tx, self.part, self.tail.mark)):
                self.tail.add(block)
            return self.tail.block()

    def drop(self, ids: Collection[int]) -> None:
        """Forget these."""
        with self.lock:
            self.tail.drop(ids)


@dataclass(frozen=True, slots=True)
class Searched:
    """A part as one transaction may search it."""

    part: Part
    blocks: tuple[Block, ...]
    held: Held | None = None

    def best(self, tx: Tx, query: NDArray[np.float32], limit: int) -> Found:
        """The nearest vectors, best first; fewer than ``limit`` only if there are no more."""
        return flat.merged([flat.best(block, query, limit) for block in self._blocks(tx)], limit)

    def _blocks(self, tx: Tx) -> Iterator[Block]:
        yield from self.blocks
        mark = int(self.blocks[-1].ids[-1]) if self.blocks and len(self.blocks[-1]) else 0
        if self.held is None:  # what is in no memory is read anew by each search
            while len(block := rows.after(tx, self.part, mark)):
                yield block
                mark = int(block.ids[-1])
        elif not self.blocks:
            yield Block(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, self.part.dims), np.float32))

    def gone(self, tx: Tx, ids: Collection[int]) -> None:
        """These are no rows: forget them, unless they are too new for this transaction to know."""
        if self.held is not None and not rows.may_be_rolled_back(tx):
            until = rows.highest(tx)
            self.held.drop([id_ for id_ in ids if id_ <= until])


class Parts:
    """What is in memory, the part asked for last at the end."""

    def __init__(self, budget: int, lock: threading.Lock) -> None:
        self._budget = budget
        self._lock = lock
        self._held: OrderedDict[Part, Held] = OrderedDict()

    def searched(self, tx: Tx, part: Part) -> Searched:
        """The part with all that ``tx`` sees."""
        with self._lock:
            held = self._held.setdefault(part, Held(part))
            self._held.move_to_end(part)
        return Searched(part, (held.catch_up(tx),), held)
