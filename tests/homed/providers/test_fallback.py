"""What is done when a source does not answer: the policy as a table (kernel.md §7; A12, A15, A17, A23, E5, E6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.base import LOCAL, ErrorKind, Source
from homed.providers.fallback import (
    Again,
    Failed,
    GiveUp,
    Keep,
    MakeRoom,
    Next,
    Policy,
    TellModel,
    Verdict,
    decide,
    order,
    wait_for,
)

POLICY = Policy()
TRANSIENT, CREDENTIAL, FULL = ErrorKind.TRANSIENT, ErrorKind.CREDENTIAL, ErrorKind.CONTEXT_FULL
REFUSED, BAD = ErrorKind.REFUSED, ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("failed", "verdict"),
    [
        # transient: two tries a source, then the next, then the person
        (Failed(kind=TRANSIENT), Again(1.0)),
        (Failed(kind=TRANSIENT, others=1), Again(1.0)),
        (Failed(kind=TRANSIENT, attempt=2), GiveUp()),
        (Failed(kind=TRANSIENT, attempt=2, others=1), Next(60.0)),
        # what the source asks for is kept to; a long wait is nobody's while another could answer
        (Failed(kind=TRANSIENT, status=429, retry_after=3.0), Again(3.125)),
        (Failed(kind=TRANSIENT, status=529, retry_after=0.0), Again(0.125)),
        (Failed(kind=TRANSIENT, status=429, retry_after=30.0), Again(30.125)),
        (Failed(kind=TRANSIENT, status=429, retry_after=3.0, others=2), Again(3.125)),
        (Failed(kind=TRANSIENT, status=503, retry_after=20.0, others=1), Next(60.0)),
        (Failed(kind=TRANSIENT, status=429, retry_after=300.0, others=1), Next(300.0)),
        (Failed(kind=TRANSIENT, status=429, retry_after=999_999.0, others=1), Next(900.0)),
        # a wait so long that it would refuse again at its end is nobody's: the person is told when to come back
        (Failed(kind=TRANSIENT, status=429, retry_after=30.5), GiveUp()),
        (Failed(kind=TRANSIENT, status=529, retry_after=999_999.0), GiveUp()),
        # a key that is refused is refused again; another source may do
        (Failed(kind=CREDENTIAL, status=401), GiveUp()),
        (Failed(kind=CREDENTIAL, status=401, others=1), Next(900.0)),
        (Failed(kind=CREDENTIAL, status=403, others=1, retry_after=1.0), Next(900.0)),
        # too long: room is made twice, and no other source is sent the same
        (Failed(kind=FULL, others=3), MakeRoom()),
        (Failed(kind=FULL, others=3, recoveries=1), MakeRoom()),
        (Failed(kind=FULL, others=3, recoveries=2), GiveUp()),
        # content rules are not gone round by asking somebody else
        (Failed(kind=REFUSED, others=3), GiveUp()),
        # a request that is wrong is not sent about; one that is wrong here may be right elsewhere
        (Failed(kind=BAD, status=400, others=3), GiveUp()),
        (Failed(kind=BAD, status=422, others=3), GiveUp()),
        (Failed(kind=BAD, status=404, others=1), Next(60.0)),
        (Failed(kind=BAD, status=404), GiveUp()),
        (Failed(kind=BAD, others=1), Next(60.0)),
        # a tool call that the server could not read: the model is told once
        (Failed(kind=BAD, status=500, unparsed=True, others=1), TellModel()),
        (Failed(kind=TRANSIENT, status=500, unparsed=True), TellModel()),
        (Failed(kind=BAD, status=500, unparsed=True, told=True, others=1), Next(60.0)),
        (Failed(kind=BAD, status=500, unparsed=True, told=True), GiveUp()),
        (Failed(kind=TRANSIENT, status=500, unparsed=True, told=True), GiveUp()),
        # after words were shown, or a tool has run, nothing is asked again, whatever it was
        *[(Failed(kind=kind, shown=True, others=1), Keep()) for kind in ErrorKind],
        *[(Failed(kind=kind, tools_ran=True, others=1), Keep()) for kind in ErrorKind],
        (Failed(kind=BAD, unparsed=True, shown=True), Keep()),
    ],
)
def test_the_policy(failed: Failed, verdict: Verdict) -> None:
    assert decide(POLICY, failed, 0.5) == verdict


FAILED = st.builds(
    Failed,
    kind=st.sampled_from(ErrorKind),
    attempt=st.integers(1, 5),
    status=st.sampled_from([0, 400, 401, 403, 404, 429, 500, 503, 529]),
    shown=st.booleans(),
    tools_ran=st.booleans(),
    retry_after=st.none() | st.floats(0, 1e12),
    others=st.integers(0, 3),
    recoveries=st.integers(0, 4),
    unparsed=st.booleans(),
    told=st.booleans(),
)


@given(FAILED, st.floats(0, 0.999))
def test_whatever_happens_nothing_is_said_twice_and_nobody_waits_for_ever(failed: Failed, jitter: float) -> None:
    verdict = decide(POLICY, failed, jitter)
    if failed.shown or failed.tools_ran:
        assert verdict == Keep()
    if isinstance(verdict, Again):
        assert failed.kind is TRANSIENT
        assert failed.attempt < POLICY.attempts
        assert 0 <= verdict.wait <= POLICY.ceiling + 0.25
        assert not failed.others or verdict.wait <= POLICY.patience
        assert failed.retry_after is None or verdict.wait >= failed.retry_after, "before that it refuses again"
    if isinstance(verdict, Next):
        assert failed.others
        assert failed.kind is not FULL
        assert 0 < verdict.out <= POLICY.refused
    if failed.kind is FULL and failed.recoveries >= POLICY.recoveries:
        assert verdict in (GiveUp(), Keep())


@given(st.lists(FAILED, min_size=60, max_size=60), st.integers(1, 4))
def test_a_step_ends_whatever_the_sources_say(failures: list[Failed], sources: int) -> None:
    """The driver's own loop in small: each failure moves on to something that is bounded."""
    asked, attempt, left, recoveries, told = 0, 1, sources - 1, 0, False
    for failed in failures:
        asked += 1
        verdict = decide(
            POLICY,
            Failed(
                kind=failed.kind, attempt=attempt, status=failed.status, retry_after=failed.retry_after, others=left,
                recoveries=recoveries, unparsed=failed.unparsed, told=told,
            ),
            0.5,
        )  # fmt: skip
        if isinstance(verdict, GiveUp | Keep):
            break
        if isinstance(verdict, Next):
            left, attempt = left - 1, 1
        elif isinstance(verdict, MakeRoom):
            recoveries += 1
        elif isinstance(verdict, TellModel):
            told = True
        else:
            attempt += 1
    assert asked <= 2 * sources + 3


def test_our_own_wait_doubles_and_is_spread_by_a_quarter() -> None:
    assert wait_for(POLICY, 1, None, 0.0) == 0.75
    assert wait_for(POLICY, 3, None, 0.5) == 4.0
    assert wait_for(POLICY, 9, None, 0.5) == 30.0


def test_sources_are_asked_by_choice_then_priority_then_as_they_were_added() -> None:
    made = [Source(name, "http://x/v1", "m", priority=rank) for name, rank in (("a", 0), ("b", 0), ("c", 5), ("d", -1))]
    assert [source.name for source in order(made, made[1])] == ["b", "c", "a", "d"]
    assert [source.name for source in order(made, None)] == ["c", "a", "b", "d"]


def test_the_built_in_model_stands_in_for_nobody_but_answers_when_it_is_the_one_in_use() -> None:
    remote, embedded = Source("a", "http://x/v1", "m"), Source("embedded", "", "smol", adapter=LOCAL)
    own = Source("mine", "", "big", adapter=LOCAL, path="/m.gguf")
    assert order([remote, own, embedded], remote) == [remote, own]
    assert order([embedded], embedded) == [embedded]
