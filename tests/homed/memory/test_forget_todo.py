"""What a wish still has to remove, as rows."""

from __future__ import annotations

import pytest

from homed.memory import forget_todo, forgets
from homed.memory.forget_todo import Todo
from homed.store.rows import Tx


def test_it_comes_in_the_order_it_was_stored_in_each_once_and_goes_with_the_wish(tx: Tx) -> None:
    one, two = (forgets.ask(tx, "fact", target, wide=True, at=1.0) for target in ("f1", "f2"))
    forget_todo.put(tx, one.id, Todo(event=["e3", "e1"], name=["Ludmilla"]))
    forget_todo.put(tx, one.id, Todo(event=["e1", "e2"]))
    forget_todo.put(tx, two.id, Todo(event=["e1"]))
    assert forget_todo.some(tx, one.id, "event") == ["e3", "e1", "e2"]
    assert forget_todo.some(tx, one.id, "event", 1) == ["e3"]
    forget_todo.drop(tx, one.id, "event", ["e3", "e1"])
    assert forget_todo.some(tx, one.id, "event") == ["e2"]
    forgets.done(tx, one, at=2.0)
    assert tx.all("SELECT request, what, item FROM forget_todo") == [(two.id, "event", "e1")]


@pytest.mark.parametrize(("kind", "kept"), [("fact", True), ("entity", True), ("event", True), ("peer", False)])
def test_of_what_went_the_ids_stay_but_not_of_a_peer_nor_what_is_no_id(tx: Tx, kind: str, kept: bool) -> None:
    wish = forgets.ask(tx, kind, "x", wide=True, at=1.0)
    forget_todo.put(tx, wish.id, Todo(repeat=["s1"], record=["f1"], event=["e1"], thread=["t1"], name=["Ludmilla"]))
    for what, item in (("repeat", "s1"), ("record", "f1"), ("event", "e1"), ("event", "e2"), ("thread", "t1")):
        forget_todo.drop(tx, wish.id, what, [item])
    forgets.done(tx, wish, at=2.0)
    took = [("event", "e1"), ("record", "f1"), ("record", "s1"), ("thread", "t1")]
    assert tx.all("SELECT what, item FROM forget_took ORDER BY what, item") == (took if kept else [])


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ("SELECT item FROM forget_todo WHERE request = '' AND what = '' ORDER BY seq LIMIT 16", "forget_todo_next"),
        (
            "DELETE FROM forget_todo WHERE request = '' AND what = '' AND item IN ('a', 'b')",
            "request=? AND what=? AND item=?",
        ),
    ],
)
def test_taking_the_next_few_reads_no_others(tx: Tx, asked: str, index: str) -> None:
    plan = " ".join(str(row[-1]) for row in tx.all(f"EXPLAIN QUERY PLAN {asked}"))
    assert index in plan
    assert "TEMP B-TREE" not in plan
