"""Questions whose answer lies in several places."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval import several
from homed.retrieval.rank import Part, Ranker
from homed.retrieval.without import NoVectors
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks


@pytest.mark.parametrize(
    "query",
    [
        "What books has Anna read?",
        "which kinds of tea do we have",
        "What were the names of her dogs?",
        "In what ways did it help?",
        "what are Anna's pets' names",
        "How many times were we at the sea?",
        "Which people did she meet?",
        "list all ports",
        "她读过哪些书？",
        "我们去过几次海边",
        "他一共去过多少个城市",
        "她都喜欢吃什么",
        "Какие книги она читала?",
        "Сколько раз мы были у моря?",
    ],
)
def test_what_asks_for_several_things(query: str) -> None:
    assert several.wanted(query)


@pytest.mark.parametrize(
    "query",
    [
        "What does Anna read?",
        "what is this",
        "Which bus goes there?",
        "What makes Anna happy?",
        "what was his address",
        "When did her dogs come?",
        "how often does it rain",
        "她读什么书？",
        "房租是多少",
        "法国的首都是什么？",
        "成都在哪",
        "京都那家店叫什么",
        "Какой порт?",
        "books",
        "",
    ],
)
def test_what_does_not(query: str) -> None:
    assert not several.wanted(query)


def test_of_a_pasted_text_only_the_ends_ask() -> None:
    paste = "It says what books they keep. " * 2000
    assert not several.wanted(f"{'x' * 20_000}\n{paste}\n{'x' * 20_000}")
    assert several.wanted(f"{paste}\n{'x' * 20_000}\nWhich of these cities did I see?")
    begun = time.process_time()
    several.wanted(("what" + " " * 1000) * 1000)
    assert time.process_time() - begun < 1


def test_the_fifth_of_one_conversation_gives_way_to_the_first_of_another() -> None:
    scores = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 5: 0.5, 6: 0.4, 7: 0.3}
    homes = dict.fromkeys((1, 2, 3, 4, 5, 7), "a") | {6: "b"}
    assert several.spread(scores, homes) == {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 6: 0.5, 5: 0.4, 7: 0.3}


def test_what_is_far_behind_does_not_come_before_it() -> None:
    scores = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 5: 0.5, 6: 0.37}
    assert several.spread(scores, dict.fromkeys((1, 2, 3, 4, 5), "a") | {6: "b"}) == scores


@given(st.dictionaries(st.integers(1, 40), st.sampled_from((0.1, 0.4, 0.5, 0.9)), max_size=20), st.data())
def test_no_value_is_lost_and_of_one_home_each_stays_in_its_order(
    scores: dict[int, float], data: st.DataObject
) -> None:
    homes = {seq: data.draw(st.sampled_from("abc")) for seq in scores}
    found = several.spread(scores, homes)
    assert sorted(found.values()) == sorted(scores.values())
    for home in "abc":
        mine = [seq for seq in scores if homes[seq] == home]
        before, after = (sorted(mine, key=lambda seq: (-values[seq], -seq)) for values in (scores, found))
        assert [found[seq] for seq in before] == [found[seq] for seq in after]
    assert several.spread(scores, dict.fromkeys(scores, "a")) == scores


def test_a_conversation_that_says_much_leaves_room_for_the_others(tx: Tx, say: Talks) -> None:
    for at in range(14):
        say(f"page {at}: a book about whales that Anna read", thread="long")
    elsewhere = say("Anna read about whales there", thread="short")
    query = "Which books about whales did Anna read?"

    def first(*without: Part) -> list[str]:
        ranker = Ranker(lambda: None, NoVectors(), without=without)
        return [hit.id for hit in ranker.search(tx, scope="owner", layer="context", query=query, limit=10)]

    assert elsewhere.id in first()
    assert elsewhere.id not in first("several")


def test_of_equal_ones_another_conversation_has_its_turn(tx: Tx, say: Talks) -> None:
    """They are told apart by nothing but their order, and by their age all of one conversation would come first."""
    threads = {say("a book about whales that Anna read", thread=name).thread for name in ["a"] * 14 + ["b"] * 14}
    found = Ranker(lambda: None, NoVectors()).search(
        tx, scope="owner", layer="context", query="Which books about whales did Anna read?", limit=10
    )
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert {tx.value("SELECT thread FROM events WHERE id = ?", (hit.id,)) for hit in found[:5]} == threads
