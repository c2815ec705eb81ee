"""Which entities an input names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.memory import entities
from homed.retrieval import met
from homed.retrieval.asking import Question
from homed.retrieval.keywords import Keywords, Parting
from homed.retrieval.rank import Hit, Ranker
from homed.retrieval.without import NoVectors, words_only
from homed.store.connection import Transaction
from homed.store.rows import Tx
from tests.kit.migrated import migrated

NAMES = ("Ida", "Anna Petrova", "小雨", "成都市", "Москва", "Ида", "C++", "order 4379", "QQ群")


@pytest.fixture
def tx() -> Iterator[Tx]:
    connection = migrated()
    connection.execute("BEGIN")
    made = Transaction(connection, Path(":memory:"))
    for name in NAMES:
        entities.put(made, "owner", name, at=1.0)
    entities.put(made, "guest:1", "Berta", at=1.0)
    entities.speaker(made, "owner", at=1.0)
    yield made
    connection.close()


def names(tx: Tx, text: str, ranker: Ranker | None = None) -> list[str]:
    found = met.entities(tx, ranker or words_only(), "owner", Question(text))
    return [str(tx.value("SELECT name FROM entities WHERE id = ?", (one,))) for one in found]


@pytest.mark.parametrize(
    ("text", "met_"),
    [
        ("What does ida do?", ["Ida"]),
        ("Ida's cello and Ida’s bow", ["Ida"]),
        ("Is idaho far?", []),
        ("Call Anna  PETROVA, please", ["Anna Petrova"]),
        ("Call Anna", []),
        ("请提醒我给小雨打电话", ["小雨"]),
        ("小雨搬到成都市了吗？", ["成都市", "小雨"]),
        ("Я живу в Москве с Идой", ["Москва", "Ида"]),
        ("Москвичка пришла", []),
        ("I write C++ daily", ["C++"]),
        ("where is order 4379?", ["order 4379"]),
        ("QQ群里有人吗", ["QQ群"]),
        ("Berta", []),
        ("I and me", []),
        ("", []),
        ("...", []),
    ],
)
def test_names_are_met_in_every_script_and_of_the_scope_alone(tx: Tx, text: str, met_: list[str]) -> None:
    assert names(tx, text) == met_


@pytest.mark.parametrize("name", ["iPhone手机", "阿里云ECS", "卡拉OK", "张三Bob李四", "华为P60手机", "小米 14 Ultra"])
@pytest.mark.parametrize("known", [False, True])
async def test_a_name_of_two_scripts_is_met(tx: Tx, name: str, known: bool) -> None:
    entities.put(tx, "owner", name, at=1.0)
    ranker = await knowing("手机", "阿里云", "卡拉", "张三", "李四", "华为", "小米") if known else None
    assert names(tx, f"请问{name}怎么样？", ranker) == [name]
    assert names(tx, f"{name} 怎么样？", ranker) == [name]


def test_a_long_text_is_looked_at_from_both_ends(tx: Tx) -> None:
    middle = "word " * 2_000
    assert names(tx, f"Ida {middle} 小雨 {middle} Anna Petrova") == ["Anna Petrova", "Ida"]


def test_of_what_is_near_only_the_really_near_counts(tx: Tx) -> None:
    class Near(Ranker):
        def entities(self, tx: Tx, **_: object) -> list[Hit]:
            ids = [entities.must(tx, "owner", name).id for name in ("Ida", "Anna Petrova")]
            return [Hit(1, ids[0], met.NEAR + 0.01), Hit(2, ids[1], met.NEAR - 0.01)]

    plain = words_only()
    ranker = Near(lambda: None, plain._dense)
    assert names(tx, "the girl with the instrument", ranker) == ["Ida"]


def test_there_are_never_more_than_a_dozen(tx: Tx) -> None:
    for number in range(40):
        entities.put(tx, "owner", f"name{number}x", at=1.0)
    assert len(names(tx, " ".join(f"name{number}x" for number in range(40)))) == met.MOST


class Words(Keywords):
    """Knows these words only."""

    def __init__(self, *words: str) -> None:
        super().__init__(lambda: Parting(lambda run: re.findall(f"{'|'.join(words)}|.", run), lambda _: 1.0))


async def knowing(*words: str) -> Ranker:
    keywords = Words(*words)
    keywords.meet("中文")
    await keywords.keep()
    return Ranker(lambda: None, NoVectors(), keywords=keywords)


async def test_a_name_that_only_stands_where_two_words_meet_is_none(tx: Tx) -> None:
    for name in ("北京", "王朝"):
        entities.put(tx, "owner", name, at=1.0)
    assert names(tx, "东北京剧团在演出") == ["北京"]  # nothing is known of words yet
    ranker = await knowing("东北", "京剧团", "朝阳")
    assert names(tx, "东北京剧团在演出", ranker) == []
    assert names(tx, "我去北京看东北京剧团", ranker) == ["北京"]
    assert names(tx, "王朝阳和小雨", ranker) == ["小雨", "王朝"]  # one of its ends is a word's


async def test_a_word_of_a_name_finds_it_where_few_have_it(tx: Tx) -> None:
    for name in ("上海图书馆", "张三公司", "李四公司", "王五公司", "赵六公司"):
        entities.put(tx, "owner", name, at=1.0)
    entities.put(tx, "guest:1", "北京图书馆", at=1.0)
    ranker = await knowing("图书馆", "公司")
    assert names(tx, "图书馆几点关门？", ranker) == ["上海图书馆"]
    assert names(tx, "公司几点关门？", ranker) == []
    assert names(tx, "图书馆几点关门？") == []
