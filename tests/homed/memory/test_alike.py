"""Names that are nearly the same, among many."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory import alike
from homed.memory.normal import jaccard

SYLLABLES = "an be co da el fa go hi is jo ka li mo na op pa qu ri so ta um va we xi yo za"
SIGNS = "李王张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜"


def many(count: int, seed: int = 2) -> dict[str, str]:
    chance = random.Random(seed)
    found: dict[str, str] = {}
    for number in range(count):
        words = ["".join(chance.choices(SYLLABLES.split(), k=chance.randint(2, 4))) for _ in range(2)]
        found[f"e{number}"] = " ".join(words) if chance.random() < 0.7 else "".join(chance.choices(SIGNS, k=3))
    return found


def everything(names: dict[str, str]) -> set[tuple[str, str]]:
    """What holding each against each finds."""
    sets = {key: alike.grams(name) for key, name in names.items()}
    pairs = combinations(sorted(names), 2)
    return {(one, two) for one, two in pairs if jaccard(sets[one], sets[two]) > alike.SAME}


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Anna Petrova", "Anna  Petrowa", False),
        ("Johannes Gutenberg", "Johanes Gutenberg", True),
        ("New York City", "new-york city", True),
        ("中华人民共和国", "中华人民共和", True),
        ("Anna", "Bob", False),
    ],
)
def test_two_names(a: str, b: str, same: bool) -> None:
    assert bool(list(alike.likely({"a": a, "b": b}))) == same


@given(st.lists(st.text(alphabet="abcx 李王", max_size=8), max_size=12))
def test_none_is_missed_and_none_is_invented(texts: list[str]) -> None:
    names = {f"n{at:02}": text for at, text in enumerate(texts)}
    found = [(pair.first, pair.second) for pair in alike.likely(names)]
    assert len(found) == len(set(found))
    assert set(found) == everything(names)


def test_of_real_sizes_too() -> None:
    names = many(600)
    for number, name in enumerate(list(names.values())[:60]):
        names[f"x{number}"] = name[:-1] if len(name) > 8 else name
    found = {(pair.first, pair.second) for pair in alike.likely(names)}
    assert found == everything(names)
    assert len(found) > 20


def test_ten_thousand_names_are_held_against_few_others() -> None:
    names = many(10_000)
    compared = sum(1 for _ in alike.compared(names))
    assert compared < 2_000_000, "each against each would be 5·10⁷"
    assert compared > 10_000
