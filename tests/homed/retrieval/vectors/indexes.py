"""A store with vectors in it, and a keeper whose trees are built where a test wants them built."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trio
from numpy.typing import NDArray

from homed.failpoints import Failpoints, NoFailpoints
from homed.memory.ports import Near, Space
from homed.retrieval.vectors import Vectors, child, rows
from homed.retrieval.vectors.keeper import Keeper
from homed.retrieval.vectors.making import Bench, Trees
from homed.retrieval.vectors.rows import Part
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.dense import directions

DIMS = 16
SPACE = Space("one", DIMS, 0.2)
PART = Part(1, DIMS, "owner", "event")
CROSSOVER = 500


async def in_thread(folder: Path, dims: int, count: int) -> Mapping[str, object]:
    """Trees built here."""
    return await trio.to_thread.run_sync(child.build, folder, dims, count)


@dataclass
class House:
    """What a test works with."""

    store: Store
    folder: Path
    vectors: Vectors
    keeper: Keeper
    bench: Bench

    async def put(self, vectors: NDArray[np.float32], *, first: int = 1, scope: str = "owner") -> None:
        """One event a row, numbered from ``first``."""

        def put(tx: Tx) -> None:
            number = rows.enter(tx, SPACE)
            tx.many(
                "INSERT INTO vectors (space, scope, kind, item, data) VALUES (?, ?, 'event', ?, ?)",
                ((number, scope, first + n, rows.encoded(v)) for n, v in enumerate(vectors)),
            )

        await self.store.write(put)

    async def delete(self, *items: int) -> None:
        """Delete the vectors of these events."""
        await self.store.write(lambda tx: tx.many("DELETE FROM vectors WHERE item = ?", [(i,) for i in items]))

    async def nearest(self, vector: NDArray[np.float32], *, limit: int = 10, scope: str = "owner") -> list[Near]:
        """A search."""
        return await self.store.read(
            lambda tx: self.vectors.nearest(
                tx, scope=scope, vector=vector, space=SPACE.fingerprint, kinds=("event",), limit=limit
            )
        )

    async def exact(self, vector: NDArray[np.float32], *, limit: int = 10, scope: str = "owner") -> list[Near]:
        """The truth, from the rows by themselves."""
        part = Part(PART.space, DIMS, scope, "event")
        all_ = await self.store.read(lambda tx: rows.after(tx, part, 0, 1_000_000))
        cosines = all_.vectors @ vector
        found = [Near("event", int(i), float(c)) for i, c in zip(all_.items, cosines, strict=True)]
        return sorted(found, key=lambda near: (-near.cosine, -near.item))[:limit]

    async def drops(self) -> int:
        """How many deleted vectors are on the list."""
        return int(await self.store.read(lambda tx: tx.value("SELECT count(*) FROM vector_drops")))

    def files(self) -> list[str]:
        """The folders of indexes, as they are called but for their keys."""
        return sorted(path.name.split("-")[-1] for path in self.folder.iterdir()) if self.folder.exists() else []

    def index(self) -> Path:
        """The folder of the one index."""
        (found,) = self.folder.iterdir()
        return found


@asynccontextmanager
async def opened(
    path: Path, *, trees: Trees = in_thread, failpoints: Failpoints | None = None, crossover: int = CROSSOVER
) -> AsyncIterator[House]:
    """Open a store at ``path`` with its indexes beside it."""
    async with open_store(path / "homed.db") as store:
        vectors = Vectors()
        bench = Bench(store, path / "index", trees, failpoints or NoFailpoints())
        yield House(store, path / "index", vectors, Keeper(vectors.parts, bench, crossover=crossover), bench)


def clustered(seed: int, count: int, dims: int = DIMS) -> NDArray[np.float32]:
    """Vectors as texts have them: about some topics."""
    topics = directions(99, 20, dims)
    chance = np.random.default_rng(seed)
    made = topics[chance.integers(0, 20, count)] + 0.7 * directions(seed, count, dims)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def same(found: list[Near], true: list[Near]) -> bool:
    """Whether the very same was found, but for the order of equals."""
    cosines = ([n.cosine for n in found], [n.cosine for n in true])
    return len(found) == len(true) and bool(np.allclose(*cosines, atol=1e-5))


def recall(found: list[Near], true: list[Near]) -> float:
    """The share of the true ones that was found."""
    return len({n.item for n in found} & {n.item for n in true}) / len(true)
