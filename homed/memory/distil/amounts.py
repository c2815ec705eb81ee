"""The numbers of a text as values, whatever they are written in, and what else may be written for them.  Pure.

A statement's number must be one that was said.  12 dozen is 144, 1.5k is 1500, 一千五 is 1500, half past three is 3 and
30, 5'10" is 178 (cm), two weeks are 14 (days): whoever writes these down has made nothing up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from homed.memory import numbers
from homed.memory.normal import folded

MOST = 100_000
"""Words and groups of digits of a text that are looked at."""

LONGEST = 24
"""Digits of a value at the most."""

GROUPS = 6
"""Groups of digits that are written as one, in telephone numbers."""

_UNITS = "one two three four five six seven eight nine"
_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
sixteenth seventeenth eighteenth nineteenth
"""
_WORDS: dict[str, Fraction] = {
    **{word: Fraction(value) for word, value in numbers.WORDS.items()},
    **{word: Fraction(at) for at, word in enumerate(_ORDINALS.split(), 1)},
    **{f"{word[:-1]}ieth": Fraction(value) for word, value in numbers.WORDS.items() if word.endswith("ty")},
    **{word: Fraction(1) for word in ["a", "an", "one", "once", "single", "один", "одна", "одно", "одну", "раз"]},
    "twice": Fraction(2), "thrice": Fraction(3), "couple": Fraction(2), "pair": Fraction(2), "both": Fraction(2),
    "half": Fraction(1, 2), "quarter": Fraction(1, 4), "полтора": Fraction(3, 2), "полторы": Fraction(3, 2),
    "noon": Fraction(12), "midday": Fraction(12), "полдень": Fraction(12), "twins": Fraction(2), "trio": Fraction(3),
    "двести": Fraction(200), "триста": Fraction(300), "четыреста": Fraction(400),
    **{f"{word}сот": Fraction(numbers.WORDS[word] * 100) for word in ("пять", "шесть", "семь", "восемь", "девять")},
}  # fmt: skip
_SCALES: dict[str, int] = {
    "hundred": 100, "hundreds": 100, "thousand": 1000, "thousands": 1000, "grand": 1000, "k": 1000, "tsd": 1000,
    "million": 10**6, "millions": 10**6, "mn": 10**6, "mio": 10**6, "billion": 10**9, "billions": 10**9, "bn": 10**9,
    "dozen": 12, "dozens": 12, "score": 20, "тысяча": 1000, "тысячи": 1000, "тысяч": 1000, "тысячу": 1000, "тыс": 1000,
    "миллион": 10**6, "миллиона": 10**6, "миллионов": 10**6, "млн": 10**6, "млрд": 10**9,
}  # fmt: skip
_UNASKED = frozenset(
    [
        "a",
        "an",
        "one",
        "once",
        "single",
        "both",
        "half",
        "quarter",
        "first",
        "second",
        "один",
        "одна",
        "одно",
        "одну",
        "раз",
        "pair",
        "couple",
    ]
)
"""Words that say a number only by the way: nobody has to have said them."""

_LENGTHS: tuple[tuple[re.Pattern[str], tuple[Fraction, ...]], ...] = tuple(
    (re.compile(pattern), tuple(map(Fraction, factors)))
    for pattern, factors in (
        (r"(?:week|wk|недел)|[个]?(?:周|星期|礼拜)", ("7",)),
        (r"fortnight", ("14", "2")),
        (r"(?:hour|hr|час)|[个]?(?:小时|钟头)", ("60", "1/24")),
        (r"(?:year|yr|год|лет)|年", ("12",)),
        (r"(?:month|месяц)|个月", ("1/12",)),
        (r"(?:day|день|дня|дней)|天", ("24", "1/7")),
        (r"(?:minute|min\b|минут)|分钟", ("1/60",)),
        (r"(?:decade)", ("10",)),
    )
)
_DIGITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 10**8}
_SHORT = re.compile(
    "([一二三四五六七八九两])([百千万])([一二三四五六七八九])(?![零〇一二三四五六七八九十百千万亿两点])"
)
_BEHIND = re.compile(r"(?<![\d.,])(\d{1,24}(?:[.,]\d{1,24}){0,6})\s?([百千万亿])(?![一二三四五六七八九十百千])")
_ABOUT = re.compile(
    "(?<![零〇一二三四五六七八九十百千万亿两])([一二三四五六七八两])([二三四五六七八九])(?=[个只条天年岁周次百千万月点])"
)
_HALF_OF = re.compile(r"((?<!\d)\d{1,9}|一)(年|个?月|天|周|小时|个)半")
_AND_A_HALF = re.compile(r"\b(\w{1,20})\s+((?:hour|year|week|month|day|mile|metre|meter|kilo)\w*)\s+and\s+a\s+half\b")
_HALF_PAST = re.compile(r"((?<!\d)\d{1,2}|一)点半")
_HALF = re.compile(r"半(?=[年天个]|小时|公斤)")
_WEEKDAY = re.compile("(?:周|星期|礼拜)[一二三四五六日天]")
_HEIGHT = re.compile(r"(?<!\d)([3-8])\s*(?:'|′|ft\b|feet\b|foot\b)\s*(\d{1,2})?")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LATE = re.compile(r"\bp\.?m\b|\bevening\b|\bafternoon\b|\bnight\b|\bночи\b|\bвечера\b|\bдня\b|下午|晚|夜|中午|傍晚")
_CLOCK = re.compile(r"\d:\d\d|[ap]\.?m\b|o'clock|点|\bчас")


@dataclass(frozen=True, slots=True)
class Amount:
    """One number as it is written.  ``readings``: what it may mean; ``digits``: as they stand, without signs between
    them, '' of words; ``parts``: what it is put together of; ``asked``: whether it must have been said; ``last``:
    where it ends."""

    readings: frozenset[Fraction]
    digits: str
    parts: frozenset[Fraction]
    asked: bool
    last: int


def plain(text: str) -> str:
    """The text with its Chinese numbers in digits; 一千五 is 1500, 两三个 both, 两年半 2.5; days of the week are no
    numbers."""
    text = _WEEKDAY.sub(" ", folded(text))
    text = _SHORT.sub(lambda m: f" {_short(*m.groups())} ", text)
    text = _ABOUT.sub(r"\1 \2", text)
    out, at = [], 0
    for skipped in [*numbers.NO_NUMBER.finditer(text), None]:
        stop = skipped.start() if skipped else len(text)
        out.append(numbers.NUMERALS.sub(_arabic, text[at:stop]))
        out.append(skipped.group() if skipped else "")
        at = skipped.end() if skipped else stop
    text = _BEHIND.sub(lambda m: f"{_scaled(m[1], _DIGITS[m[2]])} ", "".join(out))
    text = _AND_A_HALF.sub(_and_a_half, text)
    text = _HALF_PAST.sub(lambda m: f"{_one(m[1])}点30分", text)
    text = _HALF_OF.sub(lambda m: f"{_one(m[1])}.5{m[2]}", text)
    return _HALF.sub("0.5", text)


def _arabic(found: re.Match[str]) -> str:
    if found.group() in ("一", "万", "千", "百", "亿"):
        return found.group()
    value = numbers.chinese(found.group())
    return found.group() if value is None else str(value)


def _and_a_half(found: re.Match[str]) -> str:
    word = found[1]
    value = max(_written(word), default=None) if word[0].isdigit() else _WORDS.get(word)
    return found.group() if value is None else f"{float(value) + 0.5:g} {found[2]}"


def _one(written: str) -> str:
    return "1" if written == "一" else written


def _short(digit: str, step: str, rest: str) -> int:
    value = numbers.chinese(digit) or 0
    return value * _DIGITS[step] + (numbers.chinese(rest) or 0) * _DIGITS[step] // 10


def _scaled(written: str, step: int) -> str:
    value = max(_written(written), default=Fraction(0)) * step
    return str(value.numerator) if value.denominator == 1 else written


def amounts(text: str) -> list[Amount]:
    """The numbers of a text, in order."""
    return list(_amounts(plain(text)))


def _amounts(text: str) -> Iterator[Amount]:
    tokens = list(_TOKEN.finditer(text))[:MOST]
    at = 0
    while at < len(tokens):
        value = _value(tokens, at)
        if value is None:
            at += 1
            continue
        first, at = at, at + 1
        parts, total, current = set(value), Fraction(0), value
        last = max(value, default=Fraction(0))
        while at < len(tokens) and not text[tokens[at - 1].end() : tokens[at].start()].strip(" -\u2011"):
            word = tokens[at].group().replace("ё", "е")
            joined = word in ("and", "a") and at + 1 < len(tokens)
            if joined and text[tokens[at].start() : tokens[at].start() + 10].startswith("and a half"):
                current, at = frozenset(one + Fraction(1, 2) for one in current), at + 3
                continue
            if word in _SCALES:
                step = _SCALES[word]
                parts.add(Fraction(step))
                current = frozenset((one + (total if step == 1000 and total < 1 else 0)) * step for one in current)
                if step >= 1000:
                    total, current = total + max(current, default=Fraction(0)), frozenset({Fraction(0)})
                last = Fraction(step)
            elif (word == "a" and at + 1 < len(tokens) and tokens[at + 1].group() in _SCALES) or (
                word == "and" and last >= 100 and at + 1 < len(tokens) and _fits(tokens[at + 1].group(), last)
            ):
                pass  # "half a million", "a hundred and five"
            elif _fits(word, last):
                more = _WORDS.get(word, Fraction(0))
                parts.add(more)
                current, last = frozenset(one + more for one in current), more
            else:
                break
            at += 1
        words = [token.group() for token in tokens[first:at]]
        asked = len(words) > 1 or words[0] not in _UNASKED
        digits = re.sub(r"\D", "", words[0]) if len(words) == 1 else ""
        yield Amount(frozenset(total + one for one in current), digits, frozenset(parts), asked, tokens[at - 1].end())


def _value(tokens: list[re.Match[str]], at: int) -> frozenset[Fraction] | None:
    """What a word or a group of digits begins a number with; None where it begins none."""
    word = tokens[at].group().replace("ё", "е")
    if word[0].isdigit():
        return _written(word)
    if word in ("dozen", "hundred", "thousand", "million", "fortnight", "тысяча", "миллион"):
        return frozenset({Fraction(_SCALES.get(word, 14))})
    if word in ("a", "an"):  # an article, unless what it counts is a number
        after = tokens[at + 1].group() if at + 1 < len(tokens) else ""
        return frozenset({Fraction(1)}) if after in _SCALES else None
    return frozenset({_WORDS[word]}) if word in _WORDS else None


def _fits(word: str, last: Fraction) -> bool:
    """Whether a word goes on with a number whose last part is that: 5 after 40, 40 after 100."""
    value = _WORDS.get(word)
    if (
        value is None
        or value.denominator != 1
        or word in ("a", "an", "once", "twice", "both", "pair", "couple", "noon")
    ):
        return False
    return value < last and (last >= 100 or (last >= 20 and last % 10 == 0 and 0 < value < 10))


def _written(word: str) -> frozenset[Fraction]:
    """``1,500`` is 1500 and 1.5; ``1.234,5`` is 1234.5; of more signs none but the digits."""
    groups = re.split(r"[.,]", word)
    if sum(map(len, groups)) > LONGEST:
        return frozenset()
    found = set()
    if len(groups) == 1 or (len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
        found.add(Fraction(int("".join(groups))))
    if len(groups) == 2:
        found.add(Fraction(f"{groups[0]}.{groups[1]}"))
    if len(groups) > 2 and len(set(re.sub(r"\d", "", word))) == 2 and all(len(g) == 3 for g in groups[1:-1]):
        found.add(Fraction("".join(groups[:-1]) + "." + groups[-1]))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Counted:
    """Every number that may be written for one that was said: as a value, and as digits in a row."""

    values: frozenset[Fraction]
    digits: frozenset[str]

    def missing(self, text: str) -> list[Amount]:
        """The numbers of a text that nobody said."""
        return [one for one in amounts(text) if one.asked and not self._said(one)]

    def _said(self, one: Amount) -> bool:
        return bool(one.readings & self.values) or (one.digits != "" and one.digits in self.digits)


def counted(texts: Iterable[str], more: Iterable[int] = ()) -> Counted:
    """What may be written for the numbers of these texts, and for ``more`` besides."""
    values: set[Fraction] = {Fraction(1), *map(Fraction, more)}
    digits: set[str] = set()
    for text in texts:
        _add(plain(text), values, digits)
    return Counted(frozenset(values), frozenset(digits))


def _add(text: str, values: set[Fraction], digits: set[str]) -> None:
    found = list(_amounts(text))
    said: set[Fraction] = set()
    for one in found:
        said |= one.readings
        said |= one.parts if not one.digits else set()
        behind = text[one.last : one.last + 12].lstrip(" -")
        said |= {r * by for unit, factors in _LENGTHS if unit.match(behind) for by in factors for r in one.readings}
    for match in _HEIGHT.finditer(text):
        inches = int(match[1]) * 12 + int(match[2] or 0)
        said |= {Fraction(inches), *(Fraction(round(inches * 2.54, at)) for at in (0, 1))}
        said.add(Fraction(round(inches * 2.54), 100))
    for one, two in pairwise(found):  # "nineteen eighty-four"
        a, b = max(one.readings, default=Fraction(0)), max(two.readings, default=Fraction(0))
        if 10 <= a < 100 and 10 <= b < 100 and a.denominator == b.denominator == 1:
            said.add(a * 100 + b)
    if _CLOCK.search(text) or _LATE.search(text):
        hours = {one for one in said if one.denominator == 1}
        said |= {one + 12 for one in hours if 0 < one < 12 and _LATE.search(text)}
        said |= {one - 12 for one in hours if 12 < one <= 24}
        said |= {Fraction(0)}
        said |= {Fraction(15), Fraction(45)} if re.search(r"quarter|刻", text) else set()
    if "half past" in text or "quarter" in text:
        said |= {Fraction(30), Fraction(15), Fraction(45), *(one - 1 for one in said if 1 < one <= 12)}
    values |= said
    groups = [(match.group(), match.start(), match.end()) for match in re.finditer(r"\d+", text)][:MOST]
    for first, (written, _, end) in enumerate(groups):
        digits.add(written)
        for more, start, stop in groups[first + 1 : first + GROUPS]:
            if start - end > 2 or _TOKEN.search(text[end:start]):
                break
            written, end = written + more, stop
            digits.add(written)
