"""Values made to fit a line: the bound holds whatever they are made of, and what fits is left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.fitting import fitted, fitted_text, size

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(max_size=300) | st.just("\x01" * 2000),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=20), inner, max_size=40),
    max_leaves=60,
)


@given(VALUES, st.integers(1000, 20_000))
def test_a_value_never_takes_more_than_its_limit_and_keeps_its_kind(value: object, limit: int) -> None:
    shown = fitted(value, limit)
    assert size(shown) <= max(limit * 2, 2000)
    assert type(shown) is type(value)
    if size(value) <= limit:
        assert shown == value


@pytest.mark.parametrize(
    "value",
    [
        "\x01" * 190_000,
        '"\\' * 200_000,
        "你好" * 300_000,
        {f"key {n}": n for n in range(60_000)},
        ["x"] * 200_000,
        [{"id": f"c{n}", "name": "w", "arguments": {"text": "你" * 5000}, "raw": ""} for n in range(256)],
        {"calls": [{"arguments": {"deep": [["\x02" * 100_000]]}}], "reasoning": "r" * 10**6, "step": 3},
    ],
    ids=["control", "quotes", "chinese", "keys", "items", "calls", "mixed"],
)
def test_what_a_model_can_make_is_brought_into_a_line(value: object) -> None:
    shown = fitted(value, 100_000)
    assert 30_000 < size(shown) < 120_000
    json.loads(json.dumps(shown))


def test_small_parts_stay_whole_beside_a_big_one() -> None:
    shown = fitted({"id": "c1", "name": "write", "text": "x" * 10**6, "more": [1, 2]}, 5000)
    assert isinstance(shown, dict)
    assert (shown["id"], shown["name"], shown["more"]) == ("c1", "write", [1, 2])
    assert "left out" in str(shown["text"])


def test_a_text_keeps_its_head_and_its_tail() -> None:
    shown = fitted_text("begin" + "\x01" * 100_000 + "end", 10_000)
    assert (shown[:5], shown[-3:]) == ("begin", "end")
    assert size(shown) <= 10_000
