"""What commands print."""

from __future__ import annotations

import pytest

from homed.commands.output import clean, complain, table, when, width
from homed.errors import Conflict


def test_an_error_is_one_line_and_one_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    complain(Conflict("The folder is taken.", hint="Choose another."))
    assert capsys.readouterr().err == "homed: The folder is taken.\n  Choose another.\n"


def test_columns_line_up_with_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    table([("网页", "x"), ("web", "y")], ("name", "v"))
    lines = capsys.readouterr().out.splitlines()
    assert [width(line[: line.index(c)]) for line, c in zip(lines, "vxy", strict=True)] == [6, 6, 6]


def test_what_a_plugin_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table([("\x1b]0;owned\x07", "a\nb")], ("name", "v"))
    complain(Conflict("\x1b]0;owned\x07", hint="\x1b[2J"))
    out = "".join(capsys.readouterr())
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "a b" in out
    assert clean("\x9b31m") == "\\x9b31m"


def test_no_time_is_no_text() -> None:
    assert when(None) == when(0) == ""
    assert when(1_700_000_000).startswith("2023-11-1")
