"""When an index is made, made anew, or given up.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CROSSOVER = 20_000
"""Vectors of a part above which an index is faster than looking at all of them (docs/benchmarks.md)."""

LEAST_CHANGED = 2_000
CHANGED = 0.1
"""What is new or gone since an index was made is looked at exactly; made anew beyond so many, or such a share."""


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


def due(now: Standing, crossover: int = CROSSOVER) -> Step:
    """Decide.  An index stays until there is half of what makes one, so that none comes and goes around the border."""
    if not now.indexed:
        return Step.MAKE if now.rows > crossover else Step.NOTHING
    if now.rows <= crossover // 2:
        return Step.REMOVE
    changed = now.tail + now.dead
    return Step.MAKE if changed > max(LEAST_CHANGED, now.indexed * CHANGED) else Step.NOTHING
