"""How a text became another: readable, and true to both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.webui.worddiff import LONGEST, diff

TEXTS = st.text(st.sampled_from("ab c我们.\n\t"), max_size=40)


@given(TEXTS, TEXTS)
def test_the_pieces_make_up_both_texts(before: str, after: str) -> None:
    pieces = diff(before, after)
    assert "".join(piece.text for piece in pieces if piece.sign != "+") == before
    assert "".join(piece.text for piece in pieces if piece.sign != "-") == after
    assert all(piece.text for piece in pieces)
    assert any(piece.sign != " " for piece in pieces) == (before != after)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Mei lives in Berlin.", "Mei lives in Munich.", " Mei lives in |-Berlin|+Munich| ."),
        ("a b c d e f g", "a x y d e f g", " a |-b c|+x y|  d e f g"),
        ("我住在上海浦东区", "我住在北京浦东区", " 我住在|-上海|+北京| 浦东区"),
        ("It costs 40 euros.", "It costs 45 euros.", " It costs |-40|+45|  euros."),
        ("alike not at all", "something else", "-alike not at all|+something else"),
        ("", "new", "+new"),
        ("same", "same", " same"),
    ],
)
def test_a_change_is_shown_where_it_is_in_any_script(before: str, after: str, shown: str) -> None:
    assert "|".join(piece.sign + piece.text for piece in diff(before, after)) == shown


def test_a_text_without_end_takes_no_time_without_end() -> None:
    before, after = "a " * LONGEST, "b " + "a " * LONGEST
    assert "".join(piece.text for piece in diff(before, after) if piece.sign != "-") == after
