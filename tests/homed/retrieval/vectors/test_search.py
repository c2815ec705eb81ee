"""A search finds what is committed, nothing else, and nothing of anybody else."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from homed.memory.ports import Space
from homed.retrieval.vectors import Vectors
from homed.retrieval.vectors.rows import HALF_ABOVE, Part
from homed.store.connection import Transaction, open_reader
from homed.store.rows import Tx
from tests.homed.retrieval.vectors.conftest import DIMS, SPACE, Rows, items, near
from tests.kit.dense import directions, unit

NORTH = unit([1, 0, 0, 0, 0, 0, 0, 0])
EAST = unit([0, 1, 0, 0, 0, 0, 0, 0])
BETWEEN = unit([1, 1, 0, 0, 0, 0, 0, 0])


def test_the_nearest_come_first_each_item_once_by_its_nearest_part(db: Rows) -> None:
    db.put(1, NORTH)
    db.put(2, EAST, BETWEEN)
    db.put(3, -NORTH)
    found = db.nearest(NORTH)
    assert items(found) == [1, 2, 3]
    assert [near.cosine for near in found] == pytest.approx([1, np.sqrt(0.5), -1], abs=1e-6)
    assert items(db.nearest(NORTH, limit=1)) == [1]


def test_an_item_of_many_parts_takes_no_places_from_others(db: Rows) -> None:
    db.put(1, *[NORTH] * 200)
    for item in range(2, 12):
        db.put(item, BETWEEN)
    assert set(items(db.nearest(NORTH, limit=10))) == {1, *range(3, 12)}, "of equal ones the newer"


def test_e28_what_was_committed_is_found_at_once(db: Rows) -> None:
    db.put(1, EAST)
    assert items(db.nearest(NORTH)) == [1]
    db.put(2, NORTH)
    assert items(db.nearest(NORTH)) == [2, 1]


def test_what_was_deleted_is_not_found_and_its_place_is_taken_by_the_next(db: Rows) -> None:
    db.put_all(directions(1, 300, DIMS))
    best = items(db.nearest(NORTH, limit=100))
    db.delete(*best[:90])
    assert items(db.nearest(NORTH, limit=10)) == best[90:]


def test_what_is_replaced_is_found_by_the_new_vector_only(db: Rows) -> None:
    db.put(1, NORTH)
    db.nearest(NORTH)
    db.delete(1)
    db.put(1, EAST)
    assert db.nearest(EAST) == [near(1, 1)]
    assert db.nearest(NORTH)[0].cosine == pytest.approx(0)


def test_b14_a_scope_finds_nothing_of_another(db: Rows) -> None:
    db.put(1, NORTH, scope="guest")
    db.put(2, EAST, scope="owner")
    assert (items(db.nearest(NORTH)), items(db.nearest(NORTH, scope="guest"))) == ([2], [1])
    assert db.nearest(NORTH, scope="") == db.nearest(NORTH, scope="own") == []


@pytest.mark.parametrize("dims", [DIMS, DIMS + 1])
def test_b11_e26_vectors_of_another_space_are_not_compared_but_counted(db: Rows, dims: int) -> None:
    other = Space("other", dims, 0.2)
    db.put(1, NORTH)
    db.put(2, unit([1] * dims), space=other)
    db.put(3, unit([1] * dims), space=other)
    assert items(db.nearest(NORTH)) == [1]
    assert items(db.nearest(unit([1] * dims), space="other")) == [3, 2]
    assert db.nearest(NORTH, space="third") == []
    assert db.nearest(unit([1] * (DIMS + 1))) == [], "an embedder that says it is another"
    known = db.read(lambda tx: db.vectors.counts(tx, "one"))
    assert (known.have, known.foreign) == (1, 2)
    assert db.read(lambda tx: db.vectors.counts(tx, "")).foreign == 3


def test_kinds_are_searched_together_and_apart(db: Rows) -> None:
    db.put(1, NORTH)
    db.put(1, BETWEEN, kind="record")
    db.put(7, EAST, kind="entity")
    assert db.nearest(NORTH, kinds=("record", "event", "entity")) == [
        near(1, 1), near(1, 0.5**0.5, "record"), near(7, 0, "entity")
    ]  # fmt: skip
    assert items(db.nearest(NORTH, kinds=("entity",))) == [7]
    assert db.nearest(NORTH, kinds=()) == []


@pytest.mark.parametrize("vector", [np.zeros(DIMS), np.full(DIMS, np.nan), np.ones((1, DIMS))])
def test_a_query_without_direction_finds_nothing(db: Rows, vector: NDArray[np.float64]) -> None:
    db.put(1, NORTH)
    assert db.nearest(vector.astype(np.float32)) == []


def test_cosines_of_items(db: Rows) -> None:
    db.put(1, NORTH)
    db.put(2, EAST, BETWEEN)
    db.put(3, NORTH, scope="guest")
    found = db.read(
        lambda tx: db.vectors.cosines(
            tx, scope="owner", vector=NORTH, space=SPACE.fingerprint, kind="event", items=[1, 2, 3, 4]
        )
    )
    assert found == {1: pytest.approx(1), 2: pytest.approx(0.5**0.5)}


def test_many_dimensions_are_halves(db: Rows) -> None:
    dims = HALF_ABOVE + 1
    made = directions(3, 20, dims)
    db.put_all(made)
    assert db.read(lambda tx: tx.value("SELECT length(data) FROM vectors")) == 2 * dims
    found = db.nearest(made[4], limit=3)
    assert found[0].item == 5
    assert found[0].cosine == pytest.approx(1, abs=1e-3)


def test_a_search_in_a_transaction_that_is_rolled_back_leaves_nothing(db: Rows) -> None:
    """Its ids are given again, to other vectors."""
    db.put(1, BETWEEN)
    db.nearest(NORTH)

    def put_and_look(tx: Tx) -> list[int]:
        db.writer.execute(
            "INSERT INTO vectors (space, scope, kind, item, data) VALUES (1, 'owner', 'event', 2, ?)",
            (NORTH.tobytes(),),
        )
        return items(db.search(tx, NORTH))

    assert db.write(put_and_look, fail=True) == [2, 1], "it sees its own"
    assert items(db.nearest(NORTH)) == [1]
    db.put(3, EAST)
    assert items(db.nearest(NORTH)) == [1, 3]
    assert db.nearest(EAST)[0] == near(3, 1)


def test_an_older_snapshot_sees_nothing_of_what_came_later_nor_makes_it_forgotten(db: Rows) -> None:
    db.put(1, EAST)
    db.reader.execute("BEGIN; SELECT count(*) FROM vectors")
    old = Transaction(db.reader, db.path)
    assert items(db.search(old, NORTH)) == [1]
    db.put(2, NORTH)
    second = open_reader(db.path)
    second.execute("BEGIN")
    new = Transaction(second, db.path)
    assert items(db.search(new, NORTH)) == [2, 1]
    assert items(db.search(old, NORTH)) == [1]
    assert items(db.search(new, NORTH)) == [2, 1]
    second.close()
    db.reader.execute("ROLLBACK")


def test_memory_is_bounded_and_what_was_asked_for_longest_ago_leaves_it(db: Rows) -> None:
    for number in range(6):
        db.put_all(directions(number, 100, DIMS), scope=f"s{number}", first=1 + 1000 * number)
    size = 100 * Part(1, DIMS, "", "").bytes_each
    db.vectors = Vectors(budget=int(2.5 * size))
    for number in (0, 1, 2, 0, 5):
        assert items(db.nearest(NORTH, limit=100, scope=f"s{number}"))
        assert db.vectors.parts.nbytes <= 2.5 * size
    assert {part.scope for part in db.vectors.parts._held} == {"s0", "s5"}


def test_a_part_that_is_too_large_for_memory_is_searched_all_the_same(db: Rows) -> None:
    made = directions(1, 5000, DIMS)
    db.put_all(made)
    db.vectors = Vectors(budget=1000)
    assert items(db.nearest(NORTH, limit=20)) == [int(n) + 1 for n in np.argsort(-(made @ NORTH))[:20]]
    assert db.vectors.parts.nbytes <= 1000


def test_many_threads_at_once_find_the_same(db: Rows) -> None:
    made = directions(1, 3000, DIMS)
    db.put_all(made)
    wanted = [int(n) + 1 for n in np.argsort(-(made @ NORTH))[:10]]
    wrong: list[object] = []

    def ask() -> None:
        reader = open_reader(db.path)
        for _ in range(20):
            reader.execute("BEGIN")
            found = items(db.search(Transaction(reader, db.path), NORTH))
            reader.execute("ROLLBACK")
            if found != wanted:
                wrong.append(found)
        reader.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e30])
def test_a_row_of_no_direction_is_near_nothing_and_hides_nothing(db: Rows, wrong: float) -> None:
    for item in range(1, 61):
        db.put(item, NORTH if item == 2 else EAST)
    bad = np.full(DIMS, wrong, "<f4").tobytes()
    db.write(lambda tx: tx.execute("UPDATE vectors SET data = ? WHERE item > 3", (bad,)))
    found = db.nearest(NORTH, limit=1)
    assert found == [near(2, 1.0)]
    assert max(abs(one.cosine) for one in db.nearest(NORTH, limit=60)) < 1.001
