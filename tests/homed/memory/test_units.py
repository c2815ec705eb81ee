"""A call and its results are one."""

from __future__ import annotations

from hypothesis import given

from homed.memory.records import Event, EventKind
from homed.memory.units import paired, whole
from tests.homed.memory.build import says, tool, user
from tests.homed.memory.histories import histories, is_paired


def size(event: Event) -> int:
    return event.tokens


@given(histories())
def test_every_event_is_in_exactly_one_whole_unit(events: list[Event]) -> None:
    units = whole(events, size)
    assert sorted(event.seq for unit in units for event in unit.events) == [event.seq for event in events]
    assert sum(unit.tokens for unit in units) == sum(event.tokens for event in events)


@given(histories())
def test_what_is_paired_for_a_prompt_has_no_orphan(events: list[Event]) -> None:
    for unit in paired(events, size):
        assert is_paired(list(unit.events))
        assert unit.events[0].kind is not EventKind.TOOL


@given(histories(whole=True))
def test_what_is_whole_stays_as_it_is(events: list[Event]) -> None:
    assert [u.events for u in paired(events, size)] == [u.events for u in whole(events, size)]


def test_a1_a_parallel_batch_is_one_unit_whatever_the_order_of_the_results() -> None:
    events = [user(1), says(2, calls=["A", "B"]), tool(3, "B"), tool(4, "A"), says(5, "done")]
    assert [[e.seq for e in unit.events] for unit in whole(events, size)] == [[1], [2, 3, 4], [5]]


def test_the_same_call_id_in_two_turns_is_two_calls() -> None:
    events = [says(1, calls=["A"], turn="x"), tool(2, "A", turn="y"), tool(3, "A", turn="x")]
    assert [[e.seq for e in unit.events] for unit in whole(events, size)] == [[1, 3], [2]]


def test_what_a_unit_says_of_itself() -> None:
    [unit] = whole([says(2, calls=["A"]), tool(3, "A")], lambda _: 5)
    assert (unit.seq, unit.thread, unit.tokens) == (3, "th", 10)
    assert (unit.holds({"ev3"}), unit.holds({"ev1"})) == (True, False)
