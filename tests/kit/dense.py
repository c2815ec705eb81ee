"""``Dense`` by brute force, in memory; and vectors that mean something to a test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from homed.memory.ports import Near
from homed.store.rows import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unit(values: Sequence[float]) -> NDArray[np.float32]:
    """A vector of length 1 in this direction."""
    vector = np.asarray(values, np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def directions(seed: int, count: int, dims: int) -> NDArray[np.float32]:
    """``count`` random unit vectors, always the same ones."""
    made = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


@dataclass
class FakeDense:
    """What ``put`` was told, and nothing else; it never looks into the transaction."""

    vectors: dict[tuple[str, str, str, int], list[NDArray[np.float32]]] = field(default_factory=dict)

    def put(
        self, item: int, *vectors: Sequence[float], scope: str = "owner", space: str = "fake", kind: str = "event"
    ) -> None:
        """The vectors of an item, one a part; none: it has none any more."""
        self.vectors[space, scope, kind, item] = [unit(one) for one in vectors]

    def nearest(
        self, tx: Tx, *, scope: str, vector: NDArray[np.float32], space: str, kinds: Collection[str], limit: int
    ) -> list[Near]:
        """See ``Dense``."""
        found = [
            Near(kind, item, cosine)
            for kind in set(kinds)
            for item, cosine in self._cosines(space, scope, kind, vector).items()
        ]
        return sorted(found, key=lambda near: (-near.cosine, near.kind, -near.item))[:limit]

    def cosines(
        self, tx: Tx, *, scope: str, vector: NDArray[np.float32], space: str, kind: str, items: Collection[int]
    ) -> Mapping[int, float]:
        """See ``Dense``."""
        return {i: c for i, c in self._cosines(space, scope, kind, vector).items() if i in set(items)}

    def _cosines(self, space: str, scope: str, kind: str, vector: NDArray[np.float32]) -> dict[int, float]:
        return {
            item: max(float(part @ vector) for part in parts)
            for (of_space, of_scope, of_kind, item), parts in self.vectors.items()
            if (of_space, of_scope, of_kind) == (space, scope, kind) and parts
        }
