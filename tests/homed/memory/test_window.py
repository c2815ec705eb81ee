"""What a prompt shows: the newest that fits, and never half of a call."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from homed.memory.records import Event, EventKind, calls_of
from homed.memory.shorten import event_tokens
from homed.memory.tokens import estimate_tokens
from homed.memory.window import plan
from tests.homed.memory.build import says, tool, user


def cost(events: Sequence[Event]) -> int:
    return sum(event_tokens(event, estimate_tokens) for event in events)


def ids(events: Sequence[Event]) -> list[str]:
    return [event.id for event in events]


def assert_paired(events: Sequence[Event]) -> None:
    """What a strict provider demands: each call answered once, before anything else is said, each result of a call."""
    waiting: list[object] = []
    for event in events:
        if event.kind is EventKind.TOOL:
            assert event.data["call_id"] in waiting, f"{event.id} answers no call"
            waiting.remove(event.data["call_id"])
        else:
            assert not waiting, f"{waiting} have no result before {event.id}"
            waiting = [call["id"] for call in calls_of(event)]
    assert not waiting


BATCH = [user(1, "look"), says(2, calls=["A", "B"]), tool(3, "A", "a " * 40), tool(4, "B", "b " * 40), says(5, "so")]


def test_everything_is_shown_when_it_fits() -> None:
    assert plan(BATCH, budget_tokens=10_000) == BATCH


def test_nothing_in_nothing_out() -> None:
    assert plan([], budget_tokens=100) == []


def test_a1_a_cut_anywhere_in_a_parallel_batch_takes_the_whole_unit_or_nothing() -> None:
    later = [user(6, "and now", turn="t2"), says(7, "well", turn="t2")]
    for budget in range(cost(BATCH) + cost(later) + 5):
        shown = plan([*BATCH, *later], budget_tokens=budget)
        assert_paired(shown)
        assert len({"ev2", "ev3", "ev4"} & set(ids(shown))) in (0, 3)
        assert cost(shown) <= budget


def test_a1_every_cut_of_the_history_itself_is_repaired_in_view() -> None:
    for start in range(len(BATCH)):
        for end in range(start, len(BATCH) + 1):
            assert_paired(plan(BATCH[start:end], budget_tokens=10_000))


def test_a_call_without_result_is_taken_out_and_its_text_stays() -> None:
    (shown,) = plan([says(1, "let me see", calls=["A"])], budget_tokens=1000)
    assert (shown.text, calls_of(shown)) == ("let me see", [])


def test_a_call_id_used_again_in_a_later_turn_is_another_call() -> None:
    events = [
        user(1), says(2, calls=["c1"]), tool(3, "c1", "first"),
        user(4, turn="t2"), says(5, calls=["c1"], turn="t2"), tool(6, "c1", "second", turn="t2"),
    ]  # fmt: skip
    assert plan(events, budget_tokens=10_000) == events
    assert_paired(plan(events, budget_tokens=cost(events) - 1))


def test_results_count_towards_the_size_of_an_event() -> None:
    """E 3: an estimate that ignores tool results lets 100k characters through."""
    events = [user(1), says(2, calls=["A"]), tool(3, "A", "x y " * 25_000), says(4, "that was it")]
    shown = plan(events, budget_tokens=5_000)
    assert cost(events) > 5_000 >= cost(shown)


def test_a20_events_that_exceed_the_budget_together_are_fewer_never_none() -> None:
    """E 2: ten events of 5 800 tokens and a budget of 25 203: the newest four fit."""
    word = "memory "
    events = [user(n, word * 5_796, turn=f"t{n}") for n in range(1, 11)]
    assert event_tokens(events[0], estimate_tokens) in range(5_700, 8_200)
    each = event_tokens(events[0], estimate_tokens)
    shown = plan(events, budget_tokens=25_203)
    assert cost(shown) <= 25_203
    assert ids(shown) == [f"ev{n}" for n in range(11 - 25_203 // each, 11)]


def test_a20_one_event_larger_than_the_budget_is_shown_head_and_tail_and_named() -> None:
    huge = user(1, "START " + "middle " * 5_000 + "END")
    (shown,) = plan([huge], budget_tokens=300)
    assert shown.text.startswith("START")
    assert shown.text.endswith("END")
    assert "stored whole in ev1" in shown.text
    assert cost([shown]) <= 300
    assert huge.text.count("middle") == 5_000


def test_a_huge_result_does_not_push_the_question_out() -> None:
    events = [user(1, "what is in that file?"), says(2, calls=["A"]), tool(3, "A", "line " * 50_000)]
    shown = plan(events, budget_tokens=1_000)
    assert shown[0] == events[0]
    assert_paired(shown)
    assert cost(shown) <= 1_000


def test_the_question_of_the_running_turn_stays_when_many_units_came_after_it() -> None:
    events = [user(1, "do all of it")]
    for n in range(1, 20):
        events += [says(2 * n, calls=[f"c{n}"]), tool(2 * n + 1, f"c{n}", "row " * 200)]
    shown = plan(events, budget_tokens=1_500)
    assert shown[0] == events[0]
    assert shown[-1] == events[-1]
    assert len(shown) < len(events)


def test_an_old_huge_event_does_not_hide_what_was_before_it() -> None:
    events = [
        user(1, "my name is Ada", turn="t1"),
        user(2, "paste " * 50_000, turn="t2"),
        user(3, "who am I?", turn="t3"),
    ]
    shown = plan(events, budget_tokens=2_000)
    assert ids(shown) == ["ev1", "ev2", "ev3"]
    assert shown[0] == events[0]
    assert "left out" in shown[1].text


def test_huge_arguments_of_a_call_are_cut_in_view_and_stay_an_object() -> None:
    events = [user(1), says(2, calls=["A"], arguments="v " * 30_000), tool(3, "A")]
    shown = plan(events, budget_tokens=600)
    assert cost(shown) <= 600
    assert_paired(shown)
    (call,) = calls_of(shown[1])
    assert isinstance(call["arguments"], dict)


def test_reasoning_is_dropped_whole_never_cut() -> None:
    thinking = says(2, "short")
    thinking = Event(**{**{f: getattr(thinking, f) for f in thinking.__slots__}, "data": {"reasoning": "hm " * 5_000}})
    shown = plan([user(1), thinking], budget_tokens=200)
    assert shown[1].data["reasoning"] == ""
    assert shown[1].text == "short"


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Turns with parallel calls, results in any order, some lost, sizes from nothing to far over any budget."""
    events: list[Event] = []
    text = st.sampled_from(["", "ok", "word " * 30, "很长的一段话" * 50, "x" * 3_000])
    for turn in range(draw(st.integers(1, 4))):
        name = f"t{turn}"
        events.append(user(len(events), draw(text), turn=name))
        for _ in range(draw(st.integers(0, 3))):
            calls = draw(st.lists(st.sampled_from("ABCD"), unique=True, max_size=4))
            events.append(says(len(events), draw(text), turn=name, calls=calls, arguments=draw(text)))
            results = draw(st.permutations(calls))
            for call in results[: draw(st.integers(0, len(results)))] if draw(st.booleans()) else results:
                events.append(tool(len(events), call, draw(text), turn=name))
    return events


@given(histories(), st.integers(0, 3_000), st.integers(0, 20))
def test_a1_whatever_comes_in_the_view_fits_is_in_order_and_every_call_has_its_result(
    events: list[Event], budget: int, cut: int
) -> None:
    shown = plan(events[cut:], budget_tokens=budget)
    assert_paired(shown)
    assert cost(shown) <= budget
    assert [event.seq for event in shown] == sorted(event.seq for event in shown)
    assert {event.id for event in shown} <= {event.id for event in events}
