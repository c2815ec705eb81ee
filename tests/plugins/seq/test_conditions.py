"""Conditions: printed and read they are the same, decided as JSON compares, hostile ones refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.seq import conditions
from plugins.seq.conditions import BadCondition, Compare, Condition, Not, Several, Value
from plugins.seq.refs import Ref

VALUES = {"args": {"n": 3, "yes": True, "word": "tea"}, "got": {"status": "ok", "list": [1, "a"]}, "text": '["x"]'}

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
paths = st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), max_size=3).map(tuple)
scalars = (
    st.none() | st.booleans() | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)  # fmt: skip
operands: Any = st.builds(Ref, names, paths) | st.builds(Value, scalars)
compares: Any = st.builds(Compare, st.sampled_from(conditions._COMPARISONS), operands, operands)


def joined(inner: Any) -> Any:
    several = st.builds(
        lambda word, parts: Several(word, tuple(parts)),
        st.sampled_from(["and", "or"]),
        st.lists(inner, min_size=2, max_size=3),
    )  # fmt: skip
    return st.builds(Not, inner) | several


@given(st.recursive(operands | compares, joined, max_leaves=6))
def test_what_is_printed_is_read_back(condition: Condition) -> None:
    text = conditions.shown(condition)
    if len(text) <= conditions.MAX:
        assert conditions.parse(text) == condition


@given(st.text(max_size=60) | st.text(alphabet="$a.b()'\"<>=!1 nodrtue", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = conditions.parse(text)
    except BadCondition:
        return
    assert conditions.parse(conditions.shown(found)) == found


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("$args.yes", True),
        ("not $args.yes", False),
        ("$args.nothing", False),
        ("$nobody.x == null", True),
        ("$args.n > 2 and $args.n <= 3", True),
        ("$args.n >= 3.0 and $args.n < 3.5", True),
        ("$args.yes == 1", False),
        ("$args.n == 3.0", True),
        ("$args.n != '3'", True),
        ("$got.status == 'ok' or $nobody.x", True),
        ("$args.n == 1 or $args.n == 2", False),
        ("not ($args.n == 1 or $args.n == 2)", True),
        ("'e' in $args.word", True),
        ('$got.list contains "a"', True),
        ("true in $got.list", False),
        ("'status' in $got", True),
        ("'x' in $text", True),
        ("'b' < 'c'", True),
        ("false or not false and true", True),
    ],
)
def test_decides(text: str, holds: bool) -> None:
    assert conditions.holds(conditions.parse(text), VALUES) is holds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends too early"),
        ("$a ==", "ends too early"),
        ("$a == 1 2", "'2' was not expected"),
        ("($a", "ends too early"),
        ("($a) == 1", "cannot be compared"),
        ("$a == ok", "write texts in quotes"),
        ("$A", "cannot be read"),
        ("__import__('os')", "cannot be read"),
        ("1e999 == 1", "no number that can be held"),
        ('"\\x" == 1', "as JSON writes it"),
        ("$a == 1 == 2", "was not expected"),
        ("(" * 21 + "$a" + ")" * 21, "nested over 20 deep"),
        ("not " * 100 + "$a", "nested over 20 deep"),
        ("$a or " * 100 + "$a", "longer than 500"),
    ],
)
def test_refuses(text: str, why: str) -> None:
    with pytest.raises(BadCondition, match=why):
        conditions.parse(text)


@pytest.mark.parametrize("text", ["$args.n < 'a'", "$got < 1", "$args.yes < 2", "1 in $args.n", "1 in $args.word"])
def test_what_has_no_order_or_holds_nothing_is_an_error(text: str) -> None:
    with pytest.raises(BadCondition, match=r"no order|holds no"):
        conditions.holds(conditions.parse(text), VALUES)


def test_a_number_may_have_more_digits_than_a_float_can_hold() -> None:
    condition = conditions.parse("$args.n < " + "1" * 400)
    assert conditions.holds(condition, VALUES)
    assert conditions.parse(conditions.shown(condition)) == condition
