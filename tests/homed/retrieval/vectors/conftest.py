"""A real file with a writing and a reading connection, and vectors in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from homed.memory.ports import Near, Space
from homed.retrieval.vectors import Vectors, rows
from homed.store.connection import Transaction, open_reader, open_writer
from homed.store.rows import Tx

T = TypeVar("T")
DIMS = 8
SPACE = Space("one", DIMS, 0.2)


@dataclass
class Rows:
    """The tables, as the writer and a reader have them."""

    path: Path
    writer: apsw.Connection
    reader: apsw.Connection
    vectors: Vectors = field(default_factory=Vectors)

    def write(self, fn: Callable[[Tx], T], *, fail: bool = False) -> T:
        """One transaction; with ``fail`` it is rolled back in the end."""
        self.writer.execute("BEGIN IMMEDIATE")
        try:
            return fn(Transaction(self.writer, self.path))
        finally:
            self.writer.execute("ROLLBACK" if fail else "COMMIT")

    def read(self, fn: Callable[[Tx], T]) -> T:
        """One snapshot."""
        self.reader.execute("BEGIN")
        try:
            return fn(Transaction(self.reader, self.path))
        finally:
            self.reader.execute("ROLLBACK")

    def put(
        self, item: int, *vectors: NDArray[np.float32], scope: str = "owner", kind: str = "event", space: Space = SPACE
    ) -> None:
        """Store the vectors of an item, one a part."""

        def put(tx: Tx) -> None:
            number = rows.enter(tx, space)
            tx.many(
                "INSERT INTO vectors (space, scope, kind, item, part, data) VALUES (?, ?, ?, ?, ?, ?)",
                [(number, scope, kind, item, place, rows.encoded(v)) for place, v in enumerate(vectors)],
            )

        self.write(put)

    def put_all(
        self, vectors: NDArray[np.float32], *, scope: str = "owner", first: int = 1, kind: str = "event"
    ) -> None:
        """One item a row, numbered from ``first``."""

        def put(tx: Tx) -> None:
            number = rows.enter(tx, Space(SPACE.fingerprint, vectors.shape[1], 0.2))
            tx.many(
                "INSERT INTO vectors (space, scope, kind, item, data) VALUES (?, ?, ?, ?, ?)",
                ((number, scope, kind, first + n, rows.encoded(v)) for n, v in enumerate(vectors)),
            )

        self.write(put)

    def delete(self, *items: int, kind: str = "event") -> None:
        """Delete the vectors of these."""
        self.write(lambda tx: tx.many("DELETE FROM vectors WHERE kind = ? AND item = ?", [(kind, i) for i in items]))

    def nearest(
        self, vector: NDArray[np.float32], *, limit: int = 10, scope: str = "owner",
        kinds: tuple[str, ...] = ("event",), space: str = SPACE.fingerprint,
    ) -> list[Near]:  # fmt: skip
        """A search in a snapshot of its own."""
        return self.read(lambda tx: self.search(tx, vector, limit=limit, scope=scope, kinds=kinds, space=space))

    def search(
        self, tx: Tx, vector: NDArray[np.float32], *, limit: int = 10, scope: str = "owner",
        kinds: tuple[str, ...] = ("event",), space: str = SPACE.fingerprint,
    ) -> list[Near]:  # fmt: skip
        """A search in this transaction."""
        return self.vectors.nearest(tx, scope=scope, vector=vector, space=space, kinds=kinds, limit=limit)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Rows]:
    path = tmp_path / "homed.db"
    writer = open_writer(path)
    writer.execute("PRAGMA foreign_keys = OFF")
    reader = open_reader(path)
    yield Rows(path, writer, reader)
    reader.close()
    writer.close()


def items(found: list[Near]) -> list[int]:
    return [near.item for near in found]


def near(item: int, cosine: float, kind: str = "event") -> Near:
    """What is found, as near as floats come."""
    return Near(kind, item, pytest.approx(cosine, abs=1e-6))  # type: ignore[arg-type]
