"""What a prompt shows, and what leaves the window: whole units, within the budget, for a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.budget import budget, protected, top_k
from homed.memory.choose import LEAST_SHOWN, Limits, Selection, SinkPlan, select, sink_plan
from homed.memory.records import Event
from homed.memory.units import Unit, paired, whole
from homed.memory.window import plan
from tests.homed.memory.build import says, tool, user
from tests.homed.memory.histories import THREADS, histories, is_paired

LIMITS = st.builds(Limits, events=st.integers(1, 12), protected=st.integers(0, 6), tokens=st.integers(1, 400))
SCORES = st.dictionaries(st.integers(1, 40), st.floats(0, 1), max_size=40)


def size(event: Event) -> int:
    return event.tokens


def line(count: int, tokens: int = 10, thread: str = "th", start: int = 1) -> list[Event]:
    return [replace(user(n, turn=f"t{n}"), thread=thread, tokens=tokens) for n in range(start, start + count)]


def units_of(events: list[Event]) -> list[Unit]:
    return whole(events, size)


def seqs(chosen: Selection) -> list[int]:
    return [event.seq for event in chosen.kept]


def cost(unit: Unit, limits: Limits) -> int:
    """As ``window.plan`` shows it: one that is larger than everything as head and tail, at a fourth."""
    return unit.tokens if unit.tokens <= limits.tokens else limits.tokens // 4


@given(histories(), SCORES, LIMITS, st.sampled_from(THREADS), st.integers(0, 40))
def test_a_conversation_that_goes_on_begins_as_before_and_keeps_to_its_limits(
    events: list[Event], scores: dict[int, float], limits: Limits, thread: str, cut: int
) -> None:
    """Either what was shown stands at its beginning, or it is chosen anew, with room to go on."""
    before = select(paired(events[:cut], size), {}, thread=thread, limits=limits)
    units = paired(events, size)
    after = select(units, scores, thread=thread, limits=limits, carried={event.id for event in before.kept})
    assert is_paired(list(after.kept))
    ids = [event.id for event in after.kept]
    shown = [unit for unit in units if unit.events[0].id in ids]
    newest = next((unit for unit in reversed(units) if unit.thread == thread), None)
    others = [unit for unit in shown if unit is not newest]
    assert sum(cost(unit, limits) for unit in shown) <= limits.tokens
    assert not others or sum(len(unit.events) for unit in shown) <= limits.events
    assert newest is None or newest.events[0].id in ids
    if "carried" in after.why.values():
        was = [event.id for event in before.kept]
        assert [id_ for id_ in ids if id_ in was] == ids[: len([id_ for id_ in ids if id_ in was])], (
            "nothing in between"
        )


def test_it_goes_on_behind_what_was_shown_until_that_is_full_and_then_leaves_room() -> None:
    limits = Limits(events=12, protected=4, tokens=10_000)
    carried = {"sunk meanwhile"}
    beginnings, anew = [], 0
    for count in range(20, 60):
        chosen = select(units_of(line(count)), {}, thread="th", limits=limits, carried=carried)
        assert len(chosen.kept) <= 12
        anew += "carried" not in chosen.why.values()
        beginnings.append(chosen.kept[0].seq)
        carried = {event.id for event in chosen.kept}
    assert anew == 10, "each time with room for three more"
    assert len(set(beginnings)) == anew


def test_what_is_far_more_relevant_than_all_that_is_shown_is_worth_reading_anew() -> None:
    limits = Limits(events=12, protected=4, tokens=10_000)
    events = line(30)
    shown = select(units_of(events[:20]), {20: 0.3}, thread="th", limits=limits, carried={"gone"})
    carried = {event.id for event in shown.kept}
    near = select(units_of(events[:21]), {1: 0.45, 20: 0.3}, thread="th", limits=limits, carried=carried)
    assert 1 not in seqs(near)
    far = select(units_of(events[:21]), {1: 0.6, 20: 0.3}, thread="th", limits=limits, carried=carried)
    assert 1 in seqs(far)


def test_without_knowing_what_was_shown_all_the_room_is_used() -> None:
    limits = Limits(events=12, protected=4, tokens=10_000)
    assert len(select(units_of(line(30)), {}, thread="th", limits=limits).kept) == 12
    assert len(select(units_of(line(30)), {}, thread="th", limits=limits, carried={"gone"}).kept) == 9


@pytest.mark.parametrize("tokens", [1, 10, 100, 255, 400])
def test_what_is_larger_than_everything_is_not_free_because_little_is_left(tokens: int) -> None:
    units = units_of(line(30, tokens=5_000))
    scores = {unit.seq: 1.0 for unit in units}
    kept = select(units, scores, thread="th", limits=Limits(events=30, protected=5, tokens=tokens)).kept
    assert len(kept) <= (1 if tokens < 4 * LEAST_SHOWN else 4), "the newest always, others only where they can be seen"


@given(histories(), SCORES, LIMITS, st.sampled_from(THREADS), st.sets(st.sampled_from(THREADS)))
def test_whatever_the_cut_a_prompt_has_whole_units_within_its_limits(
    events: list[Event], scores: dict[int, float], limits: Limits, thread: str, active: set[str]
) -> None:
    units = paired(events, size)
    chosen = select(units, scores, thread=thread, active=sorted(active), limits=limits)
    assert is_paired(list(chosen.kept))
    assert seqs(chosen) == sorted(seqs(chosen))
    ids = {event.id for event in chosen.kept}
    shown = [unit for unit in units if unit.events[0].id in ids]
    assert [event.id for unit in shown for event in unit.events if event.id not in ids] == []
    newest = next((unit for unit in reversed(units) if unit.thread == thread), None)
    others = [unit for unit in shown if unit is not newest]
    assert sum(cost(unit, limits) for unit in shown) <= limits.tokens
    assert not others or sum(len(unit.events) for unit in shown) <= limits.events
    assert newest is None or newest.events[0].id in ids
    assert ids == set(chosen.why)
    assert set(chosen.left_out) == {event.id for unit in units for event in unit.events} - ids
    assert set(chosen.scores) == ids | set(chosen.left_out)


@given(histories(), SCORES, LIMITS, st.sets(st.integers(1, 40)), st.sets(st.sampled_from(THREADS)))
def test_whatever_the_cut_whole_units_sink_and_nothing_that_is_needed(
    events: list[Event], scores: dict[int, float], limits: Limits, used: set[int], active: set[str]
) -> None:
    units = units_of(events)
    in_use = {event.id for event in events if event.seq in used}
    done = sink_plan(units, scores, in_use=in_use, active=sorted(active), limits=limits)
    sunk = set(done.ids)
    assert len(sunk) == len(done.ids)
    assert all(len({event.id in sunk for event in unit.events}) == 1 for unit in units)
    assert not sunk & in_use
    for thread in active:
        newest = (
            [event.id for event in events if event.thread == thread][-limits.protected :] if limits.protected else []
        )
        assert not sunk & set(newest)
    left = [unit for unit in units if unit.events[0].id not in sunk]
    assert done.kept == sum(len(unit.events) for unit in left)
    assert done.tokens == sum(unit.tokens for unit in left)
    held = {id_ for th in active for id_ in _newest(units, th, limits.protected)}
    free = [unit for unit in units if unit.events[0].id not in held and not unit.holds(in_use)]
    staying = [unit for unit in units if unit not in free]
    for size_of, most in ((lambda u: len(u.events), limits.events), (lambda u: u.tokens, limits.tokens)):
        stay = sum(map(size_of, staying))
        assert not sunk or sum(map(size_of, left)) <= (most if stay <= most else stay + most)
    for unit in free:  # nothing goes that may as well stay
        fits = done.kept + len(unit.events) <= limits.events and done.tokens + unit.tokens <= limits.tokens
        assert unit.events[0].id not in sunk or not fits
    if len(events) <= 2 * limits.events and sum(map(size, events)) <= limits.tokens:
        assert not sunk


def _newest(units: list[Unit], thread: str, most: int) -> list[str]:
    found: list[Event] = []
    for unit in reversed(units):
        if unit.thread == thread and len(found) < most:
            found += unit.events
    return [event.id for event in found]


def test_all_that_fits_is_shown_and_nothing_is_asked_of_relevance() -> None:
    chosen = select(units_of(line(5)), {}, thread="th", limits=Limits(5, 2, 50))
    assert (seqs(chosen), set(chosen.why.values()), chosen.left_out) == ([1, 2, 3, 4, 5], {"fits"}, ())


def test_the_newest_of_the_thread_then_what_the_input_is_about() -> None:
    chosen = select(units_of(line(10)), {2: 0.9, 5: 0.4, 7: 0.1}, thread="th", limits=Limits(4, 2, 1_000))
    assert seqs(chosen) == [2, 5, 9, 10]
    assert chosen.why == {"ev2": "score", "ev5": "score", "ev9": "recent", "ev10": "recent"}
    assert chosen.left_out == ("ev8", "ev7", "ev6", "ev4", "ev3", "ev1")
    assert chosen.scores["ev7"] == 0.1


def test_of_equal_relevance_the_newer_is_shown() -> None:
    assert seqs(select(units_of(line(6)), {}, thread="th", limits=Limits(3, 1, 1_000))) == [4, 5, 6]


def test_another_conversation_that_is_going_on_gets_half_of_what_is_left() -> None:
    events = [*line(10, thread="old"), *line(10, thread="busy", start=11), *line(10, start=21)]
    limits = Limits(12, 4, 10_000)
    chosen = select(units_of(events), {3: 0.9}, thread="th", active=["busy"], limits=limits)
    why = list(chosen.why.values())
    assert (why.count("recent"), why.count("active"), why.count("score")) == (4, 4, 4)
    assert chosen.why["ev3"] == "score"
    assert [seq for seq in seqs(chosen) if 11 <= seq <= 20][-4:] == [17, 18, 19, 20]


def test_own_conversation_twice_is_no_other() -> None:
    events = line(10)
    limits = Limits(6, 2, 10_000)
    chosen = select(units_of(events), {}, thread="th", active=["th"], limits=limits)
    assert "active" not in chosen.why.values()


def test_e2_a20_ten_events_of_5_800_tokens_in_a_window_of_50_000() -> None:
    given_ = budget(50_000, 2_196)
    events = line(12, tokens=5_800)
    top = top_k(given_.context, 5_800, 30)
    newest = protected(10, given_.context, 5_800, top)
    chosen = select(units_of(events), {1: 0.5, 2: 0.4}, thread="th", limits=Limits(top, newest, given_.context))
    assert (top, newest) == (4, 2)
    assert seqs(chosen) == [1, 2, 11, 12]
    assert sum(event.tokens for event in chosen.kept) <= given_.context
    sunk = sink_plan(units_of(events), {}, active=["th"], limits=Limits(30, newest, given_.context))
    assert sunk.tokens <= given_.context
    assert len(sunk.ids) == 8, "every prune frees what it must"


def test_one_event_larger_than_everything_is_kept_and_shown_as_head_and_tail() -> None:
    huge = replace(user(3, "long words " * 4_000), tokens=12_000)
    events = [*line(2, tokens=20), huge]
    limits = Limits(10, 2, 1_000)
    chosen = select(units_of(events), {}, thread="th", limits=limits)
    assert seqs(chosen) == [1, 2, 3]
    shown = plan(chosen.kept, budget_tokens=limits.tokens)
    assert [event.seq for event in shown] == [1, 2, 3]
    assert "stored whole in ev3" in shown[-1].text


def test_an_oversized_unit_neither_loops_nor_refuses_when_it_sinks() -> None:
    huge = [replace(e, tokens=50_000) for e in (says(1, calls=["A"]), tool(2, "A"))]
    assert sink_plan(units_of(huge), {}, limits=Limits(30, 10, 1_000)).ids == ("ev1", "ev2")
    kept = sink_plan(units_of(huge), {}, in_use={"ev2"}, limits=Limits(30, 10, 1_000))
    assert (kept.ids, kept.kept, kept.tokens) == ((), 2, 100_000)


def test_what_cannot_go_and_is_too_much_by_itself_drives_nothing_out() -> None:
    """Three results of a turn that goes on leave no room: sinking the small rest would not help."""
    used = line(3, tokens=12_000, start=5)
    units = units_of([*line(4, tokens=20), *used])
    limits = Limits(30, 0, 15_881)
    assert sink_plan(units, {2: 1.0}, in_use={"ev5", "ev6", "ev7"}, limits=limits).ids == ()
    assert sink_plan(units, {2: 1.0}, active=["th"], limits=replace(limits, protected=3)).ids == ()
    rest = units_of([*line(4, tokens=6_000), *used])
    assert sink_plan(rest, {1: 1.0}, in_use={"ev5", "ev6", "ev7"}, limits=limits).ids == ("ev2", "ev3"), "by itself"
    many = units_of(line(70))
    assert len(sink_plan(many, {}, in_use={f"ev{n}" for n in range(31, 71)}, limits=Limits(30, 0, 10**9)).ids) == 0


def test_what_was_chosen_before_something_larger_that_goes_too_stays() -> None:
    units = units_of([*line(4, tokens=20), *line(1, tokens=5_000, start=5)])
    done = sink_plan(units, {2: 0.4, 5: 0.9}, limits=Limits(30, 0, 1_000))
    assert (done.ids, done.scores, done.kept, done.tokens) == (("ev5",), {"ev5": 0.9}, 4, 80)


def test_a_unit_that_does_not_fit_is_passed_over_not_the_end() -> None:
    events = [*line(3), *line(1, tokens=90, start=4), *line(2, start=5)]
    chosen = select(units_of(events), {}, thread="th", limits=Limits(10, 4, 100))
    assert seqs(chosen) == [1, 2, 3, 5, 6]


@pytest.mark.parametrize(("count", "sinks"), [(60, 0), (61, 31)])
def test_nothing_sinks_below_the_high_water_mark_and_then_it_goes_down_to_the_size(count: int, sinks: int) -> None:
    done = sink_plan(units_of(line(count)), {}, limits=Limits(30, 10, 10**9))
    assert (len(done.ids), done.kept) == (sinks, count - sinks)


def test_the_least_relevant_sinks_first_and_of_those_the_oldest() -> None:
    done = sink_plan(units_of(line(5)), {1: 0.9, 2: 0.1}, limits=Limits(2, 0, 10**9))
    assert done.ids == ("ev3", "ev4", "ev5")
    assert done.scores == {"ev3": 0.0, "ev4": 0.0, "ev5": 0.0}


def test_tokens_alone_are_a_reason_to_sink() -> None:
    done = sink_plan(units_of(line(4, tokens=100)), {4: 1.0}, limits=Limits(30, 0, 250))
    assert (done.ids, done.tokens) == (("ev1", "ev2"), 200)


def test_there_is_nothing_to_do_in_an_empty_window() -> None:
    assert select([], {}, thread="th", limits=Limits(1, 1, 1)) == Selection((), {}, {})
    assert sink_plan([], {}, limits=Limits(1, 1, 1)) == SinkPlan()
