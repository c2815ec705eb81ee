"""Exact replacements, all or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.sdk import ToolError
from plugins.files.edits import Edit, apply


def test_edits_are_looked_up_in_the_text_as_it_was() -> None:
    assert apply("a b", [Edit("a", "b"), Edit("b", "a")]) == "b a"


def test_order_does_not_matter_and_neighbours_do_not_overlap() -> None:
    assert apply("one two", [Edit(" two", " 2"), Edit("one", "1")]) == "1 2"


def test_self_overlapping_text_counts_as_more_than_once() -> None:
    with pytest.raises(ToolError, match="more than once"):
        apply("aaa", [Edit("aa", "b")])


@given(
    st.text("ab\n", max_size=20),
    st.lists(st.tuples(st.text("ab\n", max_size=4), st.text("xy", max_size=3)), max_size=4),
)
def test_either_every_edit_is_made_or_an_error_says_why(text: str, pairs: list[tuple[str, str]]) -> None:
    try:
        result = apply(text, [Edit(old, new) for old, new in pairs])
    except ToolError:
        return
    expected = text
    for old, new in pairs:
        assert text.count(old) == 1
        expected = expected.replace(old, new)  # what is new never looks like what is old here
    assert result == expected
