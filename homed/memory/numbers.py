"""Numbers as people write them in English, Chinese and Russian.  Pure."""

from __future__ import annotations

import re

_EN = """
zero . two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_EN_TENS = ". . twenty thirty forty fifty sixty seventy eighty ninety"
_RU = """
ноль/нуль . два/две/двух/двум три/трех/трем четыре/четырех пять/пяти шесть/шести семь/семи восемь/восьми девять/девяти
десять/десяти одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать
"""
_RU_TENS = ". . двадцать/двадцати тридцать/тридцати сорок/сорока пятьдесят шестьдесят семьдесят восемьдесят девяносто"


def _table(*series: tuple[str, int]) -> dict[str, int]:
    return {
        form: at * step
        for words, step in series
        for at, word in enumerate(words.split())
        if word != "."
        for form in word.split("/")
    }


WORDS = _table((_EN, 1), (_EN_TENS, 10), (_RU, 1), (_RU_TENS, 10)) | {"hundred": 100, "сто": 100}
"""Word → number.  "One" is left out: it says more often "somebody" than 1."""

_TENS = frozenset(_table((_EN_TENS, 10), (_RU_TENS, 10)))
_UNITS = frozenset(word for word, number in WORDS.items() if 0 < number < 10) | {"one", "один"}
_ONE = {"one": 1, "один": 1}
_DIGITS = {one: at for at, one in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_STEPS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
NUMERALS = re.compile("[零〇一二三四五六七八九十百千万亿两]+")
NO_NUMBER = re.compile(
    "一[起直定样般些下点切边旦]|万一|统一|唯一|十分|千万|百度|百货|万达|三明治|三文鱼|二手|四川|五金|七夕|八卦|百分之|两边"
)
"""Words that hold such a character and are no number."""


LONGEST = 40
"""Characters of a number in Chinese: more are a pattern or a mistake, and no value."""


def of_words(words: list[str]) -> list[int | None]:
    """The number that begins at each word ("forty two" at its first), None where none does; "ё" is "е"."""
    found: list[int | None] = []
    at = 0
    while at < len(words):
        word = words[at].replace("ё", "е")
        after = words[at + 1].replace("ё", "е") if at + 1 < len(words) else ""
        if word in _TENS and after in _UNITS:
            found += [WORDS[word] + {**WORDS, **_ONE}[after], None]
            at += 2
        else:
            found.append(WORDS.get(word))
            at += 1
    return found


def chinese(run: str) -> int | None:
    """三十五 → 35, 两千零八 → 2008, 二〇二四 → 2024; None for what is no number."""
    if not 0 < len(run) <= LONGEST or any(one not in _DIGITS and one not in _STEPS for one in run):
        return None
    if all(one in _DIGITS for one in run):
        return int("".join(str(_DIGITS[one]) for one in run))
    total = section = digit = 0
    for one in run:
        if one in _DIGITS:
            digit = _DIGITS[one]
        elif (step := _STEPS[one]) >= 10_000:
            total, section, digit = (total + section + digit) * step, 0, 0
        else:
            section, digit = section + (digit or 1) * step, 0
    return total + section + digit


def in_chinese(text: str) -> list[int]:
    """The numbers of a Chinese text, without words that only hold such a character (一起, 十分, 四川) and a lone 一."""
    found = (NUMERALS.findall(piece) for piece in NO_NUMBER.split(text))
    return [number for runs in found for run in runs if run != "一" and (number := chinese(run)) is not None]
