"""Turns that ran within one another stand one behind the other in a prompt."""

from __future__ import annotations

from homed.agent.ordering import as_ended
from homed.memory.records import Event, EventKind


def event(seq: int, turn: str, thread: str = "th") -> Event:
    return Event(f"ev{seq}", seq, "owner", thread, turn, "webui", "", EventKind.USER, "", 0.0)


def order(*events: Event) -> list[int]:
    return [one.seq for one in as_ended(events)]


def test_what_ran_one_after_the_other_stays_in_time_order() -> None:
    assert order(event(1, "a"), event(2, "a"), event(3, "b"), event(4, "b")) == [1, 2, 3, 4]


def test_an_interrupted_turn_stands_where_it_ended() -> None:
    assert order(event(1, "a"), event(2, "b"), event(3, "b"), event(4, "a")) == [2, 3, 1, 4]


def test_nested_ones_stand_in_the_order_in_which_they_ended() -> None:
    nested = [event(1, "a"), event(2, "b"), event(3, "c"), event(4, "c"), event(5, "b"), event(6, "a"), event(7, "d")]
    assert order(*nested) == [3, 4, 2, 5, 1, 6, 7]


def test_what_another_conversation_said_meanwhile_moves_nothing() -> None:
    assert order(event(1, "a"), event(2, "x", "other"), event(3, "a"), event(4, "x", "other")) == [1, 2, 3, 4]
