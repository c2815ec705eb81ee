"""The stage segment: the fields of the stage contexts that are being worked on, written by the kernel alone.

The header says besides, at 24, how many slots there are (u32), at 28 the bytes of one (u32), at 32 where the first is
(u64).  The context with the number ``seq`` is in slot ``seq % slots``::

    0  seq   u64, 0 while the slot is empty; written last, and taken away first
    8  off   u64, where its context begins
    16 len   u64
    24       u64, zero

A context is a u32 count of fields, a u32 zero, as many entries of 48 bytes, and the values.  An entry::

    0  name  24 bytes, UTF-8, filled up with zeros
    24 kind  u32: 1 is a UTF-8 text, 2 is JSON
    28       u32, zero
    32 off   u64, from the beginning of the context
    40 len   u64

A field that was never set has no entry; one set to empty has one of length 0.  A reader copies the context, looks
whether the slot still has its ``seq``, and only then believes the copy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from homed.errors import InvalidInput, ProtocolError, Unavailable
from homed.wire import rpc
from homed.wire.layout import HEADER_BYTES, check_header, words, write_header

MAGIC, VERSION = b"HOMEDSEG", 1
SLOTS = 64
"""Contexts at once: more than turns run."""
CONTENT = 4096
SIZE = 16 << 20
"""Bytes of the segment.  A context of a full window of a large model takes less than 1 MiB."""

TEXT, JSON = 1, 2
_SLOT = struct.Struct("<QQQQ")
_ABOUT = struct.Struct("<IIQ")
_HEAD = struct.Struct("<II")
_ENTRY = struct.Struct("<24sIIQQ")
_MAX_FIELDS = 256


def write_segment_header(buffer: memoryview) -> None:
    """Begin a segment that fills ``buffer``; all its slots are empty."""
    write_header(buffer, MAGIC, VERSION, CONTENT)
    _ABOUT.pack_into(buffer, 24, SLOTS, _SLOT.size, HEADER_BYTES)


def encode_context(fields: Mapping[str, object]) -> bytes:
    """The bytes of a context.  Raises `InvalidInput` for a field that is no JSON or whose name is too long."""
    values: list[bytes] = []
    entries: list[bytes] = []
    at = _HEAD.size + len(fields) * _ENTRY.size
    for name, value in fields.items():
        label = name.encode()
        if not 0 < len(label) <= 24:
            raise InvalidInput(f"The field {name[:80]!r} has no name that fits.")
        kind, data = (TEXT, rpc.utf8(value)) if isinstance(value, str) else (JSON, rpc.utf8(rpc.dumps(value)))
        entries.append(_ENTRY.pack(label, kind, 0, at, len(data)))
        values.append(data)
        at += len(data)
    return b"".join([_HEAD.pack(len(fields), 0), *entries, *values])


@dataclass(frozen=True, slots=True)
class Field:
    """One field as it lies in a context."""

    name: str
    kind: int
    data: bytes

    def value(self) -> object:
        """The text or the JSON value.  Raises `ProtocolError` when it is neither."""
        try:
            return self.data.decode() if self.kind == TEXT else rpc.decode(self.data)
        except ValueError as error:
            raise ProtocolError(f"The field {self.name} of a context cannot be read: {error}.") from None


def decode_context(data: bytes) -> dict[str, Field]:
    """The fields of a copied context, not parsed yet.  Raises `ProtocolError` when the bytes are none."""
    return {field.name: field for field in _fields(data)}


def _fields(data: bytes) -> Iterator[Field]:
    try:
        count, _ = _HEAD.unpack_from(data, 0)
        if count > _MAX_FIELDS:
            raise ProtocolError(f"A context of {count} fields.")
        for n in range(count):
            label, kind, _, off, length = _ENTRY.unpack_from(data, _HEAD.size + n * _ENTRY.size)
            if off + length > len(data) or kind not in (TEXT, JSON):
                raise ProtocolError("A field lies outside of its context.")
            yield Field(label.rstrip(b"\0").decode(), kind, data[off : off + length])
    except (struct.error, UnicodeDecodeError):
        raise ProtocolError("The context is shorter than it says.") from None


class Slots:
    """The writer's hold of the slots."""

    def __init__(self, buffer: memoryview) -> None:
        self._words = words(buffer)
        self._first = HEADER_BYTES // 8

    def release(self) -> None:
        """Let go of the buffer."""
        self._words.release()

    def put(self, seq: int, off: int, length: int) -> None:
        """Show a context that is written already."""
        at = self._at(seq)
        self._words[at + 1], self._words[at + 2] = off, length
        self._words[at] = seq

    def empty(self, seq: int) -> bool:
        """Whether the slot of ``seq`` has no context."""
        return self._words[self._at(seq)] == 0

    def clear(self, seq: int) -> None:
        """Take a context away, before its place is used again."""
        self._words[self._at(seq)] = 0

    def _at(self, seq: int) -> int:
        return self._first + (seq % SLOTS) * (_SLOT.size // 8)


class SegmentReader:
    """Reads contexts out of a mapped segment."""

    def __init__(self, buffer: memoryview) -> None:
        check_header(buffer, MAGIC, VERSION)
        self._slots, slot_bytes, first = _ABOUT.unpack_from(buffer, 24)
        if not self._slots or slot_bytes != _SLOT.size or first % 8 or first + self._slots * slot_bytes > len(buffer):
            raise ProtocolError("The slots of the segment are not where they should be.")
        self._buffer, self._words, self._first = buffer, words(buffer), first // 8

    def release(self) -> None:
        """Let go of the buffer."""
        self._words.release()
        self._buffer.release()

    def copy(self, seq: int) -> bytes:
        """The bytes of the context ``seq``.  `Unavailable` when its stage is over and it is no longer there."""
        at = self._first + (seq % self._slots) * (_SLOT.size // 8)
        if seq == 0 or self._words[at] != seq:
            raise _over(seq)
        off, length = self._words[at + 1], self._words[at + 2]
        data = bytes(self._buffer[off : off + length])
        if self._words[at] != seq:
            raise _over(seq)
        if len(data) != length:
            raise ProtocolError(f"The context {seq} lies outside of the segment.")
        return data

    def fields(self, seq: int) -> dict[str, Field]:
        """The fields of the context ``seq``; errors as `copy`."""
        return decode_context(self.copy(seq))


def _over(seq: int) -> Unavailable:
    return Unavailable(f"The context {seq} is no longer in the segment: its stage is over.")
