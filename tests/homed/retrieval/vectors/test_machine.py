"""Whatever comes, goes and is made anew in whichever order: a search finds what a brute-force model says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TypeVar

import apsw
import numpy as np
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from homed.memory.ports import Near, Space
from homed.retrieval.vectors import Vectors, child, rows
from homed.retrieval.vectors.indexed import checksum
from homed.retrieval.vectors.keeper import Keeper
from homed.retrieval.vectors.making import Bench
from homed.store.connection import Transaction, open_reader, open_writer
from homed.store.rows import Tx
from tests.kit.dense import directions

T = TypeVar("T")
DIMS = 6
SPACES = (Space("one", DIMS, 0.0), Space("two", DIMS, 0.0))
SCOPES, KINDS, ITEMS = ("owner", "guest"), ("event", "record"), range(1, 13)
CROSSOVER = 8
PALETTE = directions(5, 40, DIMS)
EACH = rows.Part(1, DIMS, "", "").bytes_each


class Undone(Exception):
    """What rolls a transaction back."""


class OneThread:
    """A ``Storage`` on this thread, without a loop of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer, self.reader = open_writer(path), open_reader(path)
        self.writer.execute("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF")

    def now(self, connection: apsw.Connection, fn: Callable[[Tx], T], end: str) -> T:
        connection.execute("BEGIN")
        try:
            return fn(Transaction(connection, self.path))
        except BaseException:
            end = "ROLLBACK"
            raise
        finally:
            connection.execute(end)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        await trio.lowlevel.checkpoint()
        return self.now(self.reader, fn, "ROLLBACK")

    async def write(self, fn: Callable[[Tx], T]) -> T:
        await trio.lowlevel.checkpoint()
        return self.now(self.writer, fn, "COMMIT")

    async def empty_log(self) -> bool:
        await trio.lowlevel.checkpoint()
        return True


async def wide(folder: Path, dims: int, count: int) -> Mapping[str, object]:
    """Trees, however few vectors there are, with searches that look at as many as make them exact."""
    await trio.lowlevel.checkpoint()
    made = {**child.build(folder, dims, count)}
    assert made["width"] == 0, "so few are looked at one by one"
    from annoy import AnnoyIndex

    tree = AnnoyIndex(dims, "angular")
    for place, vector in enumerate(np.fromfile(folder / "vectors", "<f4").reshape(count, dims)):
        tree.add_item(place, vector)
    tree.build(200, 1)
    tree.save(str(folder / "tree"))
    sums = {name: checksum(folder / name) for name in ("vectors", "ids", "tree")}
    return {"width": count - 1, "recall": 1.0, "sums": sums}


class Machine(RuleBasedStateMachine):
    """Adds, deletes, replaces, rolls back, indexes, restarts, forgets, and asks."""

    @initialize(trees=st.booleans(), budget=st.sampled_from([20 * EACH, 1 << 20]))
    def start(self, trees: bool, budget: int) -> None:
        self.budget = budget
        self.folder = tempfile.TemporaryDirectory()
        self.store = OneThread(Path(self.folder.name) / "homed.db")
        self.build = wide if trees else flat
        self.model: dict[tuple[str, str, str, int], list[int]] = {}
        self.restart()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.reader.close()
            self.store.writer.close()
            self.folder.cleanup()

    @rule()
    def restart(self) -> None:
        self.vectors = Vectors(budget=self.budget)
        bench = Bench(self.store, Path(self.folder.name) / "vectors", self.build)
        self.keeper = Keeper(self.vectors.parts, bench, crossover=CROSSOVER)

    @rule(
        space=st.sampled_from(SPACES), scope=st.sampled_from(SCOPES), kind=st.sampled_from(KINDS),
        puts=st.dictionaries(
            st.sampled_from(ITEMS), st.lists(st.integers(0, len(PALETTE) - 1), min_size=1, max_size=3), min_size=1
        ),
        undone=st.booleans(),
    )  # fmt: skip
    def put(self, space: Space, scope: str, kind: str, puts: dict[int, list[int]], undone: bool) -> None:
        """Items of a scope are its own: the other scope's numbers begin elsewhere."""
        first = 100 * SCOPES.index(scope)

        def put(tx: Tx) -> None:
            number = rows.enter(tx, space)
            for item, colours in puts.items():
                tx.execute(
                    "DELETE FROM vectors WHERE space = ? AND kind = ? AND item = ?", (number, kind, first + item)
                )
                tx.many(
                    "INSERT INTO vectors (space, scope, kind, item, part, data) VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (number, scope, kind, first + item, part, rows.encoded(PALETTE[colour]))
                        for part, colour in enumerate(colours)
                    ],
                )
            if undone:
                self.search(tx, space, scope, kind, 0, 5)
                raise Undone

        try:
            self.store.now(self.store.writer, put, "COMMIT")
        except Undone:
            return
        for item, colours in puts.items():
            self.model[space.fingerprint, scope, kind, first + item] = colours

    @rule(scope=st.sampled_from(SCOPES), kind=st.sampled_from(KINDS), chosen=st.sets(st.sampled_from(ITEMS)))
    def delete(self, scope: str, kind: str, chosen: set[int]) -> None:
        """As the triggers do: of every space."""
        gone = [100 * SCOPES.index(scope) + item for item in chosen]
        sql = "DELETE FROM vectors WHERE kind = ? AND item = ?"
        self.store.now(self.store.writer, lambda tx: tx.many(sql, [(kind, item) for item in gone]), "COMMIT")
        self.model = {key: value for key, value in self.model.items() if key[2] != kind or key[3] not in gone}

    @rule()
    def look(self) -> None:
        trio.run(self.keeper.look)

    @rule(scope=st.sampled_from(SCOPES))
    def forget(self, scope: str) -> None:
        trio.run(self.keeper.forget_now, scope)
        for part, base in self.keeper._bases.items():
            assert part.scope != scope or self.alive(part) >= set(base.ids.tolist())

    def alive(self, part: rows.Part) -> set[int]:
        ids = self.store.now(self.store.reader, lambda tx: rows.ids_up_to(tx, part, 1 << 60), "ROLLBACK")
        return set(ids.tolist())

    @rule(colour=st.integers(0, len(PALETTE) - 1), limit=st.integers(1, 30))
    def ask(self, colour: int, limit: int) -> None:
        for space, scope, kind in product(SPACES, SCOPES, KINDS):
            self.ask_one(space, scope, kind, colour, limit)

    def ask_one(self, space: Space, scope: str, kind: str, colour: int, limit: int) -> None:
        def ask(tx: Tx) -> list[Near]:
            return self.search(tx, space, scope, kind, colour, limit)

        found = self.store.now(self.store.reader, ask, "ROLLBACK")
        true = {
            item: max(float(PALETTE[one] @ PALETTE[colour]) for one in colours)
            for (of_space, of_scope, of_kind, item), colours in self.model.items()
            if (of_space, of_scope, of_kind) == (space.fingerprint, scope, kind)
        }
        best = sorted(true.values(), reverse=True)[:limit]
        assert np.allclose([near.cosine for near in found], best, atol=1e-5)
        assert len({near.item for near in found}) == len(found) == len(best)
        assert all(np.isclose(true[near.item], near.cosine, atol=1e-5) for near in found)
        assert self.vectors.parts.nbytes <= self.budget

    def search(self, tx: Tx, space: Space, scope: str, kind: str, colour: int, limit: int) -> list[Near]:
        return self.vectors.nearest(
            tx, scope=scope, vector=PALETTE[colour], space=space.fingerprint, kinds=[kind], limit=limit
        )


async def flat(folder: Path, dims: int, count: int) -> Mapping[str, object]:
    """What the child says of so few: no trees."""
    await trio.lowlevel.checkpoint()
    return child.build(folder, dims, count)


Machine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestMachine = Machine.TestCase
