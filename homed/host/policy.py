"""When a plugin process ends, what happens next.

Pure: no clock, no Trio, no I/O.  Time comes in as an argument, so that the whole policy is a table to test, and the
loop that acts on it (``homed.host.supervise``) is a dozen lines.  Vocabulary after Erlang/OTP's ``supervisor``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Restart(Enum):
    """Which ends are answered with a new start."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and how soon, a plugin may come back.

    ``delays[n]`` is the wait in seconds after the (n+1)-th crash inside ``window`` seconds; one crash more than there
    are delays gives up.
    """

    restart: Restart = Restart.ON_FAILURE
    delays: tuple[float, ...] = (1.0, 2.0, 3.0)
    window: float = 300.0


@dataclass(frozen=True, slots=True)
class End:
    """How one run ended.  ``at`` is wall-clock seconds, so that the history outlives the daemon."""

    at: float
    code: int
    asked_for: bool = False

    @property
    def failed(self) -> bool:
        """True for every code but 0."""
        return self.code != 0


@dataclass(frozen=True, slots=True)
class Again:
    """Start again after ``wait`` seconds, with ``crashes`` (wall-clock seconds) as the new history."""

    wait: float
    crashes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """Stay down: the end was asked for, or the policy wants no restart."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stay down until a person acts, who then also clears the history."""

    crashes: tuple[float, ...] = field(default=())


def decide(policy: Policy, crashes: tuple[float, ...], end: End) -> Again | Done | GiveUp:
    """Decide from the crashes so far (wall-clock seconds, oldest first) and this end.

    Crashes older than the window are forgotten before counting; a clock set back makes none of them younger than zero.
    """
    if end.asked_for or policy.restart is Restart.NEVER:
        return Done()
    if policy.restart is Restart.ON_FAILURE and not end.failed:
        return Done()
    recent = (*(at for at in crashes if 0 <= end.at - at < policy.window), end.at)
    if len(recent) > len(policy.delays):
        return GiveUp(recent)
    return Again(policy.delays[len(recent) - 1], recent)
