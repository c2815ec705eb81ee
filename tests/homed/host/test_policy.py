"""One test module a module; names say the behaviour; time is a number."""

from __future__ import annotations

import pytest

from homed.host.policy import Again, Done, End, GiveUp, Policy, Restart, decide

POLICY = Policy()


def crash_at(*times: float) -> list[Again | Done | GiveUp]:
    """Feed crashes at these times and return every verdict."""
    verdicts: list[Again | Done | GiveUp] = []
    crashes: tuple[float, ...] = ()
    for at in times:
        verdict = decide(POLICY, crashes, End(at, code=1))
        verdicts.append(verdict)
        crashes = getattr(verdict, "crashes", crashes)
    return verdicts


def test_backs_off_one_two_three_seconds_then_gives_up() -> None:
    first, second, third, fourth = crash_at(0, 10, 20, 30)
    assert [v.wait for v in (first, second, third) if isinstance(v, Again)] == [1.0, 2.0, 3.0]
    assert fourth == GiveUp((0, 10, 20, 30))


def test_crashes_older_than_the_window_are_forgotten() -> None:
    *_, last = crash_at(0, 100, 200, 301)
    assert last == Again(3.0, (100, 200, 301))


def test_fourth_crash_exactly_at_the_window_edge_still_restarts() -> None:
    assert isinstance(crash_at(0, 1, 2, 300)[-1], Again)


@pytest.mark.parametrize("end", [End(5, code=0), End(5, code=1, asked_for=True), End(5, code=-15, asked_for=True)])
def test_an_end_that_is_no_crash_stays_down(end: End) -> None:
    assert decide(POLICY, (), end) == Done()


def test_always_restarts_a_clean_end_that_nobody_asked_for() -> None:
    assert decide(Policy(restart=Restart.ALWAYS), (), End(5, code=0)) == Again(1.0, (5,))


def test_a_clock_set_back_does_not_make_old_crashes_count_for_ever() -> None:
    assert decide(POLICY, (1_000.0, 1_001.0, 1_002.0), End(10.0, code=1)) == Again(1.0, (10.0,))
