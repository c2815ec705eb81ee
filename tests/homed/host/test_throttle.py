"""Buckets and throttles: time is a number."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from homed.host.throttle import Bucket, Throttle


def test_a_bucket_allows_its_burst_and_then_its_rate() -> None:
    bucket = Bucket(rate=2, burst=3, now=0)
    assert [bucket.take(0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(1) for _ in range(3)] == [True, True, False]
    assert [bucket.take(100) for _ in range(4)] == [True, True, True, False]


def test_a_bucket_filled_since_ever_starts_full_and_a_refused_amount_costs_nothing() -> None:
    bucket = Bucket(rate=1, burst=10, now=-math.inf)
    assert not bucket.take(0, 11)
    assert bucket.take(0, 10)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 5)), max_size=50))
def test_no_window_of_time_gets_more_than_burst_and_rate(steps: list[tuple[float, float]]) -> None:
    bucket, now, spent = Bucket(rate=3, burst=7, now=0), 0.0, 0.0
    for wait, amount in steps:
        now += wait
        spent += amount if bucket.take(now, amount) else 0
        assert spent <= 7 + 3 * now + 1e-6


def test_a_throttle_says_how_much_it_kept_quiet() -> None:
    throttle = Throttle(count=2, window=60)
    assert [throttle.admit(t) for t in (0, 1, 2, 3)] == [0, 0, None, None]
    assert [throttle.admit(t) for t in (60, 61, 62)] == [2, 0, None]
