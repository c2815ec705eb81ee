"""Dates in a text, and which dates may be written for what was said on a day: tomorrow, 下个月二十号.  Pure.

Who says "the day after tomorrow" on 13 May has said 15 May.  A date is held against what was said as a whole, so that a
day of one and a month of another make none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from homed.memory.distil.amounts import amounts, plain
from homed.memory.lawwords import DAYS, RUSSIAN_TIME
from homed.memory.normal import folded

_MONTHS = "january february march april may june july august september october november december"
MONTHS = {month: at for at, month in enumerate(_MONTHS.split(), 1)}
_SHORT = {month[:3]: at for month, at in MONTHS.items()} | {"sept": 9}
_RU_MONTHS = "январ феврал март апрел ма[йяею] июн июл август сентябр октябр ноябр декабр"
_RU = [re.compile(rf"{stem}[а-я]{{0,3}}") for stem in _RU_MONTHS.split()]
_MONTH = (
    rf"(?P<month>{'|'.join([*MONTHS, *_SHORT])}|{'|'.join(f'{stem}[а-я]{{0,3}}' for stem in _RU_MONTHS.split())})\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|-?го|-?е)?"
_YEAR = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"\b{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})\b",
        rf"{_YEAR}\s?年\s?(?P<month>\d{{1,2}})\s?月\s?(?P<day>\d{{1,2}})\s?[日号]?",
        r"(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号]?",
        rf"{_YEAR}\s?年\s?(?P<month>\d{{1,2}})\s?月",
        rf"\b(?P<day>\d{{1,2}})[./](?P<month>\d{{1,2}})[./]{_YEAR}\b",
        rf"\b{_DAY}\s*(?:of\s+)?{_MONTH},?\s+{_YEAR}\b",
        rf"\b{_MONTH}\s+{_DAY},?\s+{_YEAR}\b",
        rf"\b{_DAY}\s*(?:of\s+)?{_MONTH}\b(?!\s+\d)",
        rf"\b{_MONTH}\s+{_DAY}\b(?!:)",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b",
    )
)
_WORD_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_ORDINAL = re.compile(
    r"\b(?:(?:twenty|thirty)[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    r"\w+teenth|twentieth|thirtieth)\b(?=\s+of\b)|(?<=the )(?:\w+teenth|twent\w+[- ]\w+|twentieth|thirtieth)\b"
)
_ZH_DAY = re.compile("(?:周|星期|礼拜)([一二三四五六日天])")
_ZH_MONTH = re.compile(r"(?<!\d)(\d{1,2})\s?月(?!饼)")
_OFFSETS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), days)
    for pattern, days in (
        (r"\byesterday\b|last night|昨[天晚夜日]|\bвчера\b", -1),
        (r"(?<!after )\btomorrow\b|明[天晚早日]|\bзавтра\b", 1),
        (r"day after tomorrow|(?<!大)后天|послезавтра", 2),
        (r"大后天", 3),
        (r"day before yesterday|(?<!大)前天|позавчера", -2),
        (r"大前天", -3),
    )
)
_UNIT = (
    r"(?P<unit>days?|weeks?|months?|years?|天|日|周|个?星期|个?月|年|дн[яей]{1,2}|день|недел[юиь]|месяц\w*|год[а]?|лет)"
)
_AHEAD = re.compile(
    rf"\b(?:in|within|через)\s+(?P<n>[\w-]{{1,20}})\s+{_UNIT}"
    rf"|(?<!\d)(?P<m>\d{{1,4}})\s?个?{_UNIT.replace('unit', 'unit2')}(?:之|以)?后"
)
_AGO = re.compile(
    rf"\b(?P<n>[\w-]{{1,20}})\s+{_UNIT}\s+(?:ago|earlier|back|назад)"
    rf"|(?<!\d)(?P<m>\d{{1,4}})\s?个?{_UNIT.replace('unit', 'unit2')}(?:之|以)?前"
)
_NEXT_WEEK = re.compile(r"\b(?:next|last|this|coming|past)\s+week|\bweekend|[上下这本]个?(?:周|星期|礼拜)|周末|недел")
_MONTHLY = re.compile(
    r"\b(?:next|last|this|coming|past)\s+month|[上下这本]个?月|месяц|\bthe \d{1,2}(?:st|nd|rd|th)\b|\d\s?[号日]"
)
_YEARLY = re.compile(
    r"\b(?:next|last|this|coming|past)\s+(?:year|spring|summer|autumn|fall|winter|season)|[今明去前后]年|\bгод"
)


@dataclass(frozen=True, slots=True)
class Written:
    """A date as it is written.  ``first`` and ``last``: its place in the folded text with Chinese numbers in digits."""

    year: int | None
    month: int
    day: int | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Dated:
    """What dates, months, days of the week and years may be written for what was said."""

    dates: frozenset[tuple[int | None, int, int | None]] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    near: frozenset[int] = frozenset()
    """Years that a date said without one may be of."""

    def has(self, one: Written) -> bool:
        """Whether such a date was said."""
        if (one.year, one.month, one.day) in self.dates:
            return True
        if one.year is None:
            return any((month, day) == (one.month, one.day) for _, month, day in self.dates)
        return (None, one.month, one.day) in self.dates and one.year in self.near | self.years

    def missing(self, text: str) -> tuple[str, bool]:
        """The text without the dates that were said; and whether it names a month or a day of the week that was not."""
        left, at, other = [], 0, False
        text = plain_days(text)
        for one in written(text):
            if one.first >= at and self.has(one):
                left.append(text[at : one.first])
                at = one.last
            else:
                other = other or self._another(one)
        rest = "".join([*left, text[at:]])
        if other or months(rest, strict=True) - self.months or weekdays(rest) - self.weekdays:
            return rest, True
        return _ZH_MONTH.sub("月", rest), False

    def _another(self, one: Written) -> bool:
        """Whether another day of its month was said."""
        return one.day is not None and any(month == one.month and day is not None for _, month, day in self.dates)


def plain_days(text: str) -> str:
    """As ``plain``, but that days of the week stay, and the fifteenth of a month is 15."""
    kept = _ZH_DAY.sub(lambda m: f" {list(DAYS)[_zh_day(m[1]) * 2]} ", text)
    return plain(_ORDINAL.sub(_in_digits, folded(kept)))


def _in_digits(found: re.Match[str]) -> str:
    value = next((max(one.readings) for one in amounts(found.group()) if one.readings), None)
    return found.group() if value is None else f"{value}th"


def _zh_day(character: str) -> int:
    return "一二三四五六日".find("日" if character == "天" else character)


def written(text: str) -> list[Written]:
    """The dates of a text (as of ``plain_days``), in order, none twice."""
    found: list[Written] = []
    for form in _FORMS:
        for match in form.finditer(text):
            groups = match.groupdict()
            month = _month(groups["month"])
            day, year = groups.get("day"), groups.get("year")
            if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
                continue
            if any(one.first < match.end() and match.start() < one.last for one in found):
                continue
            found.append(Written(int(year) if year else None, month, int(day) if day else None, *match.span()))
    return sorted(found, key=lambda one: one.first)


def _month(word: str) -> int:
    if word.isdigit():
        return int(word)
    russian = next((at for at, stem in enumerate(_RU, 1) if stem.fullmatch(word)), 0)
    return MONTHS.get(word) or _SHORT.get(word) or russian


def months(text: str, *, strict: bool = False) -> set[int]:
    """The months that a text names; ``strict``: not "may" and "march", which say something else as well."""
    folded_ = folded(text)
    found = {int(one) for one in _ZH_MONTH.findall(plain(text)) if 1 <= int(one) <= 12}
    for word in re.findall(r"[^\W\d_]+", folded_):
        if word in MONTHS and not (strict and word in ("may", "march")):
            found.add(MONTHS[word])
        elif not strict and word in _SHORT:
            found.add(_SHORT[word])
        elif not strict or len(word) > 4:
            found |= {at for at, stem in enumerate(_RU, 1) if stem.fullmatch(word)}
    return found


def weekdays(text: str) -> set[int]:
    """The days of the week that a text names, Monday is 0."""
    found = {_zh_day(one) for one in _ZH_DAY.findall(text)}
    for word in re.findall(r"[^\W\d_]+", folded(text)):
        if word in DAYS:
            found.add(DAYS[word])
        elif russian := RUSSIAN_TIME.fullmatch(word):
            at = int(str(russian.lastgroup)[1:])
            found |= {at} if at < 7 else set()
    return found


def dated(texts: Iterable[tuple[str, date | None]]) -> Dated:
    """What may be written for what was said; with each text the day on which it was, None where that is not known."""
    made = [_dated(text, day) for text, day in texts]
    return Dated(*(frozenset().union(*(getattr(one, name) for one in made)) for name in Dated.__slots__))


def _dated(text: str, day: date | None) -> Dated:
    found, days = plain_days(text), weekdays(text)
    said = {(one.year, one.month, one.day) for one in written(found)}
    named = months(text)
    if day is None:
        return Dated(frozenset(said), frozenset(named), frozenset(days))
    told = {*_resolved(found, day, days)}
    moments = {day, *told, *_week(found, day)}
    pairs = {(one.year, one.month) for one in moments}
    if _MONTHLY.search(found):
        pairs |= {_shifted(day, by) for by in (-1, 0, 1)}
        numbers = [int(n) for n in re.findall(r"(?<!\d)(\d{1,2})(?!\d)", found)]
        said |= {(y, m, n) for y, m in pairs for n in numbers if 1 <= n <= 31}
    years = {one.year for one in moments}
    years |= {day.year + by for by in (-2, -1, 0, 1, 2)} if _YEARLY.search(found) else set()
    said |= {(one.year, one.month, one.day) for one in moments} | {(y, m, None) for y, m in pairs}
    said |= {(day.year + by, m, None) for m in named for by in (-1, 0, 1)}
    return Dated(
        frozenset(said), frozenset(named | {m for _, m in pairs}), frozenset(days | {one.weekday() for one in told}),
        frozenset(years), frozenset(day.year + by for by in (-1, 0, 1)),
    )  # fmt: skip


def _resolved(text: str, day: date, days: set[int]) -> Iterator[date]:
    for pattern, by in _OFFSETS:
        if pattern.search(text):
            yield day + timedelta(by)
    for pattern, sign in ((_AHEAD, 1), (_AGO, -1)):
        for match in pattern.finditer(text):
            count = _count(match["n"] or match["m"])
            unit = match["unit"] or match["unit2"] or ""
            if count is not None and count <= 1200:
                yield from _moved(day, sign * count, unit)
    for one in days:
        ahead = (one - day.weekday()) % 7
        yield from (day + timedelta(ahead + by) for by in (-14, -7, 0, 7, 14) if ahead + by > -14)


def _week(text: str, day: date) -> Iterator[date]:
    monday = day - timedelta(day.weekday())
    if _NEXT_WEEK.search(text):
        yield from (monday + timedelta(by) for by in range(-7, 14))


def _count(word: str) -> int | None:
    if word in ("a", "an", "неделю", "месяц", "год"):
        return 1
    value = next((max(one.readings) for one in amounts(word) if one.readings), None)
    return int(value) if value is not None and value.denominator == 1 else None


def _moved(day: date, count: int, unit: str) -> Iterator[date]:
    if re.match(r"day|天|日|дн|день", unit):
        yield day + timedelta(count)
    elif re.match(r"week|周|个?星期|недел", unit):
        yield day + timedelta(7 * count)
    else:
        year, month = _shifted(day, count * (12 if re.match(r"year|年|год|лет", unit) else 1))
        if 1 <= year <= 9999:
            yield date(year, month, min(day.day, 28))
            if day.day > 28 and month != 2:
                yield date(year, month, min(day.day, 30))


def _shifted(day: date, by: int) -> tuple[int, int]:
    at = day.year * 12 + day.month - 1 + by
    return at // 12, at % 12 + 1
