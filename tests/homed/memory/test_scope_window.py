"""One window a scope: what is read of it, and that no other scope has a part in it."""

from __future__ import annotations

from typing import Any

from homed.memory import events, inputs, scope_window, threads
from homed.memory.records import EventKind, Input, NewEvent, Thread
from homed.memory.shorten import event_tokens
from homed.memory.tokens import estimate_tokens
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input


def turn(tx: Tx, thread: Thread, **more: Any) -> Input:
    accepted, _ = inputs.accept(tx, new_input(thread, **more), at=1.0)
    return inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=1.0)


def texts(tx: Tx, scope: str = "owner", **more: int) -> list[str]:
    return [event.text for event in scope_window.window_events(tx, scope, **more)]


def test_the_window_holds_every_conversation_of_its_scope_in_time_order(tx: Tx, thread: Thread) -> None:
    second = threads.create(tx, scope="owner", channel="cli", title="", at=1.0)
    group = threads.create(tx, scope="group:1", channel="cli", title="", at=1.0)
    for number, where in enumerate([thread, second, group, thread]):
        events.append(tx, turn(tx, where), NewEvent(EventKind.USER, str(number)), at=1.0)
    assert texts(tx) == ["0", "1", "3"]
    assert texts(tx, "group:1") == ["2"]
    assert texts(tx, limit=2) == ["1", "3"]
    assert scope_window.totals(tx, "owner") == (3, sum(e.tokens for e in scope_window.window_events(tx, "owner")))


def test_no_memory_events_are_not_in_it_even_while_their_turn_runs(tx: Tx, thread: Thread) -> None:
    events.append(tx, turn(tx, thread, no_memory=True), NewEvent(EventKind.USER, "secret"), at=1.0)
    assert (texts(tx), scope_window.totals(tx, "owner")) == ([], (0, 0))


def test_e3_a_tool_result_counts_whole(tx: Tx, thread: Thread) -> None:
    big = events.append(tx, turn(tx, thread), NewEvent(EventKind.TOOL, "word " * 20_000, {"call_id": "A"}), at=1.0)
    assert big.tokens > 15_000
    assert scope_window.totals(tx, "owner")[1] == big.tokens


def test_what_an_earlier_release_stored_is_counted_when_it_is_read(tx: Tx, thread: Thread) -> None:
    event = events.append(tx, turn(tx, thread), NewEvent(EventKind.USER, "some words of it"), at=1.0)
    tx.execute("UPDATE events SET tokens = 0")
    [read] = scope_window.window_events(tx, "owner")
    assert read.tokens == event.tokens == event_tokens(event, estimate_tokens) > 0
    assert scope_window.totals(tx, "owner") == (1, 0)
    events.count_tokens(tx, [event.seq])
    assert scope_window.totals(tx, "owner") == (1, event.tokens)


def test_the_totals_do_not_read_the_texts(tx: Tx) -> None:
    steps = tx.all(
        "EXPLAIN QUERY PLAN SELECT count(*), total(tokens) FROM events"
        " WHERE scope = 'x' AND layer = 'context' AND no_memory = 0"
    )
    assert "COVERING INDEX" in str(steps)


def test_conversations_that_are_going_on_last_used_first(tx: Tx, thread: Thread) -> None:
    for name, at in (("old", 10.0), ("new", 90.0), ("newer", 95.0)):
        threads.create(tx, scope="owner", channel="cli", title=name, at=at)
    threads.create(tx, scope="group:1", channel="cli", title="theirs", at=99.0)
    found = scope_window.active_threads(tx, "owner", since=90.0)
    assert [tx.value("SELECT title FROM threads WHERE id = ?", (id_,)) for id_ in found] == ["newer", "new"]


def test_the_last_inputs_of_the_scope_newest_first_and_none_that_is_private(tx: Tx, thread: Thread) -> None:
    group = threads.create(tx, scope="group:1", channel="cli", title="", at=1.0)
    for text, where, private in (("a", thread, False), ("b", group, False), ("c", thread, True), ("d", thread, False)):
        accepted, _ = inputs.accept(tx, new_input(where, text, no_memory=private), at=1.0)
        inputs.begin(tx, accepted.id, turn=f"turn_{text}", at=1.0)
        inputs.finish(tx, accepted.id, ANSWERED, [], at=2.0)
    assert scope_window.last_inputs(tx, "owner") == ["d", "a"]
    assert scope_window.last_inputs(tx, "owner", limit=1) == ["d"]
