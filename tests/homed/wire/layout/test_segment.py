"""Contexts in the segment: what is written is what is read, and nothing that is over is believed."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.errors import InvalidInput, ProtocolError, Unavailable
from homed.wire.layout import PAGE
from homed.wire.layout.segment import (
    CONTENT,
    SLOTS,
    SegmentReader,
    Slots,
    decode_context,
    encode_context,
    write_segment_header,
)
from tests.homed.wire.layout.test_arena import JSON

NAMES = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=24)


def segment(size: int = 4 * PAGE) -> bytearray:
    memory = bytearray(size)
    write_segment_header(memoryview(memory))
    return memory


@given(st.dictionaries(NAMES, JSON, max_size=6))
@settings(deadline=None, max_examples=40)
def test_fields_come_out_as_they_went_in(fields: dict[str, object]) -> None:
    assert {name: field.value() for name, field in decode_context(encode_context(fields)).items()} == fields


def test_never_set_is_not_set_to_empty() -> None:
    found = decode_context(encode_context({"final_text": "", "tool_calls": [], "response": None}))
    assert {name: field.value() for name, field in found.items()} == {
        "final_text": "", "tool_calls": [], "response": None,
    }  # fmt: skip
    assert "llm_text" not in found


@pytest.mark.parametrize("name", ["", "x" * 25, "é" * 13])
def test_a_name_that_does_not_fit_is_refused_not_cut(name: str) -> None:
    with pytest.raises(InvalidInput):
        encode_context({name: "x"})


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidInput):
        encode_context({"extra": object()})


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_whatever_are_read_as_anything_but_fields_or_an_error(data: bytes) -> None:
    try:
        for field in decode_context(data).values():
            field.value()
    except ProtocolError:
        pass


def test_the_layout_is_what_the_documentation_says_byte_by_byte() -> None:
    memory = segment()
    context = encode_context({"phase": "on_input", "no_memory": False})
    memory[CONTENT : CONTENT + len(context)] = context
    Slots(memoryview(memory)).put(65, CONTENT, len(context))
    assert bytes(memory[:8]) == b"HOMEDSEG"
    assert struct.unpack_from("<IIQIIQ", memory, 8) == (1, 4096, len(memory), 64, 32, 64)
    seq, off, length, zero = struct.unpack_from("<QQQQ", memory, 64 + (65 % 64) * 32)
    assert (seq, off, length, zero) == (65, CONTENT, len(context), 0)
    assert struct.unpack_from("<II", memory, off) == (2, 0)
    name, kind, zero, at, size = struct.unpack_from("<24sIIQQ", memory, off + 8)
    assert (name.rstrip(b"\0"), kind, zero) == (b"phase", 1, 0)
    assert memory[off + at : off + at + size] == b"on_input"
    name, kind, zero, at, size = struct.unpack_from("<24sIIQQ", memory, off + 8 + 48)
    assert (name.rstrip(b"\0"), kind, zero) == (b"no_memory", 2, 0)
    assert memory[off + at : off + at + size] == b"false"


def test_a_context_is_found_by_its_number_only_while_it_is_there() -> None:
    memory = segment()
    slots, reader = Slots(memoryview(memory)), SegmentReader(memoryview(memory))
    context = encode_context({"phase": "on_input"})
    memory[CONTENT : CONTENT + len(context)] = context
    slots.put(7, CONTENT, len(context))
    assert reader.fields(7)["phase"].value() == "on_input"
    for other in (0, 6, 7 + SLOTS, 1 << 60):
        with pytest.raises(Unavailable):
            reader.copy(other)
    slots.clear(7)
    with pytest.raises(Unavailable):
        reader.copy(7)


def test_a_context_taken_away_while_it_is_copied_is_not_believed() -> None:
    memory = segment()
    slots, reader = Slots(memoryview(memory)), SegmentReader(memoryview(memory))
    slots.put(7, CONTENT, 8)

    class Fickle:
        """The buffer, where the kernel is faster than the copy."""

        def __getitem__(self, part: slice) -> memoryview:
            slots.clear(7)
            slots.put(7 + SLOTS, CONTENT, 8)
            return memoryview(memory)[part]

    reader._buffer = Fickle()  # type: ignore[assignment]
    with pytest.raises(Unavailable, match="stage is over"):
        reader.copy(7)


def test_a_segment_that_is_none_is_refused() -> None:
    for broken in (b"", b"x" * PAGE, bytes(segment())[:-1], bytes(segment()).replace(b"HOMEDSEG\x01", b"HOMEDSEG\x02"),
                   bytes(segment()).replace(struct.pack("<II", 64, 32), struct.pack("<II", 64, 33)),
                   bytes(segment()).replace(struct.pack("<II", 64, 32), struct.pack("<II", 0, 32))):  # fmt: skip
        with pytest.raises(ProtocolError):
            SegmentReader(memoryview(broken))


def test_a_slot_that_points_outside_is_refused() -> None:
    memory = segment()
    slots, reader = Slots(memoryview(memory)), SegmentReader(memoryview(memory))
    for off, length in ((len(memory), 1), (CONTENT, len(memory)), (1 << 40, 10)):
        slots.put(1, off, length)
        with pytest.raises(ProtocolError):
            reader.copy(1)
