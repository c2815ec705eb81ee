"""peek → confirm → back in the window; whatever happens in between, an event is in one layer."""

from __future__ import annotations

from dataclasses import dataclass

import apsw
import pytest

from homed.memory import cold, events, inputs, ledger, scope_window, threads
from homed.memory.records import Event, EventKind, Input, InputState, NewEvent, NewInput, Outcome, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input
from tests.kit.memory_check import faults

DAY = 86_400.0
CALLS = [{"id": name, "name": "run", "arguments": {}} for name in "AB"]


@dataclass
class Turns:
    """Turns of a thread, each begun."""

    tx: Tx
    thread: Thread
    count: int = 0

    def begin(self, thread: Thread | None = None, **more: object) -> Input:
        self.count += 1
        given = new_input(thread or self.thread, f"question {self.count}", **more)
        accepted, _ = inputs.accept(self.tx, given, at=1.0)
        return inputs.begin(self.tx, accepted.id, turn=f"turn{self.count}", at=1.0)

    def done(self, text: str = "something", *, calls: bool = False) -> list[Event]:
        """A turn that has been answered; with its calls and results."""
        input_ = self.begin()
        said = [NewEvent(EventKind.USER, text)]
        if calls:
            said += [NewEvent(EventKind.ASSISTANT, "", {"calls": CALLS})]
            said += [NewEvent(EventKind.TOOL, "ok", {"call_id": call["id"]}) for call in CALLS]
        return inputs.finish(self.tx, input_.id, ANSWERED, said, at=2.0)


@pytest.fixture
def turns(tx: Tx, thread: Thread) -> Turns:
    return Turns(tx, thread)


def layers(tx: Tx, *moved: Event) -> list[str]:
    return [str(tx.value("SELECT layer FROM events WHERE id = ?", (event.id,))) for event in moved]


def sunk(tx: Tx, turns: Turns, text: str = "old") -> Event:
    [event] = turns.done(text)
    assert len(cold.sink(tx, "owner", [event.id], at=1.0)) == 1
    return event


def test_a16_what_sinks_leaves_the_window_and_is_all_there(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    event = sunk(tx, turns, "two days of work")
    assert scope_window.window_events(tx, "owner") == []
    assert tx.value("SELECT count(*) FROM events WHERE layer = 'cold'") == 1
    assert tx.value("SELECT text FROM events WHERE id = ?", (event.id,)) == "two days of work"
    assert faults(db) == []


def test_a1_one_event_of_a_call_takes_the_whole_unit_along_both_ways(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    asked, call, *results = turns.done(calls=True)
    assert len(cold.sink(tx, "owner", [results[1].id], at=1.0)) == 3
    assert layers(tx, asked, call, *results) == ["context", "cold", "cold", "cold"]
    reader = turns.begin()
    cold.peek(tx, [results[0].id], reader.turn, 3.0)
    inputs.finish(tx, reader.id, ANSWERED, [], at=3.0)
    assert layers(tx, call, *results) == ["context"] * 3
    assert faults(db) == []


def test_blocks_go_along_with_their_event(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    [event] = turns.done()
    tx.execute(
        "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at)"
        " VALUES ('b1', 'x', 'image/png', 1, ?, 1.0)",
        (event.id,),
    )

    def holder() -> object:
        return tx.value("SELECT holder_layer FROM blocks WHERE id = 'b1'")

    cold.sink(tx, "owner", [event.id], at=1.0)
    assert holder() == "cold"
    reader = turns.begin()
    cold.peek(tx, [event.id], reader.turn, 3.0)
    assert holder() == "cold"
    inputs.finish(tx, reader.id, ANSWERED, [], at=3.0)
    assert (holder(), faults(db)) == ("context", [])


def test_a_peek_counts_one_access_of_the_turn_and_changes_nothing_else(tx: Tx, turns: Turns) -> None:
    event, reader = sunk(tx, turns), turns.begin()
    assert cold.peek(tx, [event.id, event.id], reader.turn, 3.0) == [event.id]
    cold.peek(tx, [event.id], reader.turn, 4.0)
    assert accesses(tx) == {(reader.turn, event.id): 3.0}
    assert layers(tx, event) == ["cold"]
    other = turns.begin()
    cold.peek(tx, [event.id], other.turn, 5.0)
    assert accesses(tx) == {(reader.turn, event.id): 3.0, (other.turn, event.id): 5.0}


def test_accesses_of_more_than_thirty_days_ago_are_removed(tx: Tx, turns: Turns) -> None:
    event, first, second, third = sunk(tx, turns), turns.begin(), turns.begin(), turns.begin()
    cold.peek(tx, [event.id], first.turn, 3.0)
    cold.peek(tx, [event.id], second.turn, 3.0 + 29 * DAY)
    assert len(accesses(tx)) == 2
    cold.peek(tx, [], third.turn, 3.0 + 31 * DAY)
    assert accesses(tx) == {(second.turn, event.id): 3.0 + 29 * DAY}


def accesses(tx: Tx) -> dict[tuple[object, object], object]:
    return {(turn, event): at for turn, event, at in tx.all("SELECT turn, event, at FROM accesses")}


def test_answered_what_was_looked_at_is_back_at_its_place_in_time(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    first = sunk(tx, turns, "first")
    [second] = turns.done("second")
    reader = turns.begin()
    cold.peek(tx, [first.id], reader.turn, 3.0)
    inputs.finish(tx, reader.id, ANSWERED, [NewEvent(EventKind.ASSISTANT, "third")], at=3.0)
    window = scope_window.window_events(tx, "owner")
    assert [event.text for event in window] == ["first", "second", "third"]
    assert [event.source for event in window] == ["cold_storage", "", ""]
    assert [(e.kind, e.data) for e in ledger.of_turn(tx, reader.turn)] == [("confirm", {"back": [first.id]})]
    assert faults(db) == []
    assert second.source == ""


@pytest.mark.parametrize(
    "state", [state for state in InputState if state.terminal and state is not InputState.ANSWERED]
)
def test_e9_a_turn_that_ends_otherwise_leaves_all_cold(tx: Tx, turns: Turns, state: InputState) -> None:
    event, reader = sunk(tx, turns), turns.begin()
    cold.peek(tx, [event.id], reader.turn, 3.0)
    inputs.finish(tx, reader.id, Outcome(state), [], at=3.0)
    assert (layers(tx, event), ledger.of_turn(tx, reader.turn)) == (["cold"], [])


def test_the_second_turn_that_looked_finds_it_there_already(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    event, one, two = sunk(tx, turns), turns.begin(), turns.begin()
    for reader in (one, two):
        cold.peek(tx, [event.id], reader.turn, 3.0)
    inputs.finish(tx, one.id, ANSWERED, [], at=3.0)
    assert cold.confirm(tx, two.turn) == []
    inputs.finish(tx, two.id, ANSWERED, [], at=4.0)
    assert (layers(tx, event), faults(db)) == (["context"], [])
    assert [r.data for r in ledger.of_turn(tx, one.turn)] == [{"back": [event.id]}]
    assert [r.data for r in ledger.of_turn(tx, two.turn)] == [{"back": [], "there": [event.id]}]


def test_what_sinks_again_is_recalled_again_by_a_later_turn_only(tx: Tx, turns: Turns) -> None:
    event, one, two = sunk(tx, turns), turns.begin(), turns.begin()
    for reader in (one, two):
        cold.peek(tx, [event.id], reader.turn, 3.0)
    inputs.finish(tx, one.id, ANSWERED, [], at=3.0)
    assert len(cold.sink(tx, "owner", [event.id], at=1.0)) == 1
    assert tx.value("SELECT source FROM events WHERE id = ?", (event.id,)) == ""
    assert cold.confirm(tx, two.turn) == [event.id]


def test_what_is_not_cold_is_not_looked_at(tx: Tx, turns: Turns) -> None:
    [event] = turns.done()
    assert cold.peek(tx, [event.id, "ev_nowhere"], turns.begin().turn, 3.0) == []
    assert tx.value("SELECT count(*) FROM accesses") == 0


def test_b14_a_turn_of_another_scope_cannot_look_at_it_or_sink_it(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    event = sunk(tx, turns)
    [warm] = turns.done()
    group = threads.create(tx, scope="group:1", channel="cli", title="", at=1.0)
    reader = turns.begin(group)
    assert cold.peek(tx, [event.id], reader.turn, 3.0) == []
    assert len(cold.sink(tx, "group:1", [warm.id], at=1.0)) == 0
    inputs.finish(tx, reader.id, ANSWERED, [], at=3.0)
    assert layers(tx, event, warm) == ["cold", "context"]
    assert scope_window.window_events(tx, "group:1") == []
    assert faults(db) == []


def test_a_turn_that_nobody_began_looks_at_nothing(tx: Tx, turns: Turns) -> None:
    assert cold.peek(tx, [sunk(tx, turns).id], "turn_of_nobody", 3.0) == []


def test_a_running_turns_own_events_do_not_sink(tx: Tx, turns: Turns) -> None:
    running = turns.begin()
    event = events.append(tx, running, NewEvent(EventKind.USER, "now"), at=1.0)
    assert len(cold.sink(tx, "owner", [event.id], at=1.0)) == 0
    inputs.finish(tx, running.id, ANSWERED, [], at=2.0)
    assert len(cold.sink(tx, "owner", [event.id], at=1.0)) == 1


def test_no_memory_events_neither_sink_nor_come_back(tx: Tx, turns: Turns, db: apsw.Connection) -> None:
    private = turns.begin(no_memory=True)
    [event] = inputs.finish(tx, private.id, ANSWERED, [NewEvent(EventKind.USER, "secret")], at=2.0)
    assert len(cold.sink(tx, "owner", [event.id], at=1.0)) == 0
    assert cold.peek(tx, [event.id], turns.begin().turn, 3.0) == []
    assert (layers(tx, event), faults(db)) == (["archived"], [])


def test_an_input_that_is_a_group_message_counts_for_its_own_scope(tx: Tx, turns: Turns) -> None:
    group = threads.create(tx, scope="group:1", channel="cli", title="", at=1.0)
    accepted, _ = inputs.accept(tx, NewInput(group.id, "group:1", "cli", "cli:x", "guest", "hello"), at=1.0)
    begun = inputs.begin(tx, accepted.id, turn="turn_group", at=1.0)
    [event] = inputs.finish(tx, begun.id, ANSWERED, [NewEvent(EventKind.USER, "hello")], at=1.0)
    assert len(cold.sink(tx, "group:1", [event.id], at=1.0)) == 1
    assert tx.all("SELECT scope FROM events WHERE layer = 'cold'") == [("group:1",)]
