"""Several channels' opinions of what is relevant, made one.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

DENSE = 0.7
"""What a vector counts beside words: at the same calibrated value a little less, since a cosine is never quite 0."""

RRF_K = 60.0
"""The constant of reciprocal rank fusion."""


def calibrated(cosine: float, baseline: float) -> float:
    """0 for what is no nearer than strangers are in this space, 1 for the same."""
    return max(0.0, (cosine - baseline) / (1.0 - baseline)) if baseline < 1 else 0.0


def summed(words: Mapping[int, float], dense: Mapping[int, float]) -> dict[int, float]:
    """The weighted sum of both, 0..1.  Neither is stretched, so what only one of them sees can win."""
    seen = words.keys() | dense.keys()
    return {seq: min(1.0, words.get(seq, 0.0) + DENSE * dense.get(seq, 0.0)) for seq in seen}


def by_ranks(channels: Mapping[str, Mapping[int, float]], k: float = RRF_K) -> dict[int, float]:
    """Reciprocal rank fusion: each channel gives 1 / (k + rank), rank from 1; 0 in a channel is no rank.

    Scaled so that the first of every channel has 1.
    """
    sums: dict[int, float] = {}
    for values in channels.values():
        ranked = sorted((seq for seq, value in values.items() if value > 0), key=lambda seq: (-values[seq], -seq))
        for rank, seq in enumerate(ranked, 1):
            sums[seq] = sums.get(seq, 0.0) + (k + 1) / (k + rank)
    return {seq: value / max(1, len(channels)) for seq, value in sums.items()}
