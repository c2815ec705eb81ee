"""What a frame says of the arena, and values on their way through it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.errors import InvalidInput, ProtocolError
from homed.wire.layout import INLINE
from homed.wire.layout.arena import KEY, Ref, refs
from homed.wire.layout.values import MAX_JSON, MAX_PARTS, pack, unpack

GOOD = {"off": 4096, "len": 10, "as": "json"}


def test_a_frame_names_what_lies_in_the_arena() -> None:
    assert refs({"tool": "x"}) == {}
    assert refs({"tool": "x", KEY: {"args": GOOD}}) == {"args": Ref(4096, 10, "json")}
    assert Ref(4096, 10, "json").as_json() == GOOD


@pytest.mark.parametrize(
    "named",
    [
        None, [], {}, "args", {"args": None}, {"args": []}, {"args": {}}, {"args": {**GOOD, "more": 1}},
        {"args": {"off": 4096, "len": 10}}, {"args": {**GOOD, "off": -1}}, {"args": {**GOOD, "len": -1}},
        {"args": {**GOOD, "off": 1.0}}, {"args": {**GOOD, "off": "4096"}}, {"args": {**GOOD, "off": True}},
        {"args": {**GOOD, "len": None}}, {"args": {**GOOD, "len": 1 << 63}}, {"args": {**GOOD, "off": 1 << 100}},
        {"args": {**GOOD, "as": "pickle"}}, {"args": {**GOOD, "as": None}}, {"args": {**GOOD, "as": ["json"]}},
        {"tool": GOOD}, {KEY: GOOD}, {str(n): GOOD for n in range(17)},
    ],
)  # fmt: skip
def test_anything_but_a_clean_statement_is_a_protocol_error(named: object) -> None:
    with pytest.raises(ProtocolError):
        refs({"tool": "x", KEY: named})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(), lambda inner: st.lists(inner)
       | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
@settings(deadline=None)
def test_no_statement_whatever_does_anything_else_than_be_read_or_refused(named: object) -> None:
    try:
        found = refs({KEY: named})
    except ProtocolError:
        return
    assert all(ref.off >= 0 and ref.length >= 0 for ref in found.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)  # fmt: skip


def through(value: object) -> Any:
    packed = pack(value)
    if packed is None:
        return value
    memory = bytearray(packed.length + 8)
    packed.write(memoryview(memory), 4)
    assert memory[:4] == memory[-4:] == b"\0" * 4, "not a byte beside it"
    return unpack(bytes(memory[4:-4]), packed.kind)


@given(JSON, st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_values_come_out_as_they_went_in_and_large_ones_do_go_in(value: object, times: int) -> None:
    large = [value, "x" * INLINE * times]
    assert pack(large) is not None
    assert through(large) == large


@pytest.mark.parametrize("letter", ["x", "é", "字", "🦉", "\n", "\0"])
def test_texts_of_every_width_go_at_the_size_of_their_json(letter: str) -> None:
    size = len(json.dumps(letter * 100, ensure_ascii=False).encode()) - 2
    few, many = INLINE * 100 // size - 2, INLINE * 100 // size + 1
    assert pack(letter * few) is None
    assert pack(letter * many) is not None
    assert through(letter * many) == letter * many
    assert through({"a": [letter * many]}) == {"a": [letter * many]}


def test_half_a_surrogate_pair_comes_out_as_in_a_line() -> None:
    assert through("\ud800" + "x" * INLINE) == "\ufffd" + "x" * INLINE


@pytest.mark.parametrize(
    "small",
    [None, True, 1.5, 1 << 62, "", "x", [], {}, {"a": 1}, [[[]]], "x" * 60_000, {"a": "x" * 60_000}, list(range(9000)),
     b"", object(), {"a": object()}, [float("nan"), "x" * INLINE], {1: "x" * 100}],
)  # fmt: skip
def test_what_is_small_or_no_json_stays_in_the_line(small: object) -> None:
    assert pack(small) is None


@pytest.mark.parametrize("large", [["x"] * 20_000, {"a": {str(n): n for n in range(10_000)}}, {"x" * 70_000: 1}])
def test_what_only_looks_small_is_found(large: object) -> None:
    assert pack(large) is not None


def test_bytes_go_as_they_are() -> None:
    for value in (b"\0\xff", bytearray(b"\0\xff"), memoryview(b"\0\xff")):
        packed = pack(value)
        assert packed is not None
        assert packed.kind == "bytes"
    assert through(b"\0\xff") == b"\0\xff"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xfe", "text"), (b"\xff", "json"), (b"", "json"), (b"{", "json"), (b"NaN", "json"), (b"1e999", "json"),
        (b'"\\ud800"', "json"), (b"[" * 200_000, "json"), (b" " * (MAX_JSON + 1), "json"),
        (b"[" + b"1," * MAX_PARTS + b"1]", "json"),
    ],
)  # fmt: skip
def test_what_is_not_what_it_is_said_to_be_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(InvalidInput):
        unpack(data, kind)
