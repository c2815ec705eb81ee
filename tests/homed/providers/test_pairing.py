from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homed.providers.base import Assistant, ChatRequest, Message, Source, System, ToolCall, ToolResult, User
from homed.providers.openai_request import build
from homed.providers.pairing import NO_ERROR_TEXT, NO_RESULT, NO_TEXT, check, repair
from tests.kit import openai_rules


def call(id_: str, name: str = "look") -> ToolCall:
    return ToolCall(id_, name, {})


def result(id_: str, text: str = "seen", *, name: str = "look", is_error: bool = False) -> ToolResult:
    return ToolResult(id_, name, text, is_error)


GOOD: tuple[Message, ...] = (
    System("s"),
    User("u"),
    Assistant("", (call("a"), call("b"))),
    result("a"),
    result("b"),
    Assistant("done"),
)


def test_a_good_history_is_left_as_it_is() -> None:
    assert check(GOOD) == []
    assert repair(GOOD).messages == GOOD
    assert repair(GOOD).notes == ()


def test_a_result_whose_call_was_cut_off_is_left_out_a2() -> None:
    for cut in range(len(GOOD)):
        assert check(repair(GOOD[cut:]).messages) == []
    repaired = repair(GOOD[4:])
    assert repaired.messages == (Assistant("done"),)
    assert "'b'" in repaired.notes[0]


def test_a_call_without_a_result_is_marked_as_interrupted_a3() -> None:
    repaired = repair((User("u"), Assistant("", (call("a"), call("b"))), result("b"), User("again")))
    assert repaired.messages[2:4] == (result("a", NO_RESULT, is_error=True), result("b"))
    assert len(repaired.notes) == 1


def test_a_result_without_an_id_finds_its_call_by_name_then_in_order_a4() -> None:
    calls = (call("a", "look"), call("b", "shell"), call("c", "shell"))
    history = (
        Assistant("", calls),
        result("", "1", name="shell"),
        result("", "2", name="look"),
        result("", "3", name=""),
    )
    repaired = repair(history).messages
    assert repaired[1:] == (result("a", "2"), result("b", "1", name="shell"), result("c", "3", name="shell"))


def test_calls_without_ids_get_the_same_ones_every_time_a4() -> None:
    history = (
        User("u"),
        Assistant("", (call(""), call("x"), call("x"))),
        result("", "1"),
        result("x", "2"),
        result("x", "3"),
    )
    first, second = repair(history), repair(history)
    assert first == second
    assert check(first.messages) == []
    assert [m.text for m in first.messages if isinstance(m, ToolResult)] == ["1", "2", "3"]


def test_three_calls_get_three_results_in_call_order_whatever_came_first_a6() -> None:
    calls = (call("a"), call("b"), call("c"))
    history = (Assistant("", calls), result("c", "3"), User("meanwhile"), result("a", "1"))
    repaired = repair(history).messages
    assert [(m.call_id, m.text) for m in repaired[1:4] if isinstance(m, ToolResult)] == [
        ("a", "1"),
        ("b", NO_RESULT),
        ("c", "3"),
    ]
    assert repaired[4] == User("meanwhile")


def test_a_result_never_is_empty_a7() -> None:
    history = (Assistant("", (call("a"), call("b"))), result("a", "", is_error=True), result("b", ""))
    repaired = repair(history).messages
    assert repaired[1:] == (result("a", NO_ERROR_TEXT, is_error=True), result("b", NO_TEXT))


def test_an_assistant_message_with_nothing_in_it_is_left_out() -> None:
    assert repair((User("u"), Assistant("", reasoning="hm"), User("v"))).messages == (User("u"), User("v"))


def test_a_second_result_for_one_call_is_left_out() -> None:
    repaired = repair((Assistant("", (call("a"),)), result("a", "first"), result("a", "second")))
    assert [m.text for m in repaired.messages] == ["", "first"]


IDS = st.sampled_from(["", "a", "b", "c"])
NAMES = st.sampled_from(["look", "shell", ""])
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(User, st.sampled_from(["hi", ""])),
    st.builds(
        Assistant,
        st.sampled_from(["", "text"]),
        st.lists(
            st.builds(ToolCall, IDS, st.sampled_from(["look", "shell"]), st.none() | st.just({"x": 1})), max_size=3
        ).map(tuple),
    ),
    st.builds(ToolResult, IDS, NAMES, st.sampled_from(["", "r"]), st.booleans()),
)


@given(st.lists(MESSAGES, max_size=12))
def test_whatever_the_history_the_strict_server_takes_what_comes_out_a1_a2_a3_a4(history: list[Message]) -> None:
    repaired = repair(history)
    assert check(repaired.messages) == []
    assert repair(repaired.messages).messages == repaired.messages
    body = build(Source("s", "http://x", "fake-1"), ChatRequest((User("first"), *repaired.messages)))
    openai_rules.check(openai_rules.Contract(), body)


@given(st.lists(MESSAGES, max_size=12))
def test_repair_says_so_whenever_it_changed_something_and_loses_nothing_said(history: list[Message]) -> None:
    repaired = repair(history)
    assert (repaired.messages == tuple(history)) == (not repaired.notes)
    said = [m for m in history if isinstance(m, User)]
    assert [m for m in repaired.messages if isinstance(m, User)] == said
    spoken = [m.text for m in history if isinstance(m, Assistant) and (m.text or m.calls)]
    assert [m.text for m in repaired.messages if isinstance(m, Assistant)] == spoken


@given(st.lists(MESSAGES, max_size=10))
def test_check_agrees_with_the_strict_server(history: list[Message]) -> None:
    body = build(Source("s", "http://x", "fake-1"), ChatRequest((User("first"), *history)))
    try:
        openai_rules.check(openai_rules.Contract(), body)
    except openai_rules.Refused:
        assert check(history)
