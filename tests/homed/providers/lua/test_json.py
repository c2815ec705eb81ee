"""The JSON of scripts: it is what came, in the order it came, and the same bytes each time."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.homed.providers.lua.local import Failed, InProcess, complete

MINE = InProcess(
    complete(
        """
        function models(body)
          local value = json.decode(body, true)
          return { json.encode(value) }
        end"""
    )
)


def through(text: str) -> str:
    """Decoded and encoded again."""
    return str(MINE.run("models", text)[0])


def answer(body: str) -> Any:
    return InProcess(complete(f"function models(body)\n{body}\nend")).run("models", "")


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(values)
@settings(max_examples=200, deadline=None)
def test_what_is_decoded_and_encoded_is_the_same_in_the_same_order(value: Any) -> None:
    out = json.loads(through(json.dumps(value)))
    assert out == value
    assert json.dumps(out) == json.dumps(value)  # the order of keys, too


def _number(text: str) -> int | float:
    """As Lua has it: whole ones have 64 bits, and none that is beyond all can be written again."""
    number = float(text) if set(text) & set(".eE") or not -(2**63) <= int(text) < 2**63 else int(text)
    assume(not math.isinf(number))
    return number


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_no_text_hangs_or_crashes_it(text: str) -> None:
    try:
        expected = json.loads(text, parse_int=_number, parse_float=_number)
    except (ValueError, RecursionError):
        expected = None
    try:
        found = json.loads(through(text))
    except Failed as error:
        found, expected = error.kind, "unreadable"
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,",
        '{"a"}',
        '{"a":}',
        '"\\x"',
        '"\\u12"',
        "01x",
        "nul",
        "[1] 2",
        "\x00",
        '"a\nb"',
        "[" * 1000,
        "{,}",
        "-",
    ],
)
def test_broken_text_is_the_sources_fault_not_the_scripts(text: str) -> None:
    with pytest.raises(Failed, match="it is broken JSON") as failed:
        through(text)
    assert failed.value.kind == "unreadable"


def test_an_empty_list_and_an_empty_object_stay_what_they_are() -> None:
    assert through('{"a":[],"b":{},"c":[[]],"d":null}') == '{"a":[],"b":{},"c":[[]],"d":null}'
    assert answer("return { json.encode({}), json.encode(json.array({})), json.encode({ a = json.null }) }") == [
        "{}", "[]", '{"a":null}',
    ]  # fmt: skip


def test_what_a_script_makes_has_its_keys_sorted_and_what_came_keeps_its_order() -> None:
    assert answer(
        """
        local value = json.decode('{"z":1,"a":2}')
        value.m, value.b, value.a = 3, 4, nil
        return { json.encode(value), json.encode({ c = 1, a = 2, b = 3 }) }"""
    ) == ['{"z":1,"b":4,"m":3}', '{"a":2,"b":3,"c":1}']


def test_a_null_in_an_object_is_left_out_unless_it_is_wanted() -> None:
    assert answer(
        """
        local value, kept = json.decode('{"a":null,"b":[null]}'), json.decode('{"a":null}', true)
        return { tostring(value.a), tostring(value.b[1] == json.null), tostring(kept.a == json.null) }"""
    ) == ["nil", "true", "true"]


def test_half_a_pair_stays_for_the_other_half_to_come() -> None:
    assert through('"\\ud83c\\udf0d"') == '"🌍"'
    assert through('"\\ud83c"') == '"\ud83c"'


@pytest.mark.parametrize("value", ["{ 1, nil, 3 }", "{ [true] = 1 }", "0/0", "1/0", "print", "{ 1, a = 2 }"])
def test_what_is_no_json_is_refused(value: str) -> None:
    with pytest.raises(Failed, match=r"^mine\.lua:6: JSON: "):
        answer(f"return {{ json.encode({value}) }}")


def test_a_table_that_holds_itself_is_refused() -> None:
    with pytest.raises(Failed, match="holds itself"):
        answer("local t = {}\nt.t = t\nreturn { json.encode(t) }")
