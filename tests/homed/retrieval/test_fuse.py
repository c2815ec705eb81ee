"""Channels made one, and scores that mean something by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval import fuse

GATE = 0.12
VALUES = st.dictionaries(st.integers(1, 20), st.floats(0, 3, allow_nan=False), max_size=12)


@pytest.mark.parametrize(
    ("cosine", "baseline", "value"),
    [(0.1, 0.22, 0.0), (0.22, 0.22, 0.0), (0.61, 0.22, 0.5), (1.0, 0.22, 1.0), (1, 1, 0)],
)
def test_a_cosine_counts_from_that_of_strangers_on(cosine: float, baseline: float, value: float) -> None:
    assert fuse.calibrated(cosine, baseline) == pytest.approx(value)


def test_what_one_channel_alone_is_sure_of_wins_over_what_both_hardly_see() -> None:
    """A min-max sum buried what only the encoder could see: each channel's best was stretched to 1."""
    sums = fuse.summed([{1: 0.1, 2: 0.12, 3: 0.0}, {1: 0.1, 2: 0.05, 3: 0.6}])
    assert max(sums, key=lambda seq: sums[seq]) == 3


def test_ranks_are_added_as_everybody_does() -> None:
    found = fuse.by_ranks([{1: 0.9, 2: 0.5, 3: 0.0}, {2: 0.7}])
    assert found == {1: pytest.approx(1 / 61), 2: pytest.approx(1 / 62 + 1 / 61)}


@given(VALUES)
def test_relevance_keeps_the_order_and_stays_below_one(means: dict[int, float]) -> None:
    found = {seq: fuse.relevance(mean) for seq, mean in means.items()}
    assert all(0 <= value <= 1 for value in found.values())
    for one in means:
        for other in means:
            assert means[one] > means[other] or found[one] <= found[other]


def test_a_third_of_the_words_is_about_the_gate_and_a_full_match_far_above() -> None:
    assert fuse.relevance(0.3) < GATE < fuse.relevance(0.36)
    assert fuse.relevance(1.0) > 0.75


@given(VALUES, st.floats(0, 2, allow_nan=False))
def test_scaling_keeps_proportions(sums: dict[int, float], highest: float) -> None:
    found = fuse.scaled(sums, highest)
    assert found.keys() == sums.keys()
    if any(sums.values()):
        assert max(found.values()) == pytest.approx(highest)


@given(VALUES)
def test_scores_made_descending_never_rise_along_the_ranking_and_are_never_more_than_their_own(
    scores: dict[int, float],
) -> None:
    ranked = sorted(scores)
    found = fuse.descending(ranked, scores)
    values = [found[seq] for seq in ranked]
    assert values == sorted(values, reverse=True)
    assert all(found[seq] <= scores[seq] for seq in ranked)


def test_all_exact_symbols_come_before_all_else_some_never_above_all_and_none_undiluted() -> None:
    """E24: an exact score was diluted by 0.3."""
    found = fuse.exact_first({1: 0.0, 2: 0.9, 3: 0.1}, {1: 1.0, 2: 0.0, 3: 0.5})
    assert found[1] >= fuse.EXACT > found[2] > found[3]
    alone = fuse.exact_first({2: 0.9, 3: 0.0}, {2: 0.0, 3: 0.5})
    assert alone == {2: 0.9, 3: pytest.approx(fuse.EXACT / 4)}


def test_who_asks_counts_half_and_who_is_named_a_quarter_more() -> None:
    assert fuse.weighed(0.0, named=False) == 1.0
    assert fuse.weighed(1.0, named=False) == 0.5
    assert fuse.weighed(0.0, named=True) == 1.25
