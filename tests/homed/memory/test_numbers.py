"""Numbers in words."""

from __future__ import annotations

import pytest

from homed.memory import numbers


@pytest.mark.parametrize(
    ("run", "number"),
    [
        ("三十五", 35),
        ("十", 10),
        ("十八", 18),
        ("两千零八", 2008),
        ("二〇二四", 2024),
        ("一百零五", 105),
        ("三万二千", 32000),
        ("一亿", 100_000_000),
        ("", None),
        ("三只", None),
    ],
)
def test_chinese_numbers(run: str, number: int | None) -> None:
    assert numbers.chinese(run) == number


def test_words_that_only_hold_such_a_character_are_no_numbers() -> None:
    assert numbers.in_chinese("我们一起去四川，十分开心，养了三只猫和十二条鱼") == [3, 12]
    assert numbers.in_chinese("一个人") == []


def test_words_of_two_parts_are_one_number() -> None:
    assert numbers.of_words(["i", "am", "forty", "two"]) == [None, None, 42, None]
    assert numbers.of_words(["мне", "тридцать", "один", "год"]) == [None, 31, None, None]
    assert numbers.of_words(["четырёх", "котов"]) == [4, None]
    assert numbers.of_words(["one", "of", "them"]) == [None, None, None]
