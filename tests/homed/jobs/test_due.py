"""When jobs are due (D8): intervals, nights with and without summer time, clocks that jump."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.jobs.due import LONGEST_RETRY, Interval, Nightly, next_due, planned, retry

YORK = ZoneInfo("America/New_York")
HOUR, DAY = 3600.0, 86_400.0


def at(text: str, zone: tzinfo = YORK, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC).timestamp()


def shown(seconds: float, zone: tzinfo = YORK) -> str:
    return datetime.fromtimestamp(seconds, zone).isoformat(sep=" ", timespec="minutes")


def nights(schedule: Nightly, begin: float, count: int) -> list[str]:
    found, now = [], begin
    for _ in range(count):
        now = next_due(schedule, now, YORK)
        found.append(shown(now))
    return found


def test_an_interval_counts_from_now() -> None:
    assert next_due(Interval(600), 1000.0, UTC) == 1600.0


def test_nine_o_clock_stays_nine_o_clock_when_summer_time_begins_and_ends() -> None:
    assert nights(Nightly(9), at("2026-03-07 12:00"), 2) == ["2026-03-08 09:00-04:00", "2026-03-09 09:00-04:00"]
    assert nights(Nightly(9), at("2026-03-06 12:00"), 1) == ["2026-03-07 09:00-05:00"]
    assert nights(Nightly(9), at("2026-10-31 12:00"), 2) == ["2026-11-01 09:00-05:00", "2026-11-02 09:00-05:00"]


def test_a_time_that_does_not_exist_that_night_fires_once_behind_the_gap() -> None:
    found = nights(Nightly(2, 30), at("2026-03-07 12:00"), 2)
    assert found == ["2026-03-08 03:30-04:00", "2026-03-09 02:30-04:00"]


def test_a_time_that_exists_twice_fires_once_the_first_time() -> None:
    found = nights(Nightly(1, 30), at("2026-10-31 12:00"), 2)
    assert found == ["2026-11-01 01:30-04:00", "2026-11-02 01:30-05:00"]
    between = at("2026-11-01 01:10", fold=1)  # the hour is there a second time, and its run is over
    assert shown(next_due(Nightly(1, 30), between, YORK)) == "2026-11-02 01:30-05:00"


def test_the_persons_zone_counts_and_not_the_servers() -> None:
    assert next_due(Nightly(3), at("2026-06-01 00:00", UTC), ZoneInfo("Asia/Tokyo")) == at("2026-06-01 18:00", UTC)


def test_what_was_missed_is_due_once_at_once() -> None:
    now = at("2026-06-10 12:00")
    stored = at("2026-06-01 03:00")
    assert planned(Nightly(3), stored, now, YORK) == stored  # in the past: it runs now
    assert shown(next_due(Nightly(3), now, YORK)).startswith("2026-06-11")  # and then not nine times more


@pytest.mark.parametrize("schedule", [Interval(HOUR), Nightly(3, 30)])
def test_a_clock_that_was_set_back_for_days_does_not_leave_a_job_waiting_for_days(schedule: Interval | Nightly) -> None:
    then = at("2026-06-10 12:00")
    stored, now = next_due(schedule, then, YORK), then - 5 * DAY
    again = planned(schedule, stored, now, YORK)
    assert now < again <= now + DAY


def test_a_clock_that_was_set_back_by_hours_does_not_leave_what_is_hourly_waiting_for_them() -> None:
    then = at("2026-06-10 12:00")
    stored, now = next_due(Interval(HOUR), then, YORK), then - 5 * HOUR
    assert planned(Interval(HOUR), stored, now, YORK) == now + HOUR
    assert planned(Interval(HOUR), stored, now, YORK, failures=4) == stored, "it may wait that long after failures"


def test_a_clock_that_was_set_back_by_an_hour_does_not_make_a_night_of_two() -> None:
    stored = next_due(Nightly(3, 30), at("2026-06-10 03:30"), YORK)
    assert planned(Nightly(3, 30), stored, at("2026-06-10 02:45"), YORK) == stored


def test_failures_are_tried_again_later_and_later() -> None:
    waits = [retry(Interval(HOUR), failures, 0.0, UTC) for failures in range(1, 14)]
    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_RETRY * HOUR
    now = at("2026-06-10 03:30")
    assert retry(Nightly(3, 30), 1, now, YORK) == now + 60
    assert retry(Nightly(3, 30), 50, now, YORK) == next_due(Nightly(3, 30), now, YORK)


ZONES = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Asia/Shanghai", "Australia/Lord_Howe"])
TIMES = st.builds(Nightly, st.integers(0, 23), st.integers(0, 59))


@given(TIMES, ZONES, st.integers(1_700_000_000, 1_900_000_000))
def test_every_day_of_the_calendar_has_one_night(schedule: Nightly, name: str, begin: int) -> None:
    zone, now, days = ZoneInfo(name), float(begin), []
    for _ in range(5):
        due = next_due(schedule, now, zone)
        assert now < due <= now + 26 * HOUR
        assert planned(schedule, due, now, zone) == due
        days.append(datetime.fromtimestamp(due, zone).date().toordinal())
        now = due
    assert days == list(range(days[0], days[0] + 5))
