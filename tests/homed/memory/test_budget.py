"""The numbers of memory.md §3.1, and that a small window tightens by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.budget import Budget, budget, protected, top_k


@pytest.mark.parametrize(
    ("window", "fixed", "percent", "expected"),
    [
        (50_000, 2_196, 0, Budget(50_000, 40_000, 2_196, 37_804, 12_601, 25_203)),
        (0, 0, 0, Budget(32_768, 26_214, 0, 26_214, 8_738, 17_476)),
        (-5, 0, 0, Budget(32_768, 26_214, 0, 26_214, 8_738, 17_476)),
        (1_000_000, 0, 0, Budget(1_000_000, 600_000, 0, 600_000, 200_000, 400_000)),
        (50_000, 2_196, 50, Budget(50_000, 40_000, 2_196, 37_804, 18_902, 18_902)),
        (50_000, 2_196, 100, Budget(50_000, 40_000, 2_196, 37_804, 34_023, 3_781)),
        (1_000, 5_000, 0, Budget(1_000, 800, 5_000, 1, 0, 1)),
    ],
)
def test_a_window_is_divided(window: int, fixed: int, percent: int, expected: Budget) -> None:
    assert budget(window, fixed, percent) == expected


@given(st.integers(-(10**9), 10**12), st.integers(-10, 10**9), st.integers(-10, 10**6))
def test_a18_whatever_the_settings_there_is_room_for_the_conversation(window: int, fixed: int, percent: int) -> None:
    given_ = budget(window, fixed, percent)
    assert given_.context >= 1
    assert given_.memory >= 0
    assert given_.memory + given_.context == given_.available
    assert given_.available <= max(1, given_.target) <= max(1, given_.window)


@pytest.mark.parametrize(
    ("context", "average", "most", "configured", "top", "newest"),
    [
        (25_203, 5_800, 30, 10, 4, 2),  # E2: bound alone gives topK = N = 4, and no place for relevance
        (25_203, 100, 30, 10, 29, 10),
        (400_000, 5_800, 30, 10, 29, 10),
        (25_203, 30_000, 30, 10, 1, 0),
        (25_203, 25_203, 30, 10, 1, 1),
        (25_203, 0, 30, 3, 29, 3),
        (25_203, 100, 2, 10, 1, 1),
        (25_203, 100, 1, 10, 1, 1),
        (1, 5_800, 30, 10, 1, 0),
    ],
)
def test_how_many_are_shown_and_how_many_of_the_newest(
    context: int, average: float, most: int, configured: int, top: int, newest: int
) -> None:
    assert top_k(context, average, most) == top
    assert protected(configured, context, average, top) == newest


def test_e1_the_number_shown_follows_the_window() -> None:
    small, large = budget(50_000, 2_196), budget(1_000_000, 2_196)
    assert top_k(small.context, 5_800, 100) == 4
    assert top_k(large.context, 5_800, 100) == 68


@given(st.integers(1, 10**6), st.floats(0, 10**6), st.integers(1, 1000), st.integers(0, 1000))
def test_the_newest_never_take_every_place(context: int, average: float, most: int, configured: int) -> None:
    top = top_k(context, average, most)
    newest = protected(configured, context, average, top)
    assert 1 <= top <= max(1, most - 1)
    assert 0 <= newest <= max(1, top // 2)
    assert newest <= configured
