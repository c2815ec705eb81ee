"""Cron expressions and the instants they mean in a time zone.  Pure: time comes in as an argument.

Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday), each ``*``, a number or a name, a range
``1-5``, a step ``*/15`` or ``9-17/2``, or a list of these with commas; or ``@hourly``, ``@daily``, ``@weekly``,
``@monthly``, ``@yearly``.  As in Vixie cron, when both day fields are restricted either one is enough.

Daylight saving (IANA rules through ``zoneinfo``):

- A wall-clock time that does not exist (02:30 when clocks jump from 2 to 3) fires once, at the same distance from
  midnight as the clock ran before the jump: 03:30 on the new clock, as RFC 5545 has it.
- A time that exists twice fires once, the first time.  But a job for every hour (its hour field starts with ``*``) is
  meant by the interval, not by the clock, and fires in both of the two hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MARGIN = timedelta(hours=4)
"""Wall-clock times further apart than this keep their order in UTC (no zone moves its clock by more at once)."""

_HORIZON_DAYS = 366 * 9
"""29 February can be 8 years away (around 2100)."""


class BadCron(ValueError):
    """The expression is wrong; the text says where."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression.  ``weekdays``: 0 is Sunday."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    by_interval: bool

    def matches(self, day: date) -> bool:
        """Does it fire at all on this day?"""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month and in_week if self.any_day or self.any_weekday else in_month or in_week


def parse(expression: str) -> Cron:
    """Read an expression.  Raises BadCron."""
    fields = _MACROS.get(expression.strip().lower(), expression).split()
    if len(fields) != 5:
        raise BadCron("a cron expression has five fields: minute, hour, day of month, month, day of week")
    minute, hour, day, month, weekday = (field.lower() for field in fields)
    weekdays = frozenset(number % 7 for number in _field(weekday, "day of week", 0, 7, _DAYS, base=0))
    return Cron(
        minutes=_field(minute, "minute", 0, 59),
        hours=_field(hour, "hour", 0, 23),
        days=frozenset(_field(day, "day of month", 1, 31)),
        months=frozenset(_field(month, "month", 1, 12, _MONTHS, base=1)),
        weekdays=weekdays,
        any_day=day.startswith("*"),
        any_weekday=weekday.startswith("*"),
        by_interval=hour.startswith("*"),
    )


def _field(text: str, name: str, low: int, high: int, names: tuple[str, ...] = (), *, base: int = 0) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        start, end = _span(span, name, (low, high), {word: n + base for n, word in enumerate(names)})
        if step and "-" not in span and span != "*":
            end = high
        found.update(range(start, end + 1, _number(step, name, 1, high) if "/" in part else 1))
    return tuple(sorted(found))


def _span(text: str, name: str, limits: tuple[int, int], names: dict[str, int]) -> tuple[int, int]:
    if text == "*":
        return limits
    first, dash, last = text.partition("-")
    start = names[first] if first in names else _number(first, name, *limits)
    end = start if not dash else names[last] if last in names else _number(last, name, *limits)
    if end < start:
        raise BadCron(f"{name}: {text!r} runs backwards")
    return start, end


def _number(text: str, name: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and low <= int(text) <= high):
        raise BadCron(f"{name}: {text!r} is not between {low} and {high}")
    return int(text)


def instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """The UTC instant of a wall-clock time (naive): the first if there are two, RFC 5545's reading if there is none."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def following(cron: Cron, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first instant strictly after ``after`` (aware) at which it fires, in UTC; None if it never does."""
    here = after.astimezone(zone).replace(tzinfo=None, fold=0)
    best: datetime | None = None
    first: datetime | None = None
    for wall in _walls(cron, here - _MARGIN):
        if first is not None and wall > first + _MARGIN:
            break
        for candidate in _instants(wall, zone, both=cron.by_interval):
            if candidate > after:
                first = first or wall
                best = min(best or candidate, candidate)
    return best


def _instants(wall: datetime, zone: ZoneInfo, *, both: bool) -> Iterator[datetime]:
    yield instant(wall, zone)
    if both:
        early, late = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        before, after = early.utcoffset(), late.utcoffset()
        if before is not None and after is not None and before > after:  # it exists twice
            yield late.astimezone(UTC)


def _walls(cron: Cron, start: datetime) -> Iterator[datetime]:
    """Wall-clock times in order, from ``start`` on."""
    for number in range(_HORIZON_DAYS):
        try:
            day = start.date() + timedelta(days=number)
        except OverflowError:
            return
        if not cron.matches(day):
            continue
        for hour in cron.hours:
            for minute in cron.minutes:
                wall = datetime(day.year, day.month, day.day, hour, minute)
                if wall >= start:
                    yield wall
