"""Long texts in pieces: none longer than allowed, no word lost, parted where a reader would pause."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.splitting import split

ENGLISH = "One is here. Two is there! Is three anywhere? Four, at last, is gone."
CHINESE = "第一句在这里。第二句在那里！第三句在哪里？第四句，终于，走了。"


def bare(text: str) -> str:
    """What must not be lost: everything but blanks and the fences."""
    return re.sub(r"\s|```\w*", "", text)


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        ("short", 0, ["short"]),
        ("short", 100, ["short"]),
        ("   ", 100, []),
        (ENGLISH, 30, ["One is here. Two is there!", "Is three anywhere?", "Four, at last, is gone."]),
        (CHINESE, 16, ["第一句在这里。第二句在那里！", "第三句在哪里？", "第四句，终于，走了。"]),
        ("first one\n\nsecond part is long", 24, ["first one", "second part is long"]),
        ("a" * 40, 16, ["a" * 16, "a" * 16, "a" * 8]),
    ],
)
def test_a_text_is_parted_at_its_borders(text: str, limit: int, pieces: list[str]) -> None:
    assert split(text, limit) == pieces


def test_a_paragraph_is_a_better_border_than_a_later_sentence() -> None:
    text = "The first paragraph has words.\n\nNew one. Then more words follow here and here."
    assert split(text, 45)[0] == "The first paragraph has words."


def test_what_the_eye_takes_for_one_character_is_not_parted() -> None:
    family = "👨‍👩‍👧"
    pieces = split(family * 12, 16)
    assert "".join(pieces) == family * 12
    assert all(piece.count("👨") == piece.count("👧") for piece in pieces), "each family is whole"
    assert not any(piece.startswith("\u0301") for piece in split("e\u0301" * 40, 17))


@pytest.mark.parametrize(
    "one", ["🇨🇳", "👍🏽", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "कि", "❤️", "が"]
)
def test_what_is_one_for_the_eye_in_other_ways_is_not_parted_either(one: str) -> None:
    for before in ("", "x", "字字"):
        pieces = split(before + one * 40, 17)
        assert "".join(pieces) == before + one * 40
        assert all(piece.removeprefix(before) == one * piece.count(one) for piece in pieces)


def test_parted_code_reads_as_code_in_each_piece() -> None:
    code = "Look:\n```python\n" + "\n".join(f"line_{n} = {n}" for n in range(30)) + "\n```\nDone."
    pieces = split(code, 120)
    assert len(pieces) > 2
    assert all(piece.count("```") % 2 == 0 for piece in pieces), "every fence that opens is closed in the same piece"
    assert pieces[1].startswith("```python\n")
    assert max(map(len, pieces)) <= 120
    assert bare("".join(pieces)) == bare(code)


@given(text=st.text(alphabet="ab .。,，\n字👍`", max_size=400), limit=st.integers(1, 60))
def test_no_piece_is_too_long_and_nothing_is_lost(text: str, limit: int) -> None:
    pieces = split(text, limit)
    assert all(piece.strip() for piece in pieces)
    assert all(len(piece) <= max(limit, 16) for piece in pieces)
    if "```" not in text:
        assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)
