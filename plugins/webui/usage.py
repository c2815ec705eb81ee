"""What models cost, made ready for the page: sums, columns of a chart, bars beside a table.  Pure.

Money comes as decimal numbers in text and stays exact; a price that nobody knows never becomes a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any

WIDE, HIGH = 720, 180
"""Units of the chart's own space; the page stretches it."""

GAP = 0.28
"""Of a day's room, what stays empty."""

COLOURS = 5
"""Sources that have a colour of their own in the chart; the smaller ones share one more."""

OTHERS = ""
"""What stands for the sources without a colour of their own."""

RANGES = (7, 30, 90, 365)
GROUPS = ("source", "model", "kind")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sums:
    """Amounts added up.  ``cost`` by currency; ``unknown`` tokens have no known price, ``estimated`` are our count."""

    calls: int
    prompt: int
    cached: int
    completion: int
    estimated: int
    unknown: int
    cost: Mapping[str, Decimal]

    @property
    def tokens(self) -> int:
        """All of them, cached ones once."""
        return self.prompt + self.completion

    @property
    def free(self) -> bool:
        """Nobody is paid for any of it."""
        return not self.unknown and not self.cost

    @property
    def cached_percent(self) -> int:
        """Of what was read, the part that came from a cache."""
        return round(100 * self.cached / self.prompt) if self.prompt else 0


def sums(rows: Iterable[Row]) -> Sums:
    """Add up amounts of ``admin.usage``."""
    found = list(rows)
    total = {
        key: sum(int(row[key]) for row in found) for key in ("calls", "prompt", "cached", "completion", "estimated")
    }
    cost: dict[str, Decimal] = {}
    for row in found:
        if row["price"] == "known":
            cost[row["currency"]] = cost.get(row["currency"], Decimal(0)) + Decimal(row["cost"])
    unknown = sum(int(row["prompt"]) + int(row["completion"]) for row in found if row["price"] == "unknown")
    return Sums(**total, unknown=unknown, cost=dict(sorted(cost.items())))


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a table with its bar: ``share`` of the longest, 0 to 100."""

    name: str
    sums: Sums
    share: float


def bars(rows: Sequence[Row], by: str) -> list[Bar]:
    """The largest first, by what ``by`` names."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row[by]), []).append(row)
    return ranked((name, sums(group)) for name, group in groups.items())


def ranked(named: Iterable[tuple[str, Sums]]) -> list[Bar]:
    """These with their bars, the largest first."""
    found = sorted(named, key=lambda one: (-one[1].tokens, one[0]))
    most = max((one.tokens for _, one in found), default=0)
    return [Bar(name, one, round(100 * one.tokens / most, 2) if most else 0.0) for name, one in found]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a day's column, in the chart's units; ``colour`` counts from 0."""

    name: str
    colour: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the chart, with what it sums to."""

    day: str
    sums: Sums
    value: Decimal
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns by day, stacked by source.  ``top`` is what its whole height stands for."""

    days: tuple[Day, ...]
    names: tuple[str, ...]
    top: Decimal
    currency: str


def chart(found: Row, *, money: bool) -> Chart:
    """``admin.usage`` as columns: of tokens, or of money in the currency of the limits."""
    rows: Sequence[Row] = found["days"]
    currency = str(found["limits"]["currency"]) if money else ""
    biggest = [bar.name for bar in bars(rows, "source") if _has(rows, bar.name, currency)]
    names = (*biggest[:COLOURS], *((OTHERS,) if len(biggest) > COLOURS else ()))
    every = days(str(found["first"]), str(found["day"]))
    by_day: dict[str, list[Row]] = {day: [] for day in every}
    for row in rows:
        by_day.setdefault(str(row["day"]), []).append(row)
    top = nice(
        max((sum((_value(row, currency) for row in by_day[day]), Decimal(0)) for day in every), default=Decimal(0))
    )
    room = WIDE / max(1, len(every))
    made = [_day(day, by_day[day], names, top, (at * room, room), currency) for at, day in enumerate(every)]
    return Chart(tuple(made), names, top, currency)


def _day(
    day: str, rows: Sequence[Row], names: Sequence[str], top: Decimal, place: tuple[float, float], currency: str
) -> Day:
    left, room = place
    parts, bottom = [], float(HIGH)
    for colour, name in enumerate(names):
        value = _together([row for row in rows if _named(row, names) == name], currency)
        if not value:
            continue
        height = max(1.0, float(value / top) * HIGH)  # something is never invisible
        bottom = max(0.0, bottom - height)
        box = (left + room * GAP / 2, bottom, room * (1 - GAP), height)
        parts.append(Part(name, colour, *(round(one, 2) for one in box)))
    return Day(day, sums(rows), _together(rows, currency), tuple(parts))


def _named(row: Row, names: Sequence[str]) -> str:
    return str(row["source"]) if row["source"] in names else OTHERS


def _has(rows: Sequence[Row], name: str, currency: str) -> bool:
    return any(_value(row, currency) for row in rows if row["source"] == name)


def _together(rows: Iterable[Row], currency: str) -> Decimal:
    return sum((_value(row, currency) for row in rows), Decimal(0))


def _value(row: Row, currency: str) -> Decimal:
    if not currency:
        return Decimal(int(row["prompt"]) + int(row["completion"]))
    return Decimal(row["cost"]) if row["price"] == "known" and row["currency"] == currency else Decimal(0)


def days(first: str, last: str) -> list[str]:
    """Every day from one to the other."""
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(begin + timedelta(days=at)).isoformat() for at in range((end - begin).days + 1)]


def nice(most: Decimal) -> Decimal:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten; 1 for nothing."""
    if most <= 0:
        return Decimal(1)
    power = Decimal(1).scaleb(most.adjusted())
    return next(step * power for step in map(Decimal, ("1", "2", "2.5", "5", "10")) if step * power >= most)


@dataclass(frozen=True, slots=True)
class Gauge:
    """How much of a day's limit is gone; ``most`` 0: there is none.  ``percent`` is at most 100."""

    used: Decimal
    most: Decimal
    percent: int


def gauge(used: object, limit: object, times: int) -> Gauge:
    """Against the limit, ``times`` more of which were allowed today."""
    gone, most = Decimal(str(used)), Decimal(str(limit)) * (1 + times)
    return Gauge(gone, most, min(100, int(100 * gone / most)) if most else 0)


def compact(value: object, units: str) -> str:
    """A count of tokens as people say it: 950, 12.3k, 4.56M.

    ``units``: what the language has, as powers of ten with their signs, the largest first: ``9G 6M 3k``.
    """
    number = Decimal(str(value))
    for unit in units.split():
        if number >= Decimal(10) ** int(unit[0]):
            return f"{_three(number.scaleb(-int(unit[0])))}{unit[1:]}"
    return _plain(number)


def money(value: object, currency: str) -> str:
    """Two digits, more where the first ones would be zeros, rounded up: something is never shown as nothing."""
    amount = Decimal(str(value))
    digits = 2
    while digits < 6 and 0 < amount < Decimal(1).scaleb(1 - digits):
        digits += 1
    return f"{amount.quantize(Decimal(1).scaleb(-digits), ROUND_UP):,f} {currency}"


def _three(number: Decimal) -> str:
    digits = 2 if number < 10 else 1 if number < 100 else 0
    return _plain(number.quantize(Decimal(1).scaleb(-digits)))


def _plain(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
