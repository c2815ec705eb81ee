"""Long texts in pieces: light enough, at good borders, nothing lost that there is room for."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval.embed.chunk import MOST, OVERLAP, READ, SIZE, chunks, weight

ENGLISH = "The ferry leaves at nine. We meet in front of the old harbour office, as always. "
CHINESE = "我昨天和妹妹去了里斯本。天气很好，我们在海边吃了午饭！晚上才回来。"
KINDS = [ENGLISH, CHINESE, "\n\n", "- item\n", "x" * 700, "https://example.com/a/b ", "好" * 300, " "]


def numbered(kinds: list[str]) -> str:
    return "".join(f"{kind}<{at}>{kind if len(kind) > 99 else ' '}" for at, kind in enumerate(kinds))


TEXTS = st.lists(st.sampled_from(KINDS), max_size=60).map(numbered)
MARK = re.compile(r"<\d+>")


@given(TEXTS)
def test_pieces_are_light_few_and_never_blank(text: str) -> None:
    found = chunks(text)
    assert all(piece.strip() for piece in found)
    assert len(found) <= MOST
    assert all(weight(piece) <= SIZE + OVERLAP for piece in found)
    assert bool(found) == bool(text.strip())


@given(TEXTS)
def test_the_pieces_of_a_text_that_has_room_hold_all_of_it_in_order(text: str) -> None:
    found = chunks(text)
    if len(found) < MOST:
        seen = [mark for piece in found for mark in MARK.findall(piece)]
        assert list(dict.fromkeys(seen)) == MARK.findall(text)


def test_a_short_text_is_itself_and_a_blank_one_nothing() -> None:
    assert chunks("  Hello there.\n") == ["Hello there."]
    assert chunks(" \n\t") == []


def test_borders_are_those_of_sentences() -> None:
    for sentence, end in ((ENGLISH, "."), (CHINESE, "。！")):
        found = chunks(sentence * 30)
        assert len(found) > 3
        assert all(piece[-1] in end for piece in found)
        assert all(piece[0] in "TW我天晚" for piece in found)


def test_the_end_of_one_piece_stands_in_the_next_again() -> None:
    text = " ".join(f"Point {number} is about topic {number}." for number in range(80))
    found = chunks(text)
    for first, second in pairwise(found):
        last = re.findall(r"Point (\d+)", first)[-1]
        assert f"Point {last} " in second


def test_of_a_book_head_and_tail_are_kept_and_the_rest_is_spread() -> None:
    book = " ".join(f"Chapter {number} tells of something else entirely." for number in range(4000))
    found = chunks(book)
    assert len(found) == MOST
    assert found[0].startswith("Chapter 0 ")
    assert found[-1].endswith("Chapter 3999 tells of something else entirely.")
    firsts = [int(re.findall(r"Chapter (\d+)", piece)[0]) for piece in found]
    gaps = [second - first for first, second in pairwise(firsts)]
    assert max(gaps) < 2 * min(gaps)


def test_what_nobody_could_read_is_not_looked_at() -> None:
    huge = "a b. " * READ
    assert len(chunks(huge)) == MOST
    assert chunks("first words. " + huge + "last words.")[-1].endswith("last words.")
