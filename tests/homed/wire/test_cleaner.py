"""What a cleaner may answer: as many texts, none longer."""

from __future__ import annotations

import pytest

from homed.wire.cleaner import unclean


@pytest.mark.parametrize("answer", [{"texts": ["ab", "c"]}, {"texts": ["", ""]}, {"texts": ["a", "c"], "more": 1}])
def test_what_only_takes_out_can_be_used(answer: object) -> None:
    assert unclean(["ab", "c"], answer) == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"texts": ["ab"]}, "1 texts of 2"),
        ({"texts": ["ab", "cc"]}, "longer"),
        ({"texts": ("ab", "c")}, "not {texts"),
        ({"texts": ["ab", None]}, "not {texts"),
        (["ab", "c"], "not {texts"),
        (None, "not {texts"),
    ],
)
def test_all_else_says_what_is_wrong(answer: object, why: str) -> None:
    assert why in unclean(["ab", "c"], answer)
