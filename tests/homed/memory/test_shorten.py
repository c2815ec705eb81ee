"""Shortening for the view: within its limit, and never by looking at the whole of a very long text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent import notes
from homed.memory import shorten
from homed.memory.shorten import in_tokens
from homed.memory.tokens import estimate_tokens
from tests.homed.memory.build import says, tool, user

TEXTS = {
    "words": "The quick brown fox jumps over the lazy dog. ",
    "json": '{"id": 4711, "ok": true, "list": [1, 2, 3]}, ',
    "chinese": "我们昨天在北京讨论了新的计划。",
    "blank": " \n",
    "invisible": "\u200b\u200e",
}


class Counted:
    """``estimate_tokens``, and how many characters it was asked about in all."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> int:
        self.characters += len(text)
        return estimate_tokens(text)


@pytest.mark.parametrize("limit", [60, 600, 6_000])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_very_long_text_costs_no_more_than_what_is_shown_of_it(kind: str, limit: int) -> None:
    """A7: notes of a text of 1 MB took seconds, in the thread that everything else waits for."""
    counted, text = Counted(), TEXTS[kind] * (1_000_000 // len(TEXTS[kind]))
    shown = in_tokens(text, limit, "ev_1", counted)
    assert estimate_tokens(shown) <= limit
    assert "characters left out; stored whole in ev_1" in shown
    assert counted.characters < 50 * limit + 20_000
    for event in (user(1, text), tool(2, "c", text), says(3, text)):
        counted.characters = 0
        cut = shorten.shorten(replace(event, tokens=300_000), limit, counted)
        assert cut is not None
        assert cut.tokens == 0, "what was counted once was the whole"
        assert shorten.shown_tokens(cut, estimate_tokens) <= limit
        assert counted.characters < 60 * limit + 20_000


@pytest.mark.parametrize("kind", ["words", "json", "chinese"])
def test_what_is_shown_uses_its_limit(kind: str) -> None:
    shown = in_tokens(TEXTS[kind] * 20_000, 600, "ev_1", estimate_tokens)
    assert estimate_tokens(shown) > 400


@given(st.text(max_size=300), st.integers(0, 200))
def test_no_more_than_the_limit_or_nothing_but_the_mark(text: str, limit: int) -> None:
    shown = in_tokens(text, limit, "ev_1", estimate_tokens)
    assert estimate_tokens(shown) <= limit or shown in ("", f"[… {len(text)} characters]")


@pytest.mark.parametrize("limit", [30, 60, 600])
def test_a_note_looks_at_no_more_of_a_text_than_it_may_show(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """A7: every character was looked up before all but 600 tokens were thrown away."""
    seen: list[int] = []
    plain = notes.neutral

    def neutral(text: str) -> str:
        seen.append(len(text))
        return plain(text)

    counted = Counted()
    monkeypatch.setattr(notes, "neutral", neutral)
    monkeypatch.setattr(notes, "estimate_tokens", counted)
    event, place = user(1, TEXTS["words"] * 20_000), notes.Place("Garden", "webui")
    notes.note(event, place, peer="", limit=limit)
    notes.small_note(event, peer="", limit=limit)
    assert max(seen) <= 8 * limit + 100
    assert counted.characters < 60 * limit + 20_000
