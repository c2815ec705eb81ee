"""References: whole with their type, inside a text as text, and nothing else is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.seq import refs
from plugins.seq.refs import NOTHING, BadReference, Ref

VALUES = {
    "args": {"n": 3, "flag": False, "who": "Ada"},
    "got": {"list": [1, {"deep": "x"}], "empty": None},
    "text": '{"a": [true]}',
    "failed": NOTHING,
}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$args.n", 3),
        ("$args.flag", False),
        ("$got.empty", None),
        ("$got.list.1.deep", "x"),
        ("$got", VALUES["got"]),
        ("$text.a.0", True),
        ("$text", '{"a": [true]}'),
        ("Hi ${args.who}, ${args.n} × ${got.list}", 'Hi Ada, 3 × [1, {"deep": "x"}]'),
        ("$$args.n costs $5 and $HOME", "$args.n costs $5 and $HOME"),
        ("${NOT_ONE} $ {x}", "${NOT_ONE} $ {x}"),
        ("", ""),
    ],
)
def test_what_is_written_becomes_the_value(written: str, value: object) -> None:
    assert refs.resolve({"k": [written]}, VALUES) == {"k": [value]}
    assert type(refs.resolve(written, VALUES)) is type(value)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("$nope", "there is no nope"),
        ("$args.nope", r"\$args has no field 'nope'; it has flag, n, who"),
        ("$got.list.2", "a list of 2, which has no element '2'"),
        ("$got.list.x", "has no element 'x'"),
        ("$args.n.x", r"\$args.n has no field 'x': it is integer"),
        ("a ${failed} b", "failed did not run or failed"),
    ],
)
def test_what_is_not_there_is_said(written: str, why: str) -> None:
    with pytest.raises(BadReference, match=why):
        refs.resolve(written, VALUES)


@given(st.text())
def test_any_text_can_be_written_literally(text: str) -> None:
    assert refs.resolve(refs.literal(text), {}) == text
    assert not refs.used(refs.literal(text))


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_whole_reference_keeps_any_value(value: object) -> None:
    assert refs.resolve("$x", {"x": value}) is value
    assert refs.resolve(["$x.k"], {"x": {"k": value}}) == [value]


@given(JSON)
def test_without_references_nothing_changes_but_the_dollars(value: object) -> None:
    plain = json.loads(json.dumps(value).replace("$", ""))
    assert refs.resolve(plain, {}) == plain


@pytest.mark.parametrize("depth", [13, 100_000])
def test_depth_is_found_without_falling_into_it(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    assert refs.too_deep(value)
    assert not refs.too_deep([[[[]]]])


def test_a_reference_without_its_braces_in_a_longer_text_is_noticed() -> None:
    known = frozenset({"args", "a"})
    assert refs.bare("Hi $args.who!", known) == [Ref("args", ("who",))]
    for fine in ("$args.who", "Hi ${args.who}", "Hi $$args.who", "it costs $a_lot", "$5"):
        assert not refs.bare(fine, known), fine


@pytest.mark.parametrize("text", ["NaN", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_what_only_python_takes_for_json_stays_a_text(text: str) -> None:
    """No wire carries it, and the report of all that was done would be lost with it."""
    assert refs.structure(text) == text
    with pytest.raises(ValueError, match=r"number|surrogates"):
        refs.read_json(text)


@pytest.mark.parametrize("depth", [66, 800, 990, 100_000])
def test_a_result_that_is_nested_too_deeply_stays_a_text(depth: int) -> None:
    text = "[" * depth + "]" * depth
    assert refs.structure(text) == text
    assert isinstance(refs.structure("[" * 65 + "]" * 65), list)


def test_a_few_dollar_signs_do_not_fill_the_memory() -> None:
    values = {"a": "x" * 400_000}
    assert refs.resolve({"x": "${a}", "y": "$a"}, values) == {"x": values["a"], "y": values["a"]}
    for args in ({"x": "${a}" * 10_000}, {"x": ["$a"] * 10_000}):
        with pytest.raises(BadReference, match="longer than 1000000 characters"):
            refs.resolve(args, values)
