"""What a notice adds to what is shown."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from waiter.progress import Ask, Note, Progress, Say, Settled, Tool
from waiter.show import tool_line


def notice(type_: str, *, thread: str = "th", turn: str = "tu", **data: Any) -> dict[str, Any]:
    return {"type": type_, "thread": thread, "turn": turn, "data": data}


def begun() -> Progress:
    progress = Progress("th", "in")
    assert progress.feed(notice("turn", phase="start", input="in")) == []
    return progress


def text_of(pieces: list[Any]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Say))


def test_deltas_of_our_turn_are_shown_and_nobody_elses() -> None:
    progress = begun()
    assert progress.feed(notice("content_delta", step=0, at=0, text="a")) == [Say("a")]
    assert progress.feed(notice("content_delta", step=0, at=0, text="a", turn="other")) == []
    assert progress.feed(notice("content_delta", step=0, at=0, text="a", thread="other")) == []
    assert progress.feed(notice("tool_call", call="c", status="running", turn="other")) == []


def test_a_turn_of_another_input_in_the_same_thread_is_not_ours() -> None:
    progress = Progress("th", "in")
    progress.feed(notice("turn", phase="start", input="before"))
    assert progress.feed(notice("content_delta", step=0, at=0, text="a")) == []


def test_the_final_text_adds_only_what_is_missing() -> None:
    progress = begun()
    progress.feed(notice("content_delta", step=0, at=0, text="the an"))
    assert progress.finish("the answer") == [Say("swer")]
    assert begun().finish("whole") == [Say("whole")]
    done = begun()
    done.feed(notice("content_delta", step=0, at=0, text="all"))
    assert done.finish("all") == []


def test_another_final_text_follows_whole_and_is_announced() -> None:
    progress = begun()
    progress.feed(notice("content_delta", step=0, at=0, text="mail a@b.cn"))
    note, say = progress.finish("mail [email]")
    assert isinstance(note, Note)
    assert say == Say("mail [email]", fresh=True)


def test_what_a_tool_gave_back_is_named_in_its_line() -> None:
    done = notice("tool_call", call="c", tool="plot", status="ok", ms=3, result="done", blocks=[{"name": "p.png"}, 7])
    (tool,) = begun().feed(done)
    assert tool == Tool("plot", "ok", None, "done", 3, ("p.png",))
    assert tool_line(tool) == "✓ plot 3 ms [p.png]: done"


def test_a_suspended_turn_says_so_and_begins_its_step_anew() -> None:
    progress = begun()
    progress.feed(notice("content_delta", step=0, at=0, text="It was "))
    (note,) = progress.feed(notice("turn", phase="suspended", input="in", by="in2"))
    assert isinstance(note, Note)
    assert progress.feed(notice("content_delta", turn="tu2", step=0, at=0, text="at noon")) == []
    (note,) = progress.feed(notice("turn", phase="resumed", input="in", step=0))
    assert isinstance(note, Note)
    assert progress.feed(notice("content_delta", step=0, at=0, text="It is")) == [Say("It is", fresh=True)]
    assert progress.finish("It is night") == [Say(" night")]


def test_one_that_was_put_into_a_turn_follows_that_turn() -> None:
    progress = Progress("th", "in2")
    progress.feed(notice("turn", phase="joined", input="in2"))
    assert progress.feed(notice("content_delta", step=1, at=0, text="both")) == [Say("both")]


def test_a_new_step_is_a_new_passage() -> None:
    progress = begun()
    progress.feed(notice("content_delta", step=0, at=0, text="Let me look."))
    assert progress.feed(notice("content_delta", step=1, at=0, text="Found")) == [Say("Found", fresh=True)]
    assert progress.feed(notice("content_delta", step=0, at=12, text=" late")) == []
    assert progress.finish("Found it") == [Say(" it")]


def test_a_gap_is_filled_from_the_whole_text_of_the_step() -> None:
    progress = begun()
    progress.feed(notice("content_delta", step=0, at=0, text="ab"))
    assert progress.feed(notice("content_delta", step=0, at=4, text="ef")) == []
    assert progress.feed(notice("agent_llm_chain", step=0, text="abcdef")) == [Say("cdef")]


def test_taking_over_a_running_turn_shows_each_thing_once() -> None:
    progress = begun()
    progress.feed(notice("tool_call", call="c1", tool="t", status="running", args={}))
    progress.feed(notice("content_delta", step=1, at=0, text="ab"))
    live = {"input": "in", "turn": "tu2", "step": 1, "text": "abcd", "calls": [
        {"call": "c1", "tool": "t", "status": "running"}, {"call": "c1", "tool": "t", "status": "ok", "result": "r"},
    ]}  # fmt: skip
    assert progress.catch_up(live) == [Tool("t", "ok", None, "r"), Say("cd")]
    assert progress.feed(notice("content_delta", turn="tu2", step=1, at=2, text="cde")) == [Say("e")]
    assert progress.catch_up({**live, "input": "another"}) == []


def test_approvals_are_asked_and_settled_also_before_the_turn_is_known() -> None:
    progress = Progress("th", "in")
    asked = notice("approval", approval="a", status="asked", tool="t", plugin="p", args={"x": 1}, **{"class": "write"})
    assert progress.feed(asked) == [Ask("a", "t", "p", "write", {"x": 1}, "")]
    assert progress.feed(notice("approval", approval="a", status="expired")) == [Settled("a", "expired")]


def test_malformed_notices_are_ignored() -> None:
    progress = begun()
    malformed: list[Any] = [
        None,
        [],
        "x",
        {"step": "0", "at": 0, "text": "x"},
        {"step": 0, "at": None, "text": "x"},
        {"step": 0},
    ]
    for data in malformed:
        assert progress.feed({"type": "content_delta", "thread": "th", "turn": "tu", "data": data}) == []
    assert progress.feed({}) == []


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12))
def test_whatever_pieces_come_how_often_the_text_comes_out_whole_and_once(
    text: str, cuts: list[tuple[int, int]]
) -> None:
    progress, shown = begun(), ""
    for start, end in cuts:
        piece = text[start:end]
        shown += text_of(progress.feed(notice("content_delta", step=0, at=start, text=piece)))
        assert text.startswith(shown)
    assert shown + text_of(progress.finish(text)) == text
