"""The piece of a long text that a question is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval.passage import LONGEST, SENTENCE, piece
from homed.retrieval.words import query_terms

FILLING = "The mill stood silent. Rain fell on the yard, and nobody came. "
NEEDLE = "The spare key hangs behind the blue kettle."


def shown(text: str, question: str, room: int = 200) -> str:
    found = piece(text, query_terms(question), room)
    return text[slice(*found)] if found else ""


@pytest.mark.parametrize("at", [0, 20, 40])
def test_it_is_the_sentence_with_the_words_and_what_stands_round_it(at: int) -> None:
    text = FILLING * at + NEEDLE + " " + FILLING * (40 - at)
    found = shown(text, "Where is the spare key?")
    assert NEEDLE in found
    assert 100 < len(found) <= 200, "the room is used"
    assert found[0].isupper()
    assert found.rstrip()[-1] == "."


def test_a_rare_word_counts_more_than_many_common_ones() -> None:
    text = "The mill and the yard. " * 30 + "A kettle. " + "The mill and the yard. " * 30
    assert "kettle" in shown(text, "was the kettle in the mill yard", 60)


def test_chinese_has_sentences_without_blanks() -> None:
    text = "磨坊很安静。雨下个不停。" * 40 + "备用钥匙挂在蓝色水壶后面。" + "没有人来。" * 40
    assert "备用钥匙挂在蓝色水壶后面。" in shown(text, "备用钥匙在哪里？", 60)


def test_a_text_without_ends_of_sentences_is_cut_at_blanks() -> None:
    text = "row value " * 300 + "kettle " + "row value " * 300
    found = shown(text, "kettle", 50)
    assert "kettle" in found
    assert len(found) <= SENTENCE


LONG = "x" * (LONGEST + 1)


@pytest.mark.parametrize(("text", "question"), [("", "key"), (FILLING, "submarine"), (FILLING, ""), (LONG, LONG)])
def test_where_nothing_is_chosen(text: str, question: str) -> None:
    assert piece(text, query_terms(question), 100) is None


@given(st.text(alphabet="ab .\n。", max_size=300), st.integers(0, 400))
def test_it_is_a_piece_of_the_text_and_no_longer_than_the_room_or_one_sentence(text: str, room: int) -> None:
    found = piece(text, ["ab", "a"], room)
    if found is not None:
        first, last = found
        assert 0 <= first < last <= len(text)
        assert last - first <= max(room, SENTENCE)
