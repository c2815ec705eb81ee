"""A thread made whole from its history; `test_view` holds it against what comes live."""

from __future__ import annotations

from typing import Any

from plugins.webui import whole
from plugins.webui.context import FOLDER
from plugins.webui.fragments import Fragments, environment
from plugins.webui.words import load

from .page import plain

FRAGMENTS = Fragments(environment(FOLDER / "templates"), load(FOLDER / "strings")["en"])


def event(kind: str, text: str, seq: int, turn: str = "t1", **data: Any) -> dict[str, Any]:
    known = {"seq": seq, "id": f"e{seq}", "turn": turn, "kind": kind, "peer": "webui:owner", "created_at": 0.0}
    return {**known, "text": text, "data": data}


def made(**history: Any) -> dict[str, list[str]]:
    """Section → the keys of its items, in order."""
    sections = whole.sections({"events": [], "live": None, **history}, FRAGMENTS)
    return {section.turn or section.input: [item.key for item in section.ordered()] for section in sections}


def test_a_turn_is_a_section_of_everything_in_it() -> None:
    events = [
        event("user", "q", 1, input="i1"),
        event("assistant", "let me look", 2, calls=[{"id": "c1", "name": "t", "arguments": {}}], reasoning="hm"),
        event("tool", "r", 3, call_id="c1", name="t", status="ok"),
        event("assistant", "found", 4),
        event("note", "limit", 5, code="limit"),
    ]
    recalls = [{"turn": "t1", "shown": ["e0"], "cold": [], "chars": 3, "kept": 1}]
    keys = made(events=events, recalls=recalls, ended=[{"turn": "t1", "state": "answered"}])["t1"]
    assert keys == ["said", "recall", "reason-0", "text-0", "tool-c1", "text-1", "note-e5", "end"]


def test_a_result_whose_call_is_on_another_page_stands_in_the_first_step() -> None:
    (section,) = whole.sections({"events": [event("tool", "r", 3, call_id="c1", name="t", status="ok")]}, FRAGMENTS)
    assert section.items[0].order.startswith("0000.3")


def test_what_waits_for_its_turn_has_a_section_of_its_own_once() -> None:
    waiting = {"input": "i2", "text": "next", "peer": "webui:owner", "accepted_at": 0.0}
    assert made(queued=[waiting]) == {"i2": ["said"]}
    live = {"turn": "t2", "input": "i2", "step": 0, "text": "", "reasoning": "", "calls": []}
    assert made(queued=[waiting], live=live) == {"t2": ["said"]}


def test_recall_and_end_of_a_turn_that_is_on_another_page_make_no_section() -> None:
    recalls = [{"turn": "t0", "shown": ["e0"], "cold": [], "chars": 3, "kept": 1}]
    assert made(events=[event("user", "q", 1)], recalls=recalls, ended=[{"turn": "t0"}]) == {"t1": ["said"]}


def test_files_of_a_message_are_shown_also_while_it_waits() -> None:
    block = {"id": "b1", "name": "a.csv", "media_type": "text/csv", "bytes": 3}
    waiting = {"input": "i2", "text": "next", "peer": "p", "accepted_at": 0.0, "blocks": [block]}
    events = [event("user", "q", 1, blocks=[block])]
    html = [section.items[0].html for section in whole.sections({"events": events, "queued": [waiting]}, FRAGMENTS)]
    assert all("a.csv 3 B" in plain(one) for one in html)
    assert len(html) == 2
