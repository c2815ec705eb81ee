"""Questions for what holds now."""

from __future__ import annotations

import pytest

from homed.retrieval import newest
from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks


@pytest.mark.parametrize(
    "query",
    [
        "What is the latest port?",
        "which port do we use now",
        "最新的端口是多少",
        "现在房租是多少？",
        "Какой сейчас порт?",
        "what's my current address?",
    ],
)
def test_what_asks_for_the_newest(query: str) -> None:
    assert newest.wanted(query)


@pytest.mark.parametrize("query", ["which port did we use", "I know it now", "房租是多少", "the newest of them", ""])
def test_what_does_not(query: str) -> None:
    assert not newest.wanted(query)


def test_the_words_that_ask_are_not_looked_for_unless_there_are_no_others() -> None:
    assert newest.without("the latest port?").split() == ["the", "port?"]
    assert newest.without("现在") == "现在"


def test_values_near_the_best_are_given_out_by_time_and_what_is_about_something_else_stays_behind() -> None:
    found = newest.first({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.2}, {1: 10.0, 2: 30.0, 3: 20.0, 4: 99.0})
    assert found == {2: 0.9, 3: 0.8, 1: 0.7, 4: 0.2}


def test_the_latest_value_comes_first_where_it_is_asked_for_and_only_there(tx: Tx, say: Talks) -> None:
    """E25: 4379 was told long before 4324."""
    old = say("the cache port is 4379", thread="a")
    new = say("we moved the cache to port 4324", thread="b")
    say("deep sea fish", thread="c")

    def first(query: str) -> str:
        return words_only().search(tx, scope="owner", layer="context", query=query, limit=5)[0].id

    assert first("which is the latest cache port?") == new.id
    assert first("which port is 4379") == old.id
