"""What the ranking of events and that of records share: who is looked at closely, and how channels become a score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from homed.memory.ports import Dense
from homed.retrieval import fuse
from homed.retrieval.asking import Question
from homed.retrieval.fuse import Fusion
from homed.store.rows import Tx

POOL = 64
"""The best of each channel that are looked at closely."""

T = TypeVar("T")


def enough(
    read: Callable[[Sequence[int]], Mapping[int, T]], ranked: Sequence[int], wanted: Callable[[T], bool], count: int
) -> dict[int, T]:
    """The first ``count`` of a ranking that are wanted, as far as there are so many; read some at a time."""
    found: dict[int, T] = {}
    at = 0
    while len(found) < count and at < len(ranked):
        more = read(ranked[at : at + count])
        for seq in ranked[at : at + count]:
            if len(found) < count and seq in more and wanted(more[seq]):
                found[seq] = more[seq]
        at += count
    return found


def best(weights: Mapping[int, float]) -> list[int]:
    """The heaviest first; of equal ones the newest."""
    return sorted(weights, key=lambda seq: (-weights[seq], -seq))


def nearest(tx: Tx, dense: Dense, question: Question, scope: str, kinds: Collection[str], limit: int) -> list[int]:
    """The nearest of these kinds, each once; nothing where the question has no vector."""
    if question.vector is None or question.space is None:
        return []
    near = dense.nearest(
        tx, scope=scope, vector=question.vector, space=question.space.fingerprint, kinds=kinds, limit=limit
    )
    return list(dict.fromkeys(one.item for one in near))


def closeness(
    tx: Tx, dense: Dense, question: Question, scope: str, kinds: Collection[str], seqs: Collection[int]
) -> dict[int, float]:
    """The calibrated cosine of each of these that has a vector, the best of its kinds."""
    if question.vector is None or question.space is None:
        return {}
    found: dict[int, float] = {}
    for kind in kinds:
        cosines = dense.cosines(
            tx, scope=scope, vector=question.vector, space=question.space.fingerprint, kind=kind, items=seqs
        )
        for seq, cosine in cosines.items():
            found[seq] = max(found.get(seq, 0.0), fuse.calibrated(cosine, question.space.baseline))
    return found


def means(
    channels: Mapping[str, Mapping[int, float]], fusion: Fusion, sure: Mapping[int, float] | float
) -> dict[int, float]:
    """The mean of the channels for each: in the order of the fusion, and the first as high as they are certain.

    ``channels`` holds "words", and perhaps "vectors"; ``sure`` see `homed.retrieval.lexical.certainty`.
    """
    known = channels.get("words", {})
    certainty = dict.fromkeys(known, sure) if isinstance(sure, float) else sure
    words = {seq: value / certainty.get(seq, 1.0) for seq, value in known.items()}
    sums = fuse.summed([words, channels.get("vectors", {})])
    certain = {seq: value / len(channels) for seq, value in sums.items()}
    if fusion.ranks is not None:
        return fuse.descending(best(fuse.by_ranks(list(channels.values()), fusion.ranks)), certain)
    if any(one != 1 for one in certainty.values()):
        return fuse.scaled(fuse.summed(list(channels.values())), max(certain.values(), default=0.0))
    return certain
