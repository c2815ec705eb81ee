"""Widths and lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from waiter.cells import FILL, KINDS, PRIVATE, Glyphs, clean, cut, hard, pad, width, wrap

HARD = "👩‍👩‍👧🇨🇳👍🏽☺️1️⃣é한नि"
TEXT = st.text(
    st.sampled_from([*"ab \n", *"你好，。", *HARD, "\t", "\x1b", "\u202e", "\ud800", "\U0010fff0"]), max_size=80
)


def shown(text: str) -> str:
    return Glyphs().fit(clean(text))


@given(TEXT, st.integers(2, 40))
def test_no_line_is_wider_than_the_screen_and_no_character_is_lost(text: str, cells: int) -> None:
    fitted = shown(text)
    for lines in (wrap([("", fitted)], cells), hard([("", fitted.replace("\n", ""))], cells)):
        made = ["".join(part for _, part in line) for line in lines]
        assert all(get_cwidth(line) <= cells for line in made)
        assert "".join(made).replace(" ", "") == fitted.replace(" ", "").replace("\n", "")
        assert not any(line.startswith(FILL) for line in made)


@given(TEXT, st.integers(1, 30))
def test_cut_and_pad_keep_to_the_width_and_tear_no_glyph(text: str, cells: int) -> None:
    fitted = shown(text).replace("\n", " ")
    assert width(cut(fitted, cells)) <= cells
    assert width(pad(fitted, cells)) == cells
    glyphs = Glyphs()
    line = cut(glyphs.fit(clean(text).replace("\n", " ")), cells)
    for at, char in enumerate(line):
        meant = glyphs.meant(char)
        assert not meant or line[at + 1 : at + 2] in (FILL, "") or width(meant) == 1 or glyphs.fit(meant) == char


@given(TEXT)
def test_what_is_counted_is_what_prompt_toolkit_counts(text: str) -> None:
    assert width(shown(text).replace("\n", "")) == get_cwidth(shown(text).replace("\n", ""))


@pytest.mark.parametrize(("glyph", "cells"), [("👩‍👩‍👧", 2), ("🇨🇳", 2), ("👍🏽", 2), ("☺️", 2), ("한", 2), ("é", 1)])
def test_a_glyph_of_many_characters_takes_the_cells_it_is_drawn_in(glyph: str, cells: int) -> None:
    glyphs = Glyphs()
    fitted = glyphs.fit(glyph)
    assert get_cwidth(fitted) == cells
    meant = "".join(glyphs.meant(char) or char for char in fitted if char != FILL)
    assert meant == glyph


def test_private_characters_of_others_and_half_characters_are_replaced() -> None:
    assert clean(f"a{chr(PRIVATE)}{FILL}\ud800b") == "a\ufffd\ufffd\ufffdb"
    assert clean("\x1b]52;c;eA==\x07\u202e\t|") == "␛]52;c;eA==␇\\u202e  |"


def test_lines_begin_as_they_should_and_break_where_they_may() -> None:
    lines = wrap([("", "one two three")], 9, first=(("", "- "),), rest=(("", "  "),))
    assert ["".join(t for _, t in line) for line in lines] == ["- one two", "  three"]
    lines = wrap([("", "标点不在行首，对吧")], 12)
    assert ["".join(t for _, t in line) for line in lines] == ["标点不在行", "首，对吧"]
    assert [t for line in hard([("s", "a  b  c")], 4) for _, t in line] == ["a  b", "  c"]


def test_more_glyphs_than_there_is_room_for_are_shown_by_their_first_character() -> None:
    glyphs = Glyphs()
    many = [f"{chr(0x4E00 + n)}\ufe0f" for n in range(KINDS + 1)]
    fitted = [glyphs.fit(one) for one in many]
    assert glyphs.meant(fitted[0][0]) == many[0]
    assert fitted[-1] == many[-1][0]


@pytest.mark.parametrize("text", ["é" * 100_000, "a\u0301" * 50_000, "x" * 1_000_000, "a" + "\u0301" * 100_000])
def test_a_word_of_any_length_is_broken_quickly(text: str) -> None:
    began = time.thread_time()  # of this thread alone: others share the machine
    fitted = shown(text)
    for lines in (wrap([("", fitted)], 80), hard([("", fitted)], 80)):
        assert "".join(part for line in lines for _, part in line) == fitted
    assert time.thread_time() - began < 2
