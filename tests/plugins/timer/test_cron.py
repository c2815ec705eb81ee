"""Cron expressions, and the instants they mean where clocks are changed (D8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.timer.cron import BadCron, following, instant, parse

NEW_YORK = ZoneInfo("America/New_York")
SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(text: str, zone: ZoneInfo = NEW_YORK, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


def times(expression: str, after: datetime, count: int, zone: ZoneInfo = NEW_YORK) -> list[datetime]:
    found, cron = [], parse(expression)
    for _ in range(count):
        following_ = following(cron, after, zone)
        assert following_ is not None
        found.append(following_)
        after = following_
    return found


def test_nine_in_the_morning_stays_nine_in_the_morning_over_both_changes_d8() -> None:
    spring = times("0 9 * * *", at("2026-03-07 08:00"), 3)
    assert [t.isoformat() for t in spring] == [
        "2026-03-07T14:00:00+00:00", "2026-03-08T13:00:00+00:00", "2026-03-09T13:00:00+00:00",
    ]  # fmt: skip
    autumn = times("0 9 * * *", at("2026-10-31 08:00"), 3)
    assert [t.isoformat() for t in autumn] == [
        "2026-10-31T13:00:00+00:00", "2026-11-01T14:00:00+00:00", "2026-11-02T14:00:00+00:00",
    ]  # fmt: skip


def test_a_time_that_does_not_exist_fires_once_at_half_past_three_d8() -> None:
    assert times("30 2 * * *", at("2026-03-07 12:00"), 2) == [at("2026-03-08 03:30"), at("2026-03-09 02:30")]


def test_a_time_that_exists_twice_fires_once_the_first_time_d8() -> None:
    first, second = times("30 1 * * *", at("2026-10-31 12:00"), 2)
    assert first == at("2026-11-01 01:30", fold=0)
    assert first.isoformat() == "2026-11-01T05:30:00+00:00"
    assert second == at("2026-11-02 01:30")


def test_starting_between_the_two_does_not_fire_the_second_one_d8() -> None:
    between = datetime(2026, 11, 1, 5, 45, tzinfo=UTC)
    assert following(parse("30 1 * * *"), between, NEW_YORK) == at("2026-11-02 01:30")


def test_an_hourly_job_fires_in_both_hours_and_every_ten_minutes_leaves_no_gap() -> None:
    hours = times("0 * * * *", datetime(2026, 11, 1, 4, 30, tzinfo=UTC), 4)
    assert [t.hour for t in hours] == [5, 6, 7, 8]
    for start in (datetime(2026, 11, 1, 4, tzinfo=UTC), datetime(2026, 3, 8, 5, tzinfo=UTC)):
        found = times("*/10 * * * *", start, 24)
        assert {b - a for a, b in pairwise(found)} == {timedelta(minutes=10)}


def test_half_past_every_hour_fires_once_where_half_past_two_does_not_exist() -> None:
    found = times("30 * * * *", at("2026-03-08 00:45"), 3)
    assert found == [at("2026-03-08 01:30"), at("2026-03-08 03:30"), at("2026-03-08 04:30")]


def test_the_zone_of_the_job_counts_and_not_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    assert times("0 9 * * *", datetime(2026, 1, 1, tzinfo=UTC), 1, SHANGHAI) == [datetime(2026, 1, 1, 1, tzinfo=UTC)]


def test_a_day_that_a_zone_skipped_does_not_fire_twice() -> None:
    apia = ZoneInfo("Pacific/Apia")  # 30 December 2011 was not
    found = times("0 9 * * *", at("2011-12-29 08:00", apia), 3, apia)
    assert len(set(found)) == 3
    assert found[0] == at("2011-12-29 09:00", apia)
    assert found[-1] <= at("2012-01-01 09:00", apia)


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("5 4 * * sun", "2026-01-04 04:05"),
        ("5 4 * * 7", "2026-01-04 04:05"),
        ("0 0 13 * 5", "2026-01-02 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 12 1 jan,jul *", "2026-01-01 12:00"),
        ("*/20 9-10 * * mon-fri", "2026-01-01 09:00"),
        ("7/20 9 * * *", "2026-01-01 09:07"),
        ("0 9 * * 1-5", "2026-01-01 09:00"),
        ("@weekly", "2026-01-04 00:00"),
        ("@YEARLY", "2027-01-01 00:00"),
        ("0 9 L-0 * *", ""),
    ],
)
def test_expressions_mean_what_cron_says(expression: str, first: str) -> None:
    after = at("2026-01-01 00:00")
    if not first:
        with pytest.raises(BadCron):
            parse(expression)
    else:
        assert times(expression, after, 1) == [at(first)]


def test_what_never_comes_is_none() -> None:
    assert following(parse("0 0 30 2 *"), at("2026-01-01 00:00"), NEW_YORK) is None
    assert following(parse("0 0 * * *"), datetime(9999, 12, 31, 23, 59, tzinfo=UTC), ZoneInfo("UTC")) is None


@pytest.mark.parametrize(
    "expression",
    [
        "", "* * * *", "* * * * * *", "60 * * * *", "-1 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
        "a * * * *", "1,,2 * * * *", "5-1 * * * *", "*/0 * * * *", "*/ * * * *", "1/2/3 * * * *", "² * * * *",
        "١ * * * *", "@often", "* * * foo *", "9" * 400 + " * * * *", "1-2-3 * * * *", "\0 * * * *",
    ],
)  # fmt: skip
def test_a_wrong_expression_is_refused(expression: str) -> None:
    with pytest.raises(BadCron):
        parse(expression)


ZONES = st.sampled_from(
    ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "Antarctica/Troll", "Africa/Casablanca"]
).map(ZoneInfo)
FIELDS = st.tuples(
    st.sampled_from(["*", "0", "30", "*/15", "59"]),
    st.sampled_from(["*", "1", "2", "*/6", "0-3", "23"]),
    st.sampled_from(["*", "1", "8", "31"]),
    st.sampled_from(["*", "3", "11", "2-4"]),
    st.sampled_from(["*", "0", "1-5"]),
).map(" ".join)


@given(FIELDS, st.integers(1_700_000_000, 1_900_000_000), ZONES)
def test_the_next_time_is_later_matches_and_nothing_lies_between(expression: str, start: int, zone: ZoneInfo) -> None:
    cron, after = parse(expression), datetime.fromtimestamp(start, UTC)
    found = following(cron, after, zone)
    if found is None:
        return
    assert found > after
    assert found.second == 0
    # A start anywhere before it, but after the last one, finds the same.
    assert following(cron, found - timedelta(seconds=1), zone) == found
    assert following(cron, after + (found - after) / 2, zone) == found
    local = found.astimezone(zone)
    exists = instant(local.replace(tzinfo=None), zone) == found or cron.by_interval
    assert exists
