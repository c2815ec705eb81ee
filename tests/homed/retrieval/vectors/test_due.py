"""When an index is made."""

from __future__ import annotations

from itertools import pairwise

import pytest

from homed.retrieval.vectors.due import CROSSOVER, Standing, Step, due, trees


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


def test_trees_that_did_not_pay_are_tried_again_at_half_as_many_vectors_more() -> None:
    assert trees(25_000, 0, 0), "none was made yet"
    assert trees(27_000, 25_000, 9_000), "the last one's paid"
    tried = [count for count in range(21_000, 60_000, 2_000) if trees(count, count - 2_000, 0)]
    assert len(tried) == 3, "not each of the twenty times"
    assert all(later >= 1.3 * earlier for earlier, later in pairwise(tried))
