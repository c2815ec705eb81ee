"""When a job is due next.  Pure: clock and time zone are given.

Due times are UTC seconds of the wall clock, kept in the database, so that they outlive restarts and a machine that
sleeps; the local time of a nightly job is turned into one each time anew, so that it stays where it is on the clock
when summer time begins or ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

FIRST_RETRY = 60.0
"""Seconds after which a run that failed is tried again; each further failure doubles them."""

LONGEST_RETRY = 8
"""Times its own interval that a job which keeps failing waits at the most."""

_LONGEST_NIGHT = 26 * 3600.0
"""No nightly job is due later than that from now: a day that the clock lengthens has 25 hours, rarely more."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Again and again, ``seconds`` after the last time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Nightly:
    """Once on each day of the calendar, at this local time."""

    hour: int
    minute: int = 0


Schedule = Interval | Nightly


def next_due(schedule: Schedule, now: float, zone: tzinfo) -> float:
    """The first time after ``now``.

    A local time that does not exist, since the clock jumps over it, is taken as far behind the jump as it is into it;
    one that exists twice counts the first time, and only then.
    """
    if isinstance(schedule, Interval):
        return now + schedule.seconds
    day = datetime.fromtimestamp(now, zone).date()
    while True:
        local = datetime(day.year, day.month, day.day, schedule.hour, schedule.minute, tzinfo=zone)
        at = local.astimezone(UTC).timestamp()
        if at > now:
            return at
        day += timedelta(days=1)


def planned(schedule: Schedule, stored: float, now: float, zone: tzinfo, *, failures: int = 0) -> float:
    """When a job is due whose stored time is ``stored``, looked at ``now``, after so many ``failures`` in a row.

    What was missed (homed was not running, the machine slept, the clock was set forward) is due at once, and once.
    Where the clock was set back, the stored time lies further ahead than any could: then it is counted anew.
    """
    furthest = _LONGEST_NIGHT
    if isinstance(schedule, Interval):
        furthest = schedule.seconds * (LONGEST_RETRY if failures else 1)
    return stored if stored <= now + furthest else next_due(schedule, now, zone)


def retry(schedule: Schedule, failures: int, now: float, zone: tzinfo) -> float:
    """When to try again after this many failed runs in a row (from 1)."""
    wait = FIRST_RETRY * 2.0 ** min(failures - 1, 20)
    if isinstance(schedule, Interval):
        return now + min(wait, schedule.seconds * LONGEST_RETRY)
    return min(now + wait, next_due(schedule, now, zone))
