"""When an index is made, made anew, or given up.  Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

CROSSOVER = 20_000
"""Vectors of a part above which an index is faster than looking at all of them (docs/benchmarks.md)."""

LEAST_CHANGED = 2_000
CHANGED = 0.1
"""What is new or gone since an index was made is looked at exactly; made anew beyond so many, or such a share."""


TRIED_AGAIN = 1.5
"""Trees that did not pay are tried again at so many times the vectors, not each time that an index is made anew."""


class Step(Enum):
    """What is to be done about a part's index."""

    NOTHING = "nothing"
    MAKE = "make"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Standing:
    """A part's rows, and its index if it has one: how many it ``indexed``, how many of those are ``dead``, and how
    many rows are in its ``tail``."""

    rows: int
    indexed: int = 0
    dead: int = 0
    tail: int = 0


def trees(count: int, before: int, width: int) -> bool:
    """Whether to build trees for an index of ``count``, where the last one had ``before`` vectors and ``width`` (0: no
    trees paid).  Which count they are tried at follows from the counts alone, so nothing needs to be kept of it."""
    return not before or width > 0 or _tried(count) > _tried(before)


def _tried(count: int) -> int:
    return int(math.log(max(count, 1)) / math.log(TRIED_AGAIN))


def due(now: Standing, crossover: int = CROSSOVER) -> Step:
    """Decide.  An index stays until there is half of what makes one, so that none comes and goes around the border."""
    if not now.indexed:
        return Step.MAKE if now.rows > crossover else Step.NOTHING
    if now.rows <= crossover // 2:
        return Step.REMOVE
    changed = now.tail + now.dead
    return Step.MAKE if changed > max(LEAST_CHANGED, now.indexed * CHANGED) else Step.NOTHING
