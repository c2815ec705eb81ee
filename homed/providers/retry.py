"""Whether and when a refused request goes out again (fault A23).  Pure: time and chance come in as arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``attempts`` counts all tries; waits are seconds, the first ``base``, doubling, never above ``ceiling``.

    Who asks for more than ``longest`` is not asked again, for it would only refuse again.
    """

    attempts: int = 2
    base: float = 1.0
    ceiling: float = 30.0
    longest: float = 30.0


@dataclass(frozen=True, slots=True)
class Again:
    """Ask again after ``wait`` seconds."""

    wait: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Tell the person."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a failed try looked like.  ``attempt`` counts from 1; ``retry_after`` is seconds, None if not said."""

    attempt: int
    transient: bool
    shown: bool = False
    retry_after: float | None = None


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds from ``now`` (UTC epoch seconds) that a Retry-After header asks for; None if absent or nonsense.

    Takes a number of seconds or an HTTP date; never negative, never infinite.
    """
    text = (value or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError, OSError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def decide(policy: RetryPolicy, failure: Failure, jitter: float) -> Again | GiveUp:
    """``jitter`` is a random number in [0, 1).

    What was shown once is never asked for again: the person would read it twice.  A wait the source asked for is kept
    to and only lengthened by the jitter; our own is spread by a quarter either way.
    """
    if failure.shown or not failure.transient or failure.attempt >= policy.attempts:
        return GiveUp()
    if failure.retry_after is not None:
        if failure.retry_after > policy.longest:
            return GiveUp()
        return Again(min(failure.retry_after, policy.ceiling) + 0.25 * jitter)
    wait = policy.base * 2.0 ** (failure.attempt - 1)
    return Again(min(wait, policy.ceiling) * (0.75 + 0.5 * jitter))
