"""Which of many names are nearly the same, without holding each against each.  Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from homed.memory.normal import jaccard, normal, pairs

SAME = 0.75
"""Jaccard index of the pairs of characters of two names above which they may be one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two keys, the smaller first, and how alike their names are, 0..1."""

    first: str
    second: str
    score: float


def grams(name: str) -> frozenset[str]:
    """Pairs of neighbouring characters of a name's normal form, blanks left out."""
    return frozenset(pairs(normal(name).replace(" ", "")))


def likely(names: Mapping[str, str]) -> Iterator[Pair]:
    """Every two keys whose names' pairs have a Jaccard index above ``SAME``; in no order.

    Two sets can only be so alike if they share one of the few rarest elements of each, and are nearly of one size; only
    such are held against each other.
    """
    for first, second, score in compared(names):
        if score > SAME:
            yield Pair(min(first, second), max(first, second), score)


def compared(names: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """What ``likely`` holds against each other, and the index of each."""
    sets = {key: grams(name) for key, name in names.items()}
    common = Counter(gram for found in sets.values() for gram in found)
    # by size, so that who is looked up is never smaller than who is found
    order = sorted((key for key in sets if sets[key]), key=lambda key: (len(sets[key]), key))
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for key in order:
        mine = sets[key]
        rarest = sorted(mine, key=lambda gram: (common[gram], gram))[: len(mine) - math.ceil(SAME * len(mine)) + 1]
        met = dict.fromkeys(other for gram in rarest for other in holders[gram])
        for other in met:
            if len(sets[other]) >= SAME * len(mine):
                yield other, key, jaccard(sets[other], mine)
        for gram in rarest:
            holders[gram].append(key)
