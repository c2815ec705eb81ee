"""What cannot be seen is taken out, and what only looks odd stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.skills.clean import one_line, visible


@pytest.mark.parametrize(
    "text",
    ["plain\n\ttext", "你好，世界", "👩‍👩‍👧‍👦 ❤️ 🏳️‍🌈", "می‌خواهم", "naïve Ω", "한국어", "e\u0301"],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == (text, 0)


@pytest.mark.parametrize(
    ("hidden", "count"),
    [
        ("a\u200bb", 1), ("a\u200db", 1), ("a\u202eb\u202c", 2), ("\ufeffab", 1),
        ("ab" + "".join(map(chr, range(0xE0041, 0xE0049))), 8),
        ("ab\ufe0f\ufe01\ufe02", 2), ("ab\U000e0101", 1), ("a\x00b\x1b", 2), ("a\u2060b", 1), ("a\u3164b", 1),
        ("a\u2028b", 1),
        ("\ue000ab", 1), ("a\u00adb", 1), ("a\u061cb", 1),
    ],
)  # fmt: skip
def test_what_hides_is_out(hidden: str, count: int) -> None:
    text, gone = visible(hidden)
    assert text.rstrip("\ufe0f") == "ab"
    assert gone == count


@settings(deadline=None)
@given(st.text())
def test_a_line_is_a_line(text: str) -> None:
    line = one_line(text, 20)
    assert len(line) <= 20
    assert "\n" not in line
    assert visible(visible(text)[0])[1] == 0
