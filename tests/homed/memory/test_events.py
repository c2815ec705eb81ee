"""Events are appended whole and read back in order."""

from __future__ import annotations

from homed.memory import events, inputs, threads, window
from homed.memory.records import EventKind, Input, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input


def running(tx: Tx, thread: Thread, turn: str, *, no_memory: bool = False) -> Input:
    accepted, _ = inputs.accept(tx, new_input(thread, no_memory=no_memory), at=1.0)
    return inputs.begin(tx, accepted.id, turn=turn, at=1.0)


def call(name: str) -> dict[str, object]:
    return {"id": name, "name": "run", "arguments": {"a": 1}}


def ask(*names: str) -> NewEvent:
    return NewEvent(EventKind.ASSISTANT, "", {"calls": [call(name) for name in names]})


def result(name: str) -> NewEvent:
    return NewEvent(EventKind.TOOL, "ok", {"call_id": name, "name": "run", "status": "ok"})


def test_text_and_data_come_back_byte_for_byte(tx: Tx, thread: Thread) -> None:
    """A24: CJK, emoji, nulls and line ends are stored as they are."""
    text = "你好🌍\x00\r\n\u2028 e\u0301"
    stored = events.append(
        tx, running(tx, thread, "t1"), NewEvent(EventKind.USER, text, {"n": [1, {"字": None}]}), at=2.5
    )
    (found,) = events.of_turn(tx, "t1")
    assert found == stored
    assert (found.text, found.data, found.created_at) == (text, {"n": [1, {"字": None}]}, 2.5)


def test_a_user_event_is_the_peers_and_others_are_nobodys_unless_said(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    said = [
        events.append(tx, input_, new, at=1.0).peer
        for new in (
            NewEvent(EventKind.USER, ""),
            NewEvent(EventKind.ASSISTANT, ""),
            NewEvent(EventKind.NOTE, "", peer="x"),
        )
    ]
    assert said == ["cli:owner", "", "x"]


def test_history_pages_backwards_without_gap_or_overlap(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    for n in range(7):
        events.append(tx, input_, NewEvent(EventKind.NOTE, str(n)), at=1.0)
    pages: list[list[str]] = []
    before, more = None, True
    while more:
        page, more = events.history(tx, thread.id, before=before, limit=3)
        pages.append([event.text for event in page])
        before = page[0].seq
    assert pages == [["4", "5", "6"], ["1", "2", "3"], ["0"]]


def test_history_is_of_one_thread_and_shows_archived_events_too(tx: Tx, thread: Thread) -> None:
    other = threads.create(tx, scope="owner", channel="cli", title="", at=1.0)
    events.append(tx, running(tx, other, "t2"), NewEvent(EventKind.NOTE, "elsewhere"), at=1.0)
    hushed = running(tx, thread, "t1", no_memory=True)
    inputs.finish(tx, hushed.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "hush")], at=2.0)
    assert [e.text for e in events.history(tx, thread.id, before=None, limit=9)[0]] == ["hush"]


def test_a3_calls_without_a_result_are_found_in_the_order_they_were_made(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    for new in (ask("A", "B", "C"), result("B")):
        events.append(tx, input_, new, at=1.0)
    assert events.dangling_calls(tx, "t1") == [call("A"), call("C")]
    for name in "AC":
        events.append(tx, input_, result(name), at=1.0)
    assert events.dangling_calls(tx, "t1") == []


def test_a3_an_id_used_again_later_in_the_turn_is_open_again(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    for new in (ask("A"), result("A"), ask("A")):
        events.append(tx, input_, new, at=1.0)
    assert events.dangling_calls(tx, "t1") == [call("A")]


def test_a3_another_turns_calls_are_not_this_ones(tx: Tx, thread: Thread) -> None:
    events.append(tx, running(tx, thread, "t1"), ask("A"), at=1.0)
    events.append(tx, running(tx, thread, "t2"), ask("B"), at=1.0)
    assert events.dangling_calls(tx, "t2") == [call("B")]


def test_the_window_is_this_threads_last_events_in_time_order(tx: Tx, thread: Thread) -> None:
    other = threads.create(tx, scope="owner", channel="cli", title="", at=1.0)
    input_ = running(tx, thread, "t1")
    for n in range(5):
        events.append(tx, input_, NewEvent(EventKind.USER, str(n)), at=1.0)
    events.append(tx, running(tx, other, "t2"), NewEvent(EventKind.USER, "elsewhere"), at=1.0)
    shown = window.recent(tx, scope="owner", thread=thread.id, limit=3)
    assert [event.text for event in shown] == ["2", "3", "4"]
    assert window.recent(tx, scope="guest:x", thread=thread.id, limit=3) == []


def test_a1_the_windows_limit_does_not_fall_between_a_call_and_its_results(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    for new in (NewEvent(EventKind.USER, "go"), ask("A", "B"), result("A"), result("B")):
        events.append(tx, input_, new, at=1.0)
    for limit in (1, 2, 3):
        shown = window.recent(tx, scope="owner", thread=thread.id, limit=limit)
        assert [event.kind for event in shown] == [EventKind.ASSISTANT, EventKind.TOOL, EventKind.TOOL]


def test_a_no_memory_turn_is_in_its_own_window_and_in_no_later_one(tx: Tx, thread: Thread) -> None:
    hushed = running(tx, thread, "t1", no_memory=True)
    events.append(tx, hushed, NewEvent(EventKind.USER, "hush"), at=1.0)
    assert len(window.recent(tx, scope="owner", thread=thread.id, limit=9)) == 1
    inputs.finish(tx, hushed.id, ANSWERED, [], at=2.0)
    assert window.recent(tx, scope="owner", thread=thread.id, limit=9) == []


def test_a_no_memory_result_leaves_no_orphan_call_in_a_later_view(tx: Tx, thread: Thread) -> None:
    input_ = running(tx, thread, "t1")
    for new in (
        NewEvent(EventKind.USER, "go"),
        ask("A"),
        NewEvent(EventKind.TOOL, "s", {"call_id": "A"}, no_memory=True),
    ):
        events.append(tx, input_, new, at=1.0)
    inputs.finish(tx, input_.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "done")], at=2.0)
    shown = window.plan(window.recent(tx, scope="owner", thread=thread.id, limit=9), budget_tokens=1000)
    assert [event.text for event in shown] == ["go", "done"]


def test_a16_what_the_view_leaves_out_is_still_there_verbatim(tx: Tx, thread: Thread) -> None:
    """200 events and a budget of 4k tokens: event 3 is not shown, and not lost."""
    input_ = running(tx, thread, "t1")
    stored = [
        events.append(tx, input_, NewEvent(EventKind.NOTE, f"fact {n}: " + "words " * 50), at=float(n))
        for n in range(200)
    ]
    shown = window.plan(window.recent(tx, scope="owner", thread=thread.id, limit=200), budget_tokens=4_000)
    assert 0 < len(shown) < 200
    assert stored[3] not in shown
    assert stored[3] in events.history(tx, thread.id, before=None, limit=200)[0]
