"""What is done when a source does not answer: once more, another source, make room, keep what came, or say so.

One table, pure: time and chance come in as arguments.  Whoever asks a model on somebody's behalf goes by it
(``agent.step`` for turns, ``agent.complete`` for plugins and jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.providers.base import ErrorKind, Source

RECOVERIES = 2
"""Times that a turn may make room for a source that finds its request too long (E6)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """``attempts`` counts all tries of one source; times are seconds.

    Our own waits begin with ``base`` and double; none is above ``ceiling``.  A source that asks for more than
    ``longest`` is not asked again, for it would only refuse again: the person is told when to come back.  While another
    source could answer, no wait is above ``patience``.  ``refused`` and ``busy``: how long a source is left alone that
    would not have us, or could not answer, when another did.
    """

    attempts: int = 2
    base: float = 1.0
    ceiling: float = 30.0
    longest: float = 30.0
    patience: float = 5.0
    refused: float = 900.0
    busy: float = 60.0
    recoveries: int = RECOVERIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """How one try went wrong.

    ``attempt`` counts the tries of this source from 1.  ``shown``: words of the answer are before the person;
    ``tools_ran``: a tool of this very answer has run.  ``retry_after``: seconds the source asks for, None if it does
    not say.  ``others``: sources that have not been tried for this answer.  ``recoveries``: times room was made.
    ``unparsed``: the server could not read its own model's tool call; ``told``: and the model was told so before.
    """

    kind: ErrorKind
    attempt: int = 1
    status: int = 0
    shown: bool = False
    tools_ran: bool = False
    retry_after: float | None = None
    others: int = 0
    recoveries: int = 0
    unparsed: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the same source again after ``wait`` seconds."""

    wait: float


@dataclass(frozen=True, slots=True)
class Next:
    """Ask the next source; leave this one alone for ``out`` seconds."""

    out: float


@dataclass(frozen=True, slots=True)
class MakeRoom:
    """The request is too long for it: the overflow guard makes it shorter, for the same source (A17, E5)."""


@dataclass(frozen=True, slots=True)
class TellModel:
    """Ask again with the error shown to the model, which made a call that nobody can read (A15)."""


@dataclass(frozen=True, slots=True)
class Keep:
    """What came is kept, and it is said that it broke off: asked again, the person would read it twice."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Tell the person, in the source's own words."""


Verdict = Again | Next | MakeRoom | TellModel | Keep | GiveUp

_ELSEWHERE = frozenset({0, 404, 405, 410, 501})
"""Refusals of a request that are about the source (a wrong address, a model it does not have, an answer without end):
the same words may be right for another.  Those about the request itself would be repeated."""


def decide(policy: Policy, failed: Failed, jitter: float) -> Verdict:
    """``jitter`` is a random number in [0, 1)."""
    if failed.shown or failed.tools_ran:
        return Keep()
    if failed.kind is ErrorKind.CONTEXT_FULL:  # never the next source: it would be sent the same
        return MakeRoom() if failed.recoveries < policy.recoveries else GiveUp()
    if failed.unparsed:  # once: asked again, the same model makes the same call
        return (Next(policy.busy) if failed.others else GiveUp()) if failed.told else TellModel()
    if failed.kind is ErrorKind.TRANSIENT:
        return _later(policy, failed, jitter)
    if failed.kind is ErrorKind.CREDENTIAL:
        return Next(policy.refused) if failed.others else GiveUp()
    if failed.kind is ErrorKind.BAD_REQUEST and failed.status in _ELSEWHERE and failed.others:
        return Next(policy.busy)
    return GiveUp()


def _later(policy: Policy, failed: Failed, jitter: float) -> Verdict:
    wait = wait_for(policy, failed.attempt, failed.retry_after, jitter)
    in_vain = (failed.retry_after or 0.0) > policy.longest
    if failed.attempt < policy.attempts and not in_vain and not (failed.others and wait > policy.patience):
        return Again(wait)
    if not failed.others:
        return GiveUp()
    return Next(max(policy.busy, min(failed.retry_after or 0.0, policy.refused)))


def wait_for(policy: Policy, attempt: int, retry_after: float | None, jitter: float) -> float:
    """Seconds to wait after the try ``attempt``.  What the source asked for is kept to and only lengthened by the
    jitter (of more than the ceiling no more than that); our own is spread by a quarter either way."""
    if retry_after is not None:
        return min(retry_after, policy.ceiling) + 0.25 * jitter
    return min(policy.base * 2.0 ** (attempt - 1), policy.ceiling) * (0.75 + 0.5 * jitter)


def order(sources: Sequence[Source], current: Source | None) -> list[Source]:
    """Who is asked, one after the other: the one in use, then by priority (the highest first) as they were added.

    The built-in model is nobody's stand-in: it would answer, but not know what it is talking about.
    """
    rest = [source for source in sources if source != current and source.kind != "embedded"]
    ranked = sorted(rest, key=lambda source: -source.priority)  # stable: as they were added
    return ranked if current is None else [current, *ranked]
