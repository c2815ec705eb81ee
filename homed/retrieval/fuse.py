"""Several channels' opinions of what is relevant, made one.  Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

RRF_K = 60.0
"""The constant of reciprocal rank fusion, as everybody has it."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How channels are made one: by their sum, or by the ranks in them with this constant."""

    ranks: float | None = None


SUM, RRF = Fusion(), Fusion(RRF_K)


def fusion_named(name: str, constant: float = RRF_K) -> Fusion:
    """By its name in the settings; ``constant``: of reciprocal rank fusion."""
    return Fusion(constant) if name == "rrf" else SUM


ASKING = 0.5
"""What asks is half of what tells: one who looks for something looks for its answer, and that stands beside it."""

SPEAKING = 0.25
"""What is said by somebody whom the query names counts so much more: what Anna likes is told by Anna more often than
told to her."""

EXACT = 0.49
"""Relevance from which on stands what has all of a query's rare exact symbols, whatever else it says; where there is
such a one, all others stay below."""


def calibrated(cosine: float, baseline: float) -> float:
    """0 for what is no nearer than strangers are in this space, 1 for the same."""
    return max(0.0, (cosine - baseline) / (1.0 - baseline)) if baseline < 1 else 0.0


def weighed(asking: float, named: bool) -> float:
    """What an event counts for who says it and how, beside what it is about."""
    return (1.0 - ASKING * asking) * (1.0 + SPEAKING * named)


def summed(channels: Collection[Mapping[int, float]]) -> dict[int, float]:
    """The sum.  No channel is stretched to what its best has here, so what only one of them sees can win."""
    sums: dict[int, float] = {}
    for values in channels:
        for seq, value in values.items():
            sums[seq] = sums.get(seq, 0.0) + value
    return sums


def by_ranks(channels: Collection[Mapping[int, float]], k: float = RRF_K) -> dict[int, float]:
    """Reciprocal rank fusion: each channel gives 1 / (k + rank), rank from 1; what has 0 in it has no rank there."""
    sums: dict[int, float] = {}
    for values in channels:
        ranked = sorted((seq for seq, value in values.items() if value > 0), key=lambda seq: (-values[seq], -seq))
        for rank, seq in enumerate(ranked, 1):
            sums[seq] = sums.get(seq, 0.0) + 1 / (k + rank)
    return sums


def relevance(mean: float) -> float:
    """From the mean of the channels, 1 for a full match in each of them, to 0..1: an eighth at 0.35, never quite 1.

    By the square: with a third of a question's words alone, two texts are seldom about the same.
    """
    return math.tanh(mean * mean)


def scaled(sums: Mapping[int, float], highest: float) -> dict[int, float]:
    """The same in proportion, the highest of them ``highest``."""
    most = max(sums.values(), default=0.0)
    return {seq: value / most * highest for seq, value in sums.items()} if most > 0 else dict(sums)


def descending(ranked: Sequence[int], scores: Mapping[int, float]) -> dict[int, float]:
    """Scores that agree with a ranking: none has more than one before it."""
    found, least = {}, float("inf")
    for seq in ranked:
        found[seq] = least = min(least, scores[seq])
    return found


def exact_first(scores: Mapping[int, float], shares: Mapping[int, float]) -> dict[int, float]:
    """Put what has the query's rare exact symbols before all else.  ``shares``: of how many of them, 0..1."""
    found = any(share == 1.0 for share in shares.values())
    return {seq: _with_exact(score, shares.get(seq, 0.0), found) for seq, score in scores.items()}


def _with_exact(score: float, share: float, found: bool) -> float:
    if share == 1.0:
        return EXACT + (1 - EXACT) * score
    return max(EXACT * score if found else score, EXACT * share * share * (0.99 if found else 1.0))
