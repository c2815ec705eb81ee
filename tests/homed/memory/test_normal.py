"""The one form of a text."""

from __future__ import annotations

import pytest

from homed.memory import normal as form
from homed.memory.normal import bag, key, normal, pairs


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hello, World!", "hello world"),
        ("It’s  C++ and C#", "it's c++ and c#"),
        ("我叫，李国宇！", "我叫李国宇"),
        ("ＡＢＣ １２３", "abc 123"),
        ("1,000 or 3.5 or -5 or 10:30", "1000 or 3.5 or -5 or 10:30"),
        ("v2.0.1", "v2.0.1"),
        ("a — b", "a b"),
        ("I ♥ 🐱", "i ♥ 🐱"),
        ("Ёлка", "ёлка"),
        ("한국어 좋아", "한국어 좋아"),
        ("...", ""),
    ],
)
def test_case_signs_and_width_do_not_count(text: str, plain: str) -> None:
    assert normal(text) == plain


def test_what_is_written_differently_has_one_key_and_another_thing_another() -> None:
    assert key("Hello, World!") == key("hello world")
    assert key("I like 🐱") != key("I like 🐶")
    assert len(key("")) == 32


def test_words_of_a_script_without_blanks_are_its_pairs() -> None:
    assert bag("喜欢 tea") == {"喜欢", "tea"}
    assert bag("我喜欢茶") == {"我喜", "喜欢", "欢茶"}
    assert bag("茶") == {"茶"}
    assert bag("  ") == frozenset()
    assert pairs("abc") == ["ab", "bc"]
    assert form.is_run("茶") != form.is_run("tea")
    assert form.jaccard(frozenset(), frozenset()) == 0
