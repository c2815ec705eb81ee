"""What scripts log: redacted, cut, and not more than somebody reads."""

from __future__ import annotations

import logging

import pytest

from homed.providers.lua.logged import LINES, LONGEST, PERIOD, Lines


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="homed.providers.lua.logged")
    return caplog


def test_a_line_has_its_level_and_no_secret(lines: pytest.LogCaptureFixture) -> None:
    said = Lines("mine.lua", lambda: 0.0)
    said.line("warn", "key sk-abcdef0123456789abcdef0123456789\nnext")
    said.line("odd", "x" * 5000)
    first, second = lines.records
    assert (first.levelno, first.getMessage()) == (logging.WARNING, "mine.lua: key [secret:key] next")
    assert (second.levelno, len(second.getMessage())) == (logging.INFO, LONGEST + len("mine.lua: "))


def test_more_than_somebody_reads_is_left_out_and_its_number_told(lines: pytest.LogCaptureFixture) -> None:
    now = 0.0
    said = Lines("mine.lua", lambda: now)
    for n in range(LINES + 5):
        said.line("info", str(n))
    assert len(lines.records) == LINES
    now = PERIOD
    said.line("info", "again")
    assert [record.getMessage() for record in lines.records[LINES:]] == [
        "mine.lua: 5 lines more were left out", "mine.lua: again",
    ]  # fmt: skip
