"""How much a text says: the same in English, in Chinese, and in both at once."""

from __future__ import annotations

import pytest

from homed.memory.amount import characters, words

ENGLISH = "Our cat Mimi has been to the vet today; she needs two tablets a day with her food until next Friday."
CHINESE = "我们家的猫咪咪今天去看了兽医，下周五之前每天两片药，要和猫粮一起吃，别忘了。"
MIXED = "我们的 homed 今天升级到 Python 3.11 了，下周五之前要把 CI 的测试都跑一遍。"


def test_a_short_chinese_message_says_as_much_as_a_long_english_one() -> None:
    assert (len(ENGLISH), len(CHINESE)) == (100, 38)
    assert characters(ENGLISH) == 100, "a letter is a letter"
    assert 85 <= characters(CHINESE) <= 105
    assert words(ENGLISH) == 21
    assert 17 <= words(CHINESE) <= 21


def test_in_a_text_of_both_each_character_counts_as_its_script_does() -> None:
    han = sum("\u4e00" <= one <= "\u9fff" for one in MIXED)
    assert characters(MIXED) == len(MIXED) + round(han * 1.7)
    assert characters("vim 好") == 4 + 3
    assert words("打开 vim") == 2
    assert words("vim 好") == 1.5


@pytest.mark.parametrize(
    ("text", "said", "counted"),
    [
        ("", 0, 0), ("  \n", 0, 0), (" ok ", 2, 1), ("don’t", 5, 1), ("你好", 5, 1), ("ねこ", 4, 1), ("고양이", 6, 1),
        ("ต่อไป", 5, 1), ("हाँ", 3, 1), ("👍🏽", 2, 0), ("\U00020000", 3, 0.5), ("thanks, 谢谢", 8 + 5, 2),
    ],
)  # fmt: skip
def test_what_counts(text: str, said: int, counted: float) -> None:
    assert (characters(text), words(text)) == (said, counted)
