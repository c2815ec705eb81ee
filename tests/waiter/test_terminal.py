"""Nothing that is written moves a terminal."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waiter.terminal import Terminal, harmless, json_line, one_line, wants_colour

OBEYED = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u202a\u202e\u2066\u2069\u2028"} - {"\n", "\t"}


@pytest.mark.parametrize("text", ["你好🌍", "👩‍👩‍👧", "e\u0301", "عربي", "שלום\u200f", "a\tb\n", "", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_honest_text_stays_to_the_byte(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"), ("\x07", "␇"), ("\x9b31m", "\\x9b31m"), ("\x7f", "␡"), ("a\rb", "a␍b"), ("a\r\nb", "a\nb"),
        ("\u202etxt.exe", "\\u202etxt.exe"), ("\x00", "␀"), ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
    ],
)  # fmt: skip
def test_what_a_terminal_obeys_is_shown_instead(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x2100)))
def test_nothing_obeyed_is_left(text: str) -> None:
    assert not set(harmless(text)) & OBEYED
    assert not set(one_line(text)) & (OBEYED | {"\n", "\t"})
    line = json_line({"text": text})
    assert not set(line.decode()[:-1]) & OBEYED
    assert json.loads(line) == {"text": text}


def test_one_line_marks_line_ends_and_the_cut() -> None:
    assert one_line("a\nb\tc") == "a⏎b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_a_line_end_cut_in_two_stays_one() -> None:
    out, err = io.BytesIO(), io.BytesIO()
    terminal = Terminal(out, err)
    terminal.say("a\r")
    terminal.say("\nb\r")
    terminal.say("c")
    terminal.end_line()
    terminal.end_line()
    assert out.getvalue().decode() == "a\nb␍c\n"


def test_half_a_surrogate_pair_does_not_crash() -> None:
    out = io.BytesIO()
    Terminal(out, out).say("a\ud800b")
    assert out.getvalue() == b"a\\ud800b"


def test_notes_start_on_a_line_of_their_own_where_both_share_a_screen() -> None:
    out = io.BytesIO()
    terminal = Terminal(out, out, together=True)
    terminal.say("half")
    terminal.note("note")
    assert out.getvalue() == b"half\nnote\n"


@pytest.mark.parametrize(
    ("environment", "tty", "wanted"),
    [
        ({"TERM": "xterm"}, True, True), ({"TERM": "xterm"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True), ({"TERM": "dumb"}, True, False), ({}, True, False),
    ],
)  # fmt: skip
def test_colour_only_where_it_is_wanted(environment: dict[str, str], tty: bool, wanted: bool) -> None:
    assert wants_colour(environment, tty=tty) is wanted
