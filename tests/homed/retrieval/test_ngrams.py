"""What a word may be mistyped for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval import ngrams
from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks

WORDS = ["stove", "store", "stone", "certif", "checkout", "deploy", "service", "документ"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stoce", {"stove", "store", "stone"}),
        ("checkotu", {"checkout"}),
        ("deplooy", {"deploy"}),
        ("serice", {"service"}),
        ("докмент", {"документ"}),
        ("chekcoutt", {"checkout"}),
        ("stove", {"store", "stone"}),
        ("heron", set()),
        ("cat", set()),
        ("4379", set()),
    ],
)
def test_one_mistake_in_a_short_word_two_in_a_long_one(word: str, meant: set[str]) -> None:
    assert set(ngrams.nearly(word, WORDS)) == meant


@given(st.text("abcdef", min_size=4, max_size=12), st.data())
def test_whatever_single_mistake_is_found(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("abcdef"))
    made = [
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    ]
    for one in made:
        assert one == word or len(one) < ngrams.SHORTEST or ngrams.nearly(one, [word]), one


def test_a_mistyped_word_finds_what_it_was_meant_for_and_one_that_is_there_nothing_else(tx: Tx, say: Talks) -> None:
    stove = say("the camping stove is in the cellar", thread="a")
    store = say("the store closes at eight", thread="b")
    other = say("stoce", scope="group")

    def found(query: str) -> list[str]:
        return [hit.id for hit in words_only().search(tx, scope="owner", layer="context", query=query, limit=5)]

    assert found("where is the camping stoce")[0] == stove.id
    assert found("cellra") == [stove.id]
    assert found("store") == [store.id]
    hits = words_only().search(tx, scope="group", layer="context", query="stoec", limit=5)
    assert [hit.id for hit in hits] == [other.id], "of its own scope's words"
