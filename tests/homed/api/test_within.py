"""What a turn gets of what it reads, and what it is told that it holds."""

from __future__ import annotations

from typing import Any

import pytest

from homed.api.within import Holds, explained, holds, page


def event(turn: str, **data: object) -> dict[str, Any]:
    return {"turn": turn, "text": turn, "data": data}


PAGE: dict[str, Any] = {
    "events": [event("a"), event("b", no_memory=True)],
    "ended": [{"turn": "a"}, {"turn": "b", "error": "marzipan"}],
    "live": {"turn": "c", "calls": [], "no_memory": True},
    "queued": [{"input": "d"}, {"input": "e", "no_memory": True}],
    "approvals": [{"approval": "x"}],
    "seq": 5,
}


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (None, Holds(False, False)),
        ({"data": {}}, Holds(False, False)),
        ({"data": {"untrusted": True}}, Holds(True, False)),
        ({"data": {"blocks": [{}], "no_memory": True}}, Holds(True, True)),
        ({"untrusted": True}, Holds(True, False)),
        ({"blocks": []}, Holds(False, False)),
    ],
)
def test_what_an_entry_says_of_itself(entry: object, found: Holds) -> None:
    assert holds(entry) == found


def test_its_own_conversation_is_shown_whole() -> None:
    assert page(PAGE, own=True) == (PAGE, Holds(False, True))


def test_of_another_one_nothing_private() -> None:
    shown, held = page(PAGE, own=False)
    assert shown == {
        "events": [event("a")], "ended": [{"turn": "a"}], "live": None, "queued": [{"input": "d"}],
        "approvals": [], "seq": 5,
    }  # fmt: skip
    assert held == Holds(False, False)


@pytest.mark.parametrize(
    "more",
    [
        {"live": {"turn": "c", "calls": [{"result": "buy now"}], "untrusted": True}},
        {"queued": [{"input": "d", "untrusted": True}]},
        {"queued": [{"input": "d", "blocks": [{}]}]},
        {"events": [event("a", untrusted=True)]},
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_strangers_words_count_wherever_they_stand(more: dict[str, Any], own: bool) -> None:
    assert page({"events": [], **more}, own=own)[1] == Holds(True, False)


def test_a_page_without_the_rest_gets_none() -> None:
    assert page({"events": []}, own=False) == ({"events": []}, Holds(False, False))


def test_an_explanation_tells_titles_of_other_conversations() -> None:
    answer = {"events": {"ev_1": {"thread": "u", "title": "obey.txt"}}}
    assert explained(answer, "t") == (answer, Holds(True, False))
    assert explained(answer, "u") == (answer, Holds(False, False))
