"""Whatever is lost or begins anew on its way, what a program was told ends with the whole answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugins.webui.v1_words import BETWEEN, Words


def test_words_come_once_and_in_steps() -> None:
    words = Words()
    told = [words.delta(0, 0, "Let "), words.delta(0, 4, "me"), words.delta(0, 4, "me"), words.delta(0, 0, "Le")]
    told += [words.whole(0, "Let me."), words.delta(1, 0, "It"), words.whole(1, "It is."), words.end("It is.")]
    assert told == ["Let ", "me", "", "", ".", f"{BETWEEN}It", " is.", ""]


def test_what_begins_anew_is_told_anew_and_a_gap_waits_for_the_whole() -> None:
    words = Words()
    assert words.delta(0, 0, "Wrong start") == "Wrong start"
    assert words.delta(0, 0, "Right") == ""
    assert words.delta(0, 5, " one") == ""
    assert words.whole(0, "Right one") == f"{BETWEEN}Right one"
    assert words.delta(1, 3, "late") == ""
    assert words.end("Now late") == f"{BETWEEN}Now late"


def test_an_answer_that_was_held_back_comes_at_the_end() -> None:
    words = Words()
    assert words.whole(0, "") == ""
    assert words.end("Checked.") == "Checked."
    assert Words().end("") == ""


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12), st.data())
def test_whatever_of_the_deltas_is_lost(pieces: list[str], data: st.DataObject) -> None:
    words, told, at, text = Words(), "", 0, "".join(pieces)
    for piece in pieces:
        for _ in range(data.draw(st.integers(0, 2))):  # lost, once, or twice
            told += words.delta(0, at, piece)
        at += len(piece)
    assert text.startswith(told)
    if data.draw(st.booleans()):
        told += words.whole(0, text)
    assert told + words.end(text) == text
