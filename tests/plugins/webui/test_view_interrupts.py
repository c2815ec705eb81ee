"""A turn that is suspended, goes on, or takes a message in: shown as it is, and no text twice (E41)."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.webui import whole
from plugins.webui.view import Gap, ThreadView

from .page import Page
from .standin import Said
from .test_view import FRAGMENTS, delta, notice, told, view
from .test_whole import event


def of_turn(phase: str, turn: str = "turn1", input_: str = "i1", **more: Any) -> Said:
    return notice("turn", turn=turn, phase=phase, input=input_, **more)


def raw(input_: str, said: str, **more: Any) -> Said:
    return notice("raw_input", turn="", input=input_, text=said, peer="webui:owner", client_msg_id="m", **more)


def apply(page: Page, of: ThreadView, *notices: Said) -> None:
    for one in notices:
        for op in [*of.feed(one), *of.flush()]:
            page.apply(op.name, dict(op.data))


def test_what_a_suspended_turn_has_shown_stays_and_begins_anew_when_it_goes_on() -> None:
    of = view()
    page = told(
        of, raw("i1", "a story"), of_turn("start"), delta(0, "I ", type_="reasoning_delta"), delta(0, "It was ")
    )
    apply(page, of, of_turn("suspended", by="i2"))
    shown = page.shown()
    assert shown["turn1", "text-0"] == "It was"
    assert shown["turn1", "paused"].startswith("Suspended")
    assert page.live == set()
    apply(page, of, raw("i2", "lunch?"), of_turn("start", "turn2", "i2"))
    assert page.live == {"turn2"}
    apply(page, of, of_turn("end", "turn2", "i2", state="answered"), of_turn("resumed", step=0))
    assert page.live == {"turn1"}
    shown = page.shown()
    assert ("turn1", "paused") not in shown
    assert ("turn1", "reason-0") not in shown
    assert shown["turn1", "text-0"] == ""
    apply(
        page,
        of,
        delta(0, "It is a "),
        delta(8, "dark night"),
        notice("agent_output", input="i1", text="It is a dark night"),
    )
    apply(page, of, of_turn("end", state="answered"))
    assert page.shown()["turn1", "text-0"] == "It is a dark night"


def test_a_message_that_waited_stands_in_the_turn_it_was_put_into() -> None:
    of = view()
    call: dict[str, Any] = {
        "call": "c1",
        "step": 0,
        "tool": "look",
        "plugin": "demo",
        "class": "read",
        "args": {},
        "result": "",
    }
    chain = notice("agent_llm_chain", step=0, text="let me look", reasoning="", calls=[{"call": "c1"}])
    page = told(
        of, raw("i1", "look"), of_turn("start"), delta(0, "let me look"), chain,
        notice("tool_call", **{**call, "status": "ok", "ms": 3}), raw("i2", "there too", level=2),
    )  # fmt: skip
    assert ("input:i2", "said") in page.shown()
    apply(page, of, of_turn("joined", input_="i2"), delta(0, "both", step=1))
    shown = page.shown()
    assert [key for turn, key in shown if turn == "turn1"] == ["said", "text-0", "tool-c1", "said-i2", "text-1"]
    assert shown["turn1", "said-i2"] == "there too"
    assert "input:i2" not in page.parts
    apply(page, of, of_turn("end", input_="i2", state="answered", **{"with": "i1"}))
    assert page.live == {"turn1"}, "it ends with the turn, and does not end it"


def test_one_that_the_page_does_not_know_is_a_gap() -> None:
    with pytest.raises(Gap):
        told(view(), of_turn("start"), of_turn("joined", input_="i2"))


def test_the_answer_for_another_channel_is_not_shown_twice() -> None:
    page = told(view(), delta(0, "both"), notice("agent_output", input="i2", text="both", **{"with": "i1"}))
    assert page.shown()["turn1", "text-0"] == "both"


def test_what_the_kernel_raised_is_no_persons_word() -> None:
    page = told(view(), raw("i1", "[kernel] look", mark="kernel"))
    assert page.shown()["input:i1", "said"] == "From homed [kernel] look"


def history(**more: Any) -> dict[str, Any]:
    still = {"turn": "turn1", "input": "i1", "step": 0, "text": "It was", "reasoning": "", "calls": []}
    live = {"turn": "turn2", "input": "i2", "step": 0, "text": "so", "reasoning": "", "calls": []}
    said = [event("user", "a story", 1, "turn1", input="i1"), event("user", "lunch?", 2, "turn2", input="i2")]
    return {"events": said, "live": live, "suspended": [still], "approvals": [], "seq": 9, **more}


def test_a_page_that_is_made_whole_meanwhile_shows_the_same() -> None:
    sections = {section.turn: section for section in whole.sections(history(), FRAGMENTS)}
    assert [item.key for item in sections["turn1"].ordered()] == ["said", "text-0", "paused"]
    assert (sections["turn1"].suspended, sections["turn1"].live, sections["turn2"].live) == (True, False, True)


def test_a_page_that_comes_back_meanwhile_shows_the_same() -> None:
    of, page = view(), Page()
    for op in of.resume(history(), []):
        page.apply(op.name, dict(op.data))
    assert page.live == {"turn2"}
    assert page.shown()["turn1", "text-0"] == "It was"
    assert ("turn1", "paused") in page.shown()
    apply(page, of, of_turn("resumed", step=0), delta(0, "It is"))
    assert page.shown()["turn1", "text-0"] == "It is"


def test_a_message_that_was_put_in_stands_before_the_step_it_was_put_before() -> None:
    call = [{"id": "c1", "name": "look", "arguments": {}}]
    events = [
        event("user", "look", 1, input="i1"), event("assistant", "let me look", 2, calls=call, step=0),
        event("tool", "r", 3, call_id="c1", name="look", status="ok"),
        event("user", "there too", 4, input="i2", inserted=True), event("assistant", "both", 5, step=1),
    ]  # fmt: skip
    (section,) = whole.sections({"events": events, "live": None}, FRAGMENTS)
    assert section.input == "i1"
    assert [item.key for item in section.ordered()] == ["said", "text-0", "tool-c1", "said-i2", "text-1"]
