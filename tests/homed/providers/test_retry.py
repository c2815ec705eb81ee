from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.retry import Again, Failure, GiveUp, RetryPolicy, decide, parse_retry_after

NOW = 1_792_567_680.0  # Wed, 21 Oct 2026 07:28:00 GMT
POLICY = RetryPolicy()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("-4", 0.0),
        ("999999", 999_999.0),
        ("Wed, 21 Oct 2026 07:28:09 GMT", 9.0),
        ("Wed, 21 Oct 2026 07:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 251_609_732_000.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 99 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_reads_seconds_and_http_dates_a23(value: str | None, seconds: float | None) -> None:
    found = parse_retry_after(value, NOW)
    assert found == (seconds if seconds is None else pytest.approx(seconds, rel=0.01))


@given(st.text(max_size=40))
def test_no_header_whatever_crashes_it_a23(value: str) -> None:
    found = parse_retry_after(value, NOW)
    assert found is None or found >= 0


def test_two_attempts_then_the_person_is_told() -> None:
    assert isinstance(decide(POLICY, Failure(1, transient=True), 0.5), Again)
    assert decide(POLICY, Failure(2, transient=True), 0.5) == GiveUp()


def test_what_is_not_transient_or_was_shown_is_never_tried_again() -> None:
    assert decide(POLICY, Failure(1, transient=False), 0.5) == GiveUp()
    assert decide(POLICY, Failure(1, transient=True, shown=True), 0.5) == GiveUp()


def test_our_own_wait_doubles_and_is_spread_by_a_quarter() -> None:
    policy = RetryPolicy(attempts=9)
    assert decide(policy, Failure(1, transient=True), 0.0) == Again(0.75)
    assert decide(policy, Failure(1, transient=True), 0.5) == Again(1.0)
    assert decide(policy, Failure(3, transient=True), 0.5) == Again(4.0)
    assert decide(policy, Failure(8, transient=True), 0.5) == Again(30.0)


@given(st.floats(0, 60) | st.floats(0, 1e12), st.floats(0, 0.999))
def test_a_wait_asked_for_is_kept_to_but_never_endless_a23(asked: float, jitter: float) -> None:
    verdict = decide(POLICY, Failure(1, transient=True, retry_after=asked), jitter)
    if asked > 30.0:
        assert verdict == GiveUp(), "asked before that, it would only refuse again"
    else:
        assert isinstance(verdict, Again)
        assert asked <= verdict.wait <= asked + 0.25
