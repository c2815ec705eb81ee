"""An input is accepted once, runs as often as it must, and ends once."""

from __future__ import annotations

import pytest

from homed.errors import Conflict, InvalidInput, NotFound
from homed.memory import events, inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, Outcome, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input


def test_an_accepted_input_is_as_it_came(tx: Tx, thread: Thread) -> None:
    stored, duplicate = inputs.accept(tx, new_input(thread, "你好 🌍", no_memory=True, can_ask=True), at=5.0)
    assert not duplicate
    assert inputs.get(tx, stored.id) == stored
    assert (stored.text, stored.state, stored.attempts, stored.turn) == ("你好 🌍", InputState.ACCEPTED, 0, "")
    assert (stored.no_memory, stored.can_ask, stored.accepted_at, stored.outcome) == (True, True, 5.0, None)


def test_accepting_needs_a_thread_and_moves_it_to_the_top(tx: Tx, thread: Thread) -> None:
    ghost = Thread("th_ghost", "owner", "cli", "", 0, 0)
    with pytest.raises(NotFound):
        inputs.accept(tx, new_input(ghost), at=5.0)
    inputs.accept(tx, new_input(thread), at=5.0)
    found = threads.get(tx, thread.id)
    assert found is not None
    assert found.updated_at == 5.0


def test_e42_the_same_client_msg_id_gets_the_first_input_whatever_its_text(tx: Tx, thread: Thread) -> None:
    first, _ = inputs.accept(tx, new_input(thread, "one", client_msg_id="m1"), at=1.0)
    inputs.finish(tx, first.id, ANSWERED, [], at=2.0)
    again, duplicate = inputs.accept(tx, new_input(thread, "two", client_msg_id="m1"), at=3.0)
    assert duplicate
    assert (again.id, again.text, again.outcome) == (first.id, "one", ANSWERED)


@pytest.mark.parametrize("other", [{"peer": "cli:guest"}, {"channel": "web"}, {"client_msg_id": "m2"}])
def test_another_peer_channel_or_id_is_another_input(tx: Tx, thread: Thread, other: dict[str, str]) -> None:
    inputs.accept(tx, new_input(thread, client_msg_id="m1"), at=1.0)
    _, duplicate = inputs.accept(tx, new_input(thread, **{"client_msg_id": "m1", **other}), at=1.0)
    assert not duplicate


def test_without_a_client_msg_id_nothing_is_a_duplicate(tx: Tx, thread: Thread) -> None:
    assert [inputs.accept(tx, new_input(thread), at=1.0)[1] for _ in range(3)] == [False] * 3


def test_the_first_run_gives_the_turn_and_a_resumed_one_keeps_it(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    first = inputs.begin(tx, accepted.id, turn="turn_a", at=2.0)
    second = inputs.begin(tx, accepted.id, turn="turn_b", at=9.0)
    assert (first.turn, first.attempts, first.state) == ("turn_a", 1, InputState.RUNNING)
    assert (second.turn, second.attempts) == ("turn_a", 2)
    assert tx.all("SELECT id, started_at, state FROM turns") == [("turn_a", 2.0, "running")]


def test_finishing_stores_events_outcome_and_the_end_of_the_turn(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    inputs.begin(tx, accepted.id, turn="turn_a", at=2.0)
    (event,) = inputs.finish(tx, accepted.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "done")], at=3.0)
    ended = inputs.get(tx, accepted.id)
    assert ended is not None
    assert (ended.state, ended.outcome) == (InputState.ANSWERED, ANSWERED)
    assert events.of_turn(tx, "turn_a") == [event]
    assert tx.one("SELECT ended_at, state, usage FROM turns") == (
        3.0, "answered", '{"prompt":3,"completion":1,"cached":0}',
    )  # fmt: skip


@pytest.mark.parametrize("second", [ANSWERED, Outcome(InputState.STOPPED), Outcome(InputState.REPORTED)])
def test_a_second_end_is_a_conflict_and_leaves_the_first(tx: Tx, thread: Thread, second: Outcome) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    inputs.begin(tx, accepted.id, turn="turn_a", at=2.0)
    inputs.finish(tx, accepted.id, ANSWERED, [], at=3.0)
    with pytest.raises(Conflict, match="already ended"):
        inputs.finish(tx, accepted.id, second, [NewEvent(EventKind.ASSISTANT, "twice")], at=4.0)
    assert events.of_turn(tx, "turn_a") == []
    ended = inputs.get(tx, accepted.id)
    assert ended is not None
    assert ended.outcome == ANSWERED


def test_what_has_ended_neither_begins_again_nor_changes_its_text(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    inputs.finish(tx, accepted.id, Outcome(InputState.REFUSED, error="no"), [], at=3.0)
    with pytest.raises(Conflict):
        inputs.begin(tx, accepted.id, turn="turn_a", at=4.0)
    with pytest.raises(Conflict):
        inputs.replace_text(tx, accepted.id, "other")


@pytest.mark.parametrize("state", [InputState.ACCEPTED, InputState.RUNNING])
def test_only_an_end_ends_it(tx: Tx, thread: Thread, state: InputState) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    with pytest.raises(InvalidInput):
        inputs.finish(tx, accepted.id, Outcome(state), [], at=3.0)


def test_unfinished_are_those_without_an_outcome_oldest_first(tx: Tx, thread: Thread) -> None:
    first, second, third = (inputs.accept(tx, new_input(thread, t), at=9.0)[0] for t in "abc")
    inputs.begin(tx, first.id, turn="turn_a", at=9.0)
    inputs.finish(tx, second.id, ANSWERED, [], at=9.0)
    assert [i.id for i in inputs.unfinished(tx)] == [first.id, third.id]


def test_what_a_stage_scrubbed_replaces_what_came(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread, "my card is 4111"), at=1.0)
    inputs.replace_text(tx, accepted.id, "my card is [gone]")
    found = inputs.get(tx, accepted.id)
    assert found is not None
    assert found.text == "my card is [gone]"
    assert tx.value("SELECT count(*) FROM inputs WHERE text LIKE '%4111%'") == 0


def test_a_no_memory_turn_is_archived_at_its_end_not_before(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread, no_memory=True), at=1.0)
    running = inputs.begin(tx, accepted.id, turn="turn_a", at=2.0)
    event = events.append(tx, running, NewEvent(EventKind.USER, "hush"), at=2.0)
    assert (event.no_memory, event.layer) == (True, "context")
    (last,) = inputs.finish(tx, accepted.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "ok")], at=3.0)
    assert [e.layer for e in events.of_turn(tx, "turn_a")] == ["archived", "archived"]
    assert last == events.of_turn(tx, "turn_a")[-1]


def test_a_no_memory_input_refused_before_its_turn_is_archived_as_well(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread, no_memory=True), at=1.0)
    inputs.finish(tx, accepted.id, Outcome(InputState.REFUSED), [NewEvent(EventKind.USER, "hush")], at=3.0)
    assert tx.all("SELECT layer FROM events") == [("archived",)]


def test_how_it_ended_is_kept_with_its_usage_and_duration(tx: Tx, thread: Thread) -> None:
    outcome = Outcome(InputState.FAILED, "half", "It broke.", "Try again.", {"prompt": 3, "completion": 1}, 1234)
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    inputs.finish(tx, accepted.id, outcome, [], at=3.0)
    found = inputs.get(tx, accepted.id)
    assert found is not None
    assert found.outcome == outcome


def test_an_outcome_stored_without_a_duration_is_still_read(tx: Tx, thread: Thread) -> None:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    inputs.finish(tx, accepted.id, ANSWERED, [], at=3.0)
    tx.execute("UPDATE inputs SET outcome = json_remove(outcome, '$.ms')")
    found = inputs.get(tx, accepted.id)
    assert found is not None
    assert found.outcome == ANSWERED


def test_a_turn_ends_on_the_page_of_history_that_has_its_last_event(tx: Tx, thread: Thread) -> None:
    """Ended turns only, each on one page only, whichever turns the page touches."""
    seqs: dict[str, list[int]] = {}
    for turn in ("turn_a", "turn_b", "turn_c"):
        accepted, _ = inputs.accept(tx, new_input(thread, turn), at=1.0)
        running = inputs.begin(tx, accepted.id, turn=turn, at=2.0)
        stored = [events.append(tx, running, NewEvent(EventKind.USER, turn), at=2.0)]
        if turn != "turn_c":
            stored += inputs.finish(tx, accepted.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "ok")], at=3.0)
        seqs[turn] = [event.seq for event in stored]
    all_turns = {*seqs, "", "turn_x"}

    def ended(before: int | None, turns: set[str] = all_turns) -> list[str]:
        return [input_.turn for input_ in inputs.ended_before(tx, turns, before=before)]

    assert ended(None) == ["turn_a", "turn_b"]
    assert ended(None, {"turn_b", "turn_c"}) == ["turn_b"]
    assert ended(seqs["turn_b"][1]) == ["turn_a"], "turn_b goes on in the page after"
    assert ended(seqs["turn_a"][0]) == []
    assert ended(None, set()) == []


def test_an_input_that_is_not_there_is_not_found(tx: Tx) -> None:
    assert inputs.get(tx, "in_x") is None
    for use in (
        lambda: inputs.begin(tx, "in_x", turn="t", at=1.0),
        lambda: inputs.finish(tx, "in_x", ANSWERED, [], at=1.0),
        lambda: inputs.replace_text(tx, "in_x", ""),
    ):
        with pytest.raises(NotFound):
            use()
