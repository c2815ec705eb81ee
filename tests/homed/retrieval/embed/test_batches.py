"""Batches keep the order and their bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homed.retrieval.embed.batches import batches


@given(st.lists(st.text(max_size=20)), st.integers(1, 5), st.integers(1, 30))
def test_everything_once_in_order_within_bounds(items: list[str], most: int, room: int) -> None:
    found = list(batches(items, len, most, room))
    assert [item for batch in found for item in batch] == items
    assert all(0 < len(batch) <= most for batch in found)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= room for batch in found)
