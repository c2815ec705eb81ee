"""Whatever order notices and histories come in: nothing twice, nothing lost."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.waiter.kit import Truth
from waiter.follow import heard, last_turn, older, put, synchronised
from waiter.model import Agent, Answer, Asked, End, Following, Item, Note, Recall, Said, Thought, Tool

OWNER = "cli:owner"


def fed(truth: Truth) -> Following:
    follow = Following()
    for notice in truth.notices:
        follow, missing = heard(follow, notice, OWNER)
        assert not missing
    return follow


def whole(truth: Truth) -> tuple[Item, ...]:
    return synchronised(Following(), truth.histories[-1], OWNER)[0].items


def bare(items: tuple[Item, ...]) -> list[tuple[Any, ...]]:
    """What a person sees of them: without numbers of events and times that only one of the two ways tells."""
    found: list[tuple[Any, ...]] = []
    for item in items:
        match item:
            case Said():
                found.append((item.key, item.text, item.queued))
            case Tool():
                found.append((item.key, item.name, item.args, item.status, item.result))
            case Answer() | Thought():
                found.append((item.key, item.text))
            case End():
                found.append((item.key, item.state))
    return found


def a_course() -> Truth:
    truth = Truth()
    one, two = truth.accept("first"), truth.accept("second 你好")
    truth.begin(one)
    truth.think("hm")
    for piece in ("Let ", "me look", " 🌍"):
        truth.say(piece)
    truth.call("a\nb")
    truth.say("Two ")
    truth.say("files.")
    truth.finish()
    truth.begin(two)
    truth.say("stopped in")
    truth.finish("stopped")
    return truth


def test_notices_alone_come_to_what_the_history_says() -> None:
    truth = a_course()
    assert bare(fed(truth).items) == bare(whole(truth))
    assert [type(item).__name__ for item in whole(truth)] == [
        "Said", "Thought", "Answer", "Tool", "Answer", "End", "Said", "Answer", "End",
    ]  # fmt: skip


def test_every_history_and_the_notices_after_it_come_to_the_same() -> None:
    truth = a_course()
    for history in truth.histories:
        follow, missing = synchronised(Following(), history, OWNER)
        assert not missing
        for notice in truth.notices:
            follow, missing = heard(follow, notice, OWNER)
            assert not missing, (history["seq"], notice)
        assert bare(follow.items) == bare(whole(truth)), history["seq"]


def test_a_second_message_waits_and_then_stands_behind_the_first_answer() -> None:
    truth = Truth()
    one, two = truth.accept("one"), truth.accept("two")
    truth.begin(one)
    truth.say("answer")
    follow = fed(truth)
    assert [item.queued for item in follow.items if isinstance(item, Said)] == [False, True]
    truth.finish()
    truth.begin(two)
    follow = fed(truth)
    assert [item.key for item in follow.items] == ["u:in1", "a:tu1:0", "e:tu1", "u:in2"]


def test_a_suspended_turn_keeps_what_it_said_and_says_it_anew_when_it_goes_on() -> None:
    truth = Truth()
    truth.begin(truth.accept("a story"))
    truth.say("It was")
    now = truth.accept("lunch?")
    truth.suspend(now)
    follow = fed(truth)
    assert [item.key for item in follow.items] == ["u:in1", "a:tu1:0", "s:tu1", "u:in2"]
    assert follow.running is None
    assert bare(whole(truth)) == bare(follow.items)
    truth.begin(now)
    truth.say("at noon")
    truth.finish()
    truth.resume()
    follow = fed(truth)
    assert [item.key for item in follow.items] == ["u:in1", "u:in2", "a:tu2:0", "e:tu2"]
    assert follow.running is not None
    assert follow.running.turn == "tu1"
    truth.say("It is night")
    truth.finish()
    assert bare(fed(truth).items)[-2:] == [("a:tu1:0", "It is night"), ("e:tu1", "answered")]


def test_what_is_put_into_a_turn_ends_with_it_and_does_not_end_it() -> None:
    truth = Truth()
    truth.begin(truth.accept("look"))
    truth.call("seen")
    joins = truth.accept("there too")
    truth.join(joins)
    truth.say("both")
    truth.end_joined(joins)
    follow = fed(truth)
    assert follow.running is not None
    assert ("u:in2", "there too", False) in bare(follow.items)
    assert not any(isinstance(item, End) for item in follow.items)


def test_a_stopped_turn_shows_nothing_more_but_its_end() -> None:
    truth = Truth()
    truth.begin(truth.accept("x"))
    truth.say("seen")
    follow = fed(truth)
    follow = Following(follow.items, follow.synced, running=follow.running, hushed=frozenset({"tu1"}))
    shown = len(truth.notices)
    truth.say(" unseen")
    truth.finish("stopped")
    for notice in truth.notices[shown:]:
        follow, _ = heard(follow, notice, OWNER)
    assert [item.text for item in follow.items if isinstance(item, Answer)] == ["seen"]
    assert any(isinstance(item, End) and item.state == "stopped" for item in follow.items)
    assert [
        item.text for item in synchronised(follow, truth.histories[-1], OWNER)[0].items if isinstance(item, Answer)
    ] == ["seen"]


def test_a_gap_is_asked_about_once() -> None:
    truth = Truth()
    truth.begin(truth.accept("x"))
    truth.say("one ")
    truth.say("two ")
    truth.say("three")
    follow = fed(Truth(notices=truth.notices[:3]))
    follow, missing = heard(follow, truth.notices[4], OWNER)  # "three" without "two"
    assert missing
    follow, missing = heard(follow, {**truth.notices[4], "seq": 6}, OWNER)
    assert not missing
    follow, missing = synchronised(follow, truth.histories[-1], OWNER)
    assert not missing
    assert [item.text for item in follow.items if isinstance(item, Answer)] == ["one two three"]


def test_a_delta_adds_only_what_is_not_there_yet() -> None:
    truth = Truth()
    truth.begin(truth.accept("x"))
    truth.say("one two")
    follow = fed(truth)
    for at, text in ((4, "two three"), (0, "one"), (4, "two three")):
        follow, missing = heard(follow, {**truth.notices[2], "seq": follow.synced + 1, "data": {
            "step": 0, "at": at, "text": text}}, OWNER)  # fmt: skip
        assert not missing
    assert [item.text for item in follow.items if isinstance(item, Answer)] == ["one two three"]


def test_a_notice_that_comes_again_turns_nothing_back() -> None:
    truth = a_course()
    follow = fed(truth)
    for notice in truth.notices:
        assert heard(follow, notice, OWNER) == (follow, False)


def test_an_approval_that_nobody_answered_is_cancelled_at_the_turns_end() -> None:
    truth = Truth()
    truth.begin(truth.accept("x"))
    truth.tell("approval", "tu1", approval="ap", status="asked", tool="t", plugin="p", args={"a": 1})
    truth.finish("stopped")
    asked = [item for item in fed(truth).items if isinstance(item, Asked)]
    assert [item.status for item in asked] == ["cancelled"]


def test_recall_stands_behind_the_question_and_keeps_its_details() -> None:
    truth = Truth()
    truth.begin(truth.accept("x"))
    truth.tell("recall", "tu1", input="in1", shown=["a", "b"], cold=["c"], kept=4, chars=100, late=[])
    truth.say("y")
    follow = fed(truth)
    assert follow.items[1] == Recall("r:tu1", "tu1", ("a", "b"), ("c",), 4, 100)
    detailed = Following(put(follow.items, Recall("r:tu1", "tu1", ("a", "b"), ("c",), 4, 100, "what")), follow.synced)
    history = {**truth.histories[-1], "recalls": [{"turn": "tu1", "shown": ["a", "b"], "cold": ["c"], "kept": 4}]}
    again = synchronised(detailed, history, OWNER)[0]
    assert [item.detail for item in again.items if isinstance(item, Recall)] == ["what"]


def test_our_notes_stay_where_they_stood() -> None:
    truth = a_course()
    follow = fed(truth)
    items = (*follow.items[:1], Note("w:1", "help", after=follow.items[0].key), *follow.items[1:])
    again = synchronised(Following(items, follow.synced), truth.histories[-1], OWNER)[0]
    assert [item.key for item in again.items][:2] == ["u:in1", "w:1"]
    assert len(again.items) == len(follow.items) + 1


def test_an_older_page_stands_above_and_survives_the_next_history() -> None:
    truth = a_course()
    newest = {**truth.histories[-1], "events": truth.events[4:], "more": True}
    follow, _ = synchronised(Following(), newest, OWNER)
    assert (follow.more, follow.oldest) == (True, 5)
    page = {"events": truth.events[:4], "ended": truth.ended, "more": False}
    follow = older(follow, page, OWNER)
    assert bare(follow.items) == bare(whole(truth))
    again, _ = synchronised(follow, newest, OWNER)
    assert (bare(again.items), again.more, again.oldest) == (bare(whole(truth)), False, 1)


def test_frames_of_any_shape_do_no_harm() -> None:
    odd: list[Any] = [{}, {"data": None}, {"type": 7, "data": {}}]
    shapes: dict[str, dict[str, object]] = {
        "turn": {"phase": 3}, "tool_call": {"call": [], "ms": "x"}, "approval": {}, "recall": {"shown": [1]},
        "content_delta": {"at": "1", "step": None, "text": 5}, "agent_output": {"text": None},
        "progress": {"done": "x"},
    }  # fmt: skip
    odd += [{"type": type_, "data": data} for type_, data in shapes.items()]
    follow = Following(synced=-1)
    for notice in odd:
        follow, _ = heard(follow, notice, OWNER)
    synchronised(follow, {"events": [3, {"kind": "assistant", "data": {"calls": [{}]}}], "live": [], "seq": "x"}, OWNER)


def test_the_last_turn_is_that_of_the_newest_answer() -> None:
    assert last_turn(fed(a_course()).items) == "tu2"
    assert last_turn((Said("u:1", "x"),)) == ""


@st.composite
def courses(draw: st.DrawFn) -> Truth:
    """Any course of a few turns: messages that wait, deltas of any size, tools, thoughts, stops."""
    truth = Truth()
    waiting: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        waiting.append(truth.accept(draw(st.text("ab你🌍", min_size=1, max_size=5))))
        if draw(st.booleans()):
            waiting.append(truth.accept("more"))
        again = draw(st.booleans())
        while waiting and again:
            truth.begin(waiting.pop(0))
            interrupted = draw(st.booleans())
            if interrupted:
                truth.say("I was")
                now = truth.accept("now")
                truth.suspend(now)
                truth.begin(now)
                truth.say("at once")
                truth.finish()
                truth.resume()
            for _ in range(draw(st.integers(0, 2))):
                pieces: list[str] = draw(st.lists(st.text("xyz \n界", min_size=1, max_size=4), max_size=4))
                for piece in pieces:
                    truth.say(piece)
                if draw(st.booleans()):
                    truth.think("hm ")
                if draw(st.booleans()):
                    truth.call("result")
                if draw(st.booleans()):
                    joins = truth.accept("and this")
                    truth.join(joins)
                    truth.end_joined(joins)
            truth.say("end.")
            truth.finish(draw(st.sampled_from(["answered", "stopped"])))
            again = draw(st.booleans())
    if waiting:
        truth.begin(waiting.pop(0))
        truth.say("still at it")
    return truth


@given(courses(), st.data())
def test_any_losses_repeats_and_histories_in_between_lose_nothing_and_show_nothing_twice(
    truth: Truth, data: st.DataObject
) -> None:
    follow, missing = Following(), False
    at, asked = 0, -1
    while at < len(truth.notices) or asked >= 0:
        options = ["hear"] if at < len(truth.notices) else []
        options += ["answer"] if asked >= 0 else ["ask"]
        options += ["lose", "repeat"] if at < len(truth.notices) else []
        match data.draw(st.sampled_from(options)):
            case "hear":
                follow, gap = heard(follow, truth.notices[at], OWNER)
                missing, at = missing or gap, at + 1
            case "lose":  # homed tells that something was lost, always
                missing, at = True, at + 1
                follow = Following(**{**as_fields(follow), "again": follow.fetching or follow.again})
            case "repeat":
                follow, _ = heard(follow, truth.notices[data.draw(st.integers(0, max(0, at - 1)))], OWNER)
            case "ask":
                asked, missing = data.draw(st.integers(at, len(truth.notices))), False
                follow = Following(**{**as_fields(follow), "fetching": True, "again": False, "held": ()})
            case "answer":
                asked = max(asked, 0)
                follow, again = synchronised(follow, truth.histories[asked], OWNER)
                missing, asked = missing or again, -1
        texts = [item.key for item in follow.items]
        assert len(texts) == len(set(texts))
    if missing or follow.again:
        follow, _ = synchronised(follow, truth.histories[-1], OWNER)
    assert sorted(bare(follow.items)) == sorted(bare(whole(truth)))
    order = [key for key, *_ in bare(whole(truth)) if not key.startswith("u:")]
    assert [key for key, *_ in bare(follow.items) if not key.startswith("u:")] == order


def as_fields(follow: Following) -> dict[str, Any]:
    return {name: getattr(follow, name) for name in Following.__slots__}


SEQ = itertools.count(1)


def child(turn: str, **data: Any) -> dict[str, Any]:
    return {
        "type": "child",
        "seq": next(SEQ),
        "turn": turn,
        "data": {"child": "ag_1", "name": "helper", "in": "th_2", **data},
    }


def test_an_agent_is_one_line_that_grows_with_what_it_does() -> None:
    follow = Following()
    for notice in (
        child("t1", phase="start"), child("t1", phase="tool", tool="look", call="c1", status="running"),
        child("t1", phase="tool", tool="look", call="c1", status="ok"),
        child("t1", phase="tool", tool="read", call="c2", status="running"),
    ):  # fmt: skip
        follow, missing = heard(follow, notice, OWNER)
        assert not missing
    (agent,) = follow.items
    assert isinstance(agent, Agent)
    assert (agent.key, agent.name, agent.state, agent.count, agent.tool) == (
        "g:t1:ag_1",
        "helper",
        "running",
        2,
        "read",
    )
    follow, _ = heard(follow, child("t1", phase="end", state="answered"), OWNER)
    (agent,) = follow.items
    assert isinstance(agent, Agent)
    assert agent.state == "answered"


def test_an_agent_of_the_history_stands_before_the_end_of_its_turn_and_its_report_is_no_persons_word() -> None:
    told = {"child": "ag_1", "name": "helper", "in": "th_2", "turn": "t1", "state": "answered", "count": 1}
    said = {"kind": "user", "turn": "t1", "id": "e1", "seq": 1, "text": "go", "data": {"input": "i1"}, "peer": OWNER}
    mark = {"input": "i2", "mark": "child:ag_1"}
    report = {"kind": "user", "turn": "t2", "id": "e2", "seq": 2, "text": "[agent]", "data": mark, "peer": OWNER}
    history = {
        "events": [said, report], "ended": [{"turn": "t1", "state": "answered"}], "seq": 9,
        "agents": [{**told, "tools": [{"tool": "look", "status": "ok"}]}],
    }  # fmt: skip
    items = synchronised(Following(), history, OWNER)[0].items
    assert [item.key for item in items] == ["u:i1", "g:t1:ag_1", "e:t1", "u:i2"]
    assert [item.label for item in items if isinstance(item, Said)] == ["", "@agent"]
