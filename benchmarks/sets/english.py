"""English: the weeks of two people, as `chinese` has them."""

from __future__ import annotations

from benchmarks.sets.banks import ENGLISH
from benchmarks.sets.dialogue import Dialogue, Shape
from benchmarks.sets.rows import Set, joined

SHAPE = Shape(each=6, changes=0, turns=420, questions=60)


def english() -> Set:
    """The conversations."""
    made = Dialogue(ENGLISH, "english")
    return joined(made.history(f"en-{number}", SHAPE) for number in (1, 2))
