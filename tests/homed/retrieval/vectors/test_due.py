"""When an index is made."""

from __future__ import annotations

import pytest

from homed.retrieval.vectors.due import CROSSOVER, Standing, Step, due


@pytest.mark.parametrize(
    ("now", "step"),
    [
        (Standing(CROSSOVER), Step.NOTHING),
        (Standing(CROSSOVER + 1), Step.MAKE),
        (Standing(25_000, indexed=23_000, tail=2_000), Step.NOTHING),
        (Standing(25_001, indexed=23_000, tail=2_001), Step.NOTHING),
        (Standing(25_301, indexed=23_000, tail=2_301), Step.MAKE),
        (Standing(22_001, indexed=20_000, tail=2_001), Step.MAKE),
        (Standing(110_000, indexed=100_000, tail=10_000), Step.NOTHING),
        (Standing(110_001, indexed=100_000, tail=10_001), Step.MAKE),
        (Standing(100_000, indexed=100_000, dead=6_000, tail=6_000), Step.MAKE),
        (Standing(CROSSOVER - 1, indexed=21_000, dead=1_001), Step.NOTHING),
        (Standing(CROSSOVER // 2, indexed=21_000, dead=11_000), Step.REMOVE),
    ],
)
def test_an_index_is_made_where_it_pays(now: Standing, step: Step) -> None:
    assert due(now) is step
