"""Citations: what an answer names by its id counts if its conversation was told it, once a turn; forged ones do not."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from homed.memory import citations, events, forget, injections, inputs, stable, threads
from homed.memory.injections import Injection, Line
from homed.memory.records import EventKind, Input, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import new_input


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("Tea (id:9f3c1a7b).", ["9f3c1a7b"]), ("茶（id：9F3C1A7B）", ["9f3c1a7b"]), ("see id: 9f3c1a7b", ["9f3c1a7b"]),
        ("fact_00aa00aa9f3c1a7b and summary_0011223344556677", ["9f3c1a7b", "44556677"]),
        ("id:9f3c1a7b, id:9f3c1a7b, id:0a0a0a0a", ["9f3c1a7b", "0a0a0a0a"]),
        ("9f3c1a7b", []), ("id:9f3c1a7", []), ("id:9f3c1a7b8", []), ("grid:9f3c1a7b", []), ("id:9f3c1a7g", []),
        ("id:9f3c1a7bx", []), ("turn_00aa00aa9f3c1a7b", []), ("", []),
    ],
)  # fmt: skip
def test_which_ids_a_text_names(text: str, digits: list[str]) -> None:
    assert citations.named(text) == digits


def test_a_text_full_of_ids_is_looked_at_up_to_a_number() -> None:
    text = " ".join(f"id:{number:08x}" for number in range(10_000))
    assert len(citations.named(text)) == citations.MOST


def fact(tx: Tx, text: str, scope: str = "owner") -> str:
    row = {
        "scope": scope, "record": "fact", "kind": "fact", "text": text, "key": text, "origin": "auto",
        "extractor": "model",
    }  # fmt: skip
    return stable.insert(tx, row, at=1.0)


def begun(tx: Tx, thread: Thread, name: str) -> Input:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    return inputs.begin(tx, accepted.id, turn=name, at=1.0)


def tell(tx: Tx, given: Input, *ids: str) -> None:
    lines = tuple(Line(id_, "fact", 1) for id_ in ids)
    injections.record(tx, Injection(given.turn, given.scope, given.thread, 1.0, "hit", 1, lines=lines))


def count(tx: Tx, given: Input, answer: str) -> list[str]:
    return citations.count(
        tx, scope=given.scope, thread=given.thread, turn=given.turn, answer=answer, at=9.0
    )  # fmt: skip


def cited(tx: Tx, record: str) -> tuple[int, float | None]:
    found = stable.get(tx, record)
    assert found is not None
    return found.cited, found.cited_at


def test_what_the_conversation_was_told_counts_once_a_turn(tx: Tx, thread: Thread) -> None:
    one, other = fact(tx, "a"), fact(tx, "b")
    first, second = begun(tx, thread, "t1"), begun(tx, thread, "t2")
    tell(tx, first, one)
    answer = f"As I know (id:{one[-8:]}, id:{one[-8:]}), and id:{other[-8:]}."
    assert count(tx, first, answer) == [one]
    assert count(tx, first, answer) == [], "the same turn"
    assert count(tx, second, answer) == [one], "an earlier turn of it was told"
    assert cited(tx, one) == (2, 9.0)
    assert cited(tx, other) == (0, None), "nobody told it: it is forged"
    assert [(c.record, c.turn) for c in citations.of_record(tx, one)] == [(one, "t1"), (one, "t2")]
    assert [c.record for c in citations.of_turn(tx, "t2")] == [one]


def test_what_another_conversation_was_told_does_not_count(tx: Tx, thread: Thread) -> None:
    one, elsewhere = fact(tx, "a"), threads.create(tx, scope="owner", channel="cli", title="", at=1.0)
    tell(tx, begun(tx, elsewhere, "t1"), one)
    assert count(tx, begun(tx, thread, "t2"), f"id:{one[-8:]}") == []


def result(tx: Tx, given: Input, name: str, answer: object, status: str = "ok") -> None:
    data: dict[str, Any] = {"call_id": "c", "name": name, "status": status}
    text = answer if isinstance(answer, str) else json.dumps(answer)
    events.append(tx, given, NewEvent(EventKind.TOOL, text, data), at=2.0)


@pytest.mark.parametrize(
    ("name", "answer", "counts"),
    [
        ("memory_recall", {"found": [{"id": "ID", "text": "x"}]}, True),
        ("memory_open", {"id": "ID", "text": "x"}, True),
        ("memory_recall", {"found": [{"id": "00000000", "text": "id:ID"}]}, False),
        ("memory_open", {"id": "00000000", "excerpt": "(id:ID)"}, False),
        ("web_fetch", {"id": "ID"}, False),
        ("memory_recall", "id:ID", False),
        ("memory_recall", [1, "ID"], False),
    ],
)
def test_what_it_looked_up_there_counts_and_what_a_text_says_does_not(
    tx: Tx, thread: Thread, name: str, answer: Any, counts: bool
) -> None:
    """B15: a page or a record may hold any eight digits."""
    one, given = fact(tx, "a"), begun(tx, thread, "t1")
    result(tx, given, name, json.loads(json.dumps(answer).replace("ID", one[-8:])))
    assert count(tx, given, f"id:{one[-8:]}") == ([one] if counts else [])


def test_a_failed_look_does_not_count(tx: Tx, thread: Thread) -> None:
    one, given = fact(tx, "a"), begun(tx, thread, "t1")
    result(tx, given, "memory_open", {"id": one[-8:]}, status="error")
    assert count(tx, given, f"id:{one[-8:]}") == []


def test_no_scope_cites_another_and_what_is_gone_counts_nothing(tx: Tx, thread: Thread) -> None:
    """B14"""
    theirs, gone, given = fact(tx, "a", "guest:x"), fact(tx, "b"), begun(tx, thread, "t1")
    tell(tx, given, theirs, gone)
    result(tx, given, "memory_open", {"id": theirs[-8:]})
    forget.remove_records(tx, [gone], at=2.0)
    assert count(tx, given, f"id:{theirs[-8:]} id:{gone[-8:]}") == []
    assert cited(tx, theirs) == (0, None)


def test_citations_go_with_their_record(tx: Tx, thread: Thread) -> None:
    one, given = fact(tx, "a"), begun(tx, thread, "t1")
    tell(tx, given, one)
    assert count(tx, given, f"id:{one[-8:]}") == [one]
    forget.remove_records(tx, [one], at=2.0)
    assert citations.of_turn(tx, "t1") == []


def test_looking_up_what_was_told_does_not_walk_all_that_a_long_conversation_was_told(tx: Tx, thread: Thread) -> None:
    one = fact(tx, "a")
    first = begun(tx, thread, "t1")
    tell(tx, first, one)
    asked: list[str] = []

    class Spy:
        """The transaction, and what is asked of it."""

        def all(self, sql: str, params: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
            rows = tx.all(f"EXPLAIN QUERY PLAN {sql}", params)
            asked.extend(str(row[3]) for row in rows)
            return tx.all(sql, params)

    assert injections.told_in(cast("Tx", Spy()), thread.id, [one]) == {one}
    assert any("injected_of (id=?)" in step for step in asked)
    assert not any("(thread=?)" in step for step in asked), "each of its turns"
