"""An event ring: the kernel writes what happens, any number of readers follow, each at a pace of its own.

The common header, the two marks below it, ``SLOTS`` slots of 32 bytes, and the payload area::

    24  slots        u32      28  slot bytes     u32
    32  payload at   u64      40  payload bytes  u64
    64  head         u64, the number of the newest event; 0 before the first
    72  tail         u64, the number of the oldest event that is still whole; above head: none is
    128 + 32 × (number mod SLOTS):
         0  number   u64, 0 while the slot is being written
         8  type     u32, of ``NUMBERS``
        12  off      u32, of the payload in its area
        16  len      u32, 0: announced without payload
        20  check    u32, CRC-32 of the payload, begun with the low 32 bits of the number
        24  at       f64, wall-clock UTC seconds

A number is the notice's ``seq``.  A payload lies in one piece; what does not fit behind the last begins at the front.
Before anything of an event is overwritten, ``tail`` has passed it: a reader copies, looks at ``tail`` again, and what
is still at or above it was whole.  Nobody waits for anybody.

Pure: no system calls, no clock.  The checksum is for machines that let stores pass each other: there a reader that
comes in between sees it and looks again.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from dataclasses import dataclass

from homed.errors import ProtocolError
from homed.wire.layout import check_header, words, write_header

MAGIC, VERSION = b"HOMEDRNG", 1
SLOTS = 8192
SLOT_BYTES = 32
CONTENT = 128

NUMBERS = {
    "raw_input": 1, "turn": 2, "content_delta": 3, "reasoning_delta": 4, "reasoning": 5, "tool_call": 6, "approval": 7,
    "agent_output": 8, "agent_llm_chain": 9, "agent_error": 10, "stage": 11, "progress": 12, "thread": 13,
    "plugin_state": 14, "system": 15, "recall": 16, "memory": 17, "terminal_output": 18, "skill_detected": 19,
    "child": 20,
}  # fmt: skip
"""Type of a notice → its number in a slot.  A number once given is never given to another; 21 to 30 are free."""
NAMES = {number: name for name, number in NUMBERS.items()}
ALL = (1 << 31) - 1
"""The mask of every type there is or will be: bit ``n`` for number ``n``."""

_OWN = struct.Struct("<IIQQ")
_REST = struct.Struct("<IIIId")
_FIRST = CONTENT // 8
_HEAD, _TAIL = 8, 9
_LOOKS = 8
"""How often a payload that does not match its checksum is looked at again before it counts as lost."""


def size(payload: int) -> int:
    """Bytes of a ring with a payload area of this many bytes, which must be a multiple of 8."""
    if payload <= 0 or payload % 8 or payload >> 32:
        raise ValueError("the payload area must be a multiple of 8 and below 4 GiB")
    return CONTENT + SLOTS * SLOT_BYTES + payload


def mask_of(types: frozenset[str] | None) -> int:
    """The bits of these types; None is all of them."""
    return ALL if types is None else sum(1 << NUMBERS[name] for name in types)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it was written; ``payload`` is a copy."""

    seq: int
    type: int
    at: float
    payload: bytes


class Writer:
    """The one writer.  It makes the buffer a ring; everything it must know again it remembers itself."""

    def __init__(self, buffer: memoryview) -> None:
        self._payload_at = CONTENT + SLOTS * SLOT_BYTES
        self._size = len(buffer) - self._payload_at
        self._buffer, self._words = buffer, words(buffer)
        self._head, self._tail = 0, 1
        self._starts = array("Q", bytes(8 * SLOTS))
        self._words[_HEAD], self._words[_TAIL] = 0, 1
        _OWN.pack_into(buffer, 24, SLOTS, SLOT_BYTES, self._payload_at, self._size)
        write_header(buffer, MAGIC, VERSION, CONTENT)
        self.written = 0
        """Bytes of payload so far, those skipped at the area's end included."""
        self.largest = self._size // 4
        """Bytes of a payload that is written; a longer one is announced without: it would push out too many others."""

    def write(self, seq: int, kind: int, at: float, payload: bytes) -> None:
        """Write an event.  ``seq`` grows; after a gap (nobody was reading) what was before it is no longer there."""
        length = len(payload)
        if length > self.largest:
            payload, length = b"", 0
        start = self.written
        off = start % self._size
        if off + length > self._size:
            start, off = start + self._size - off, 0
        if seq != self._head + 1:
            self._tail = seq
            self._words[_TAIL] = seq
        gone = start + length - self._size
        if self._tail + SLOTS <= seq or self._starts[self._tail % SLOTS] < gone:
            self._make_room(seq, gone)
        if length:
            into = self._payload_at + off
            self._buffer[into : into + length] = payload
        index = seq % SLOTS
        self._starts[index] = start
        self.written = start + length
        word = _FIRST + 4 * index
        self._words[word] = 0
        _REST.pack_into(self._buffer, 8 * word + 8, kind, off, length, zlib.crc32(payload, seq & 0xFFFFFFFF), at)
        self._words[word] = seq
        self._words[_HEAD] = self._head = seq

    def _make_room(self, seq: int, gone: int) -> None:
        """Move the tail past what is about to be overwritten: payloads that begin below ``gone``, and the slot."""
        tail, starts = self._tail, self._starts
        if tail + SLOTS <= seq:
            tail = seq - SLOTS + 1
        while tail < seq and starts[tail % SLOTS] < gone:
            tail += 1
        if tail != self._tail:
            self._words[_TAIL] = self._tail = tail

    def close(self) -> None:
        """Let go of the buffer."""
        self._words.release()


class Cursor:
    """One reader's place.  ``lost`` counts exactly what it was too slow for, or was announced without payload."""

    def __init__(self, buffer: memoryview, seq: int, mask: int = ALL) -> None:
        """Read what comes after number ``seq``, of the types in ``mask``.  Raises `ProtocolError` for no ring."""
        if check_header(buffer, MAGIC, VERSION) != CONTENT:
            raise ProtocolError("The ring's slots are not where they should be.")
        slots, slot, self._payload_at, payload = _OWN.unpack_from(buffer, 24)
        if (slots, slot) != (SLOTS, SLOT_BYTES) or self._payload_at + payload != len(buffer) or payload % 8:
            raise ProtocolError("The ring's header says what cannot be.")
        self._buffer, self._words = buffer, words(buffer)
        self.seq, self.mask = seq, mask
        """The number up to which everything was read, skipped or lost."""
        self.lost = 0
        """Events missed since it was last set to 0; of every type, as nobody knows any more what they were."""

    @property
    def behind(self) -> int:
        """How many events are there that it has not come to."""
        return max(0, int(self._words[_HEAD]) - self.seq)

    def take(self) -> Event | None:
        """The next event of its types; None when there is none now.  ``lost`` belongs before what is returned."""
        looks = _LOOKS
        while (seq := self.seq + 1) <= self._words[_HEAD]:
            tail = self._words[_TAIL]
            if seq < tail:
                self._miss(tail - seq)
                continue
            word = _FIRST + 4 * (seq % SLOTS)
            before = self._words[word]
            kind, off, length, check, at = _REST.unpack_from(self._buffer, 8 * word + 8)
            wanted = self.mask >> (kind & 63) & 1
            begin = self._payload_at + off
            payload = bytes(self._buffer[begin : begin + length]) if wanted else b""
            if self._words[_TAIL] > seq:
                continue  # overwritten under our eyes
            whole = before == seq == self._words[word] and kind < 64
            if not whole or (wanted and zlib.crc32(payload, seq & 0xFFFFFFFF) != check):
                looks -= 1
                if not looks:
                    self._miss(1)
                    looks = _LOOKS
            elif not wanted:
                self.seq = seq
            elif not length:
                self._miss(1)
            else:
                self.seq = seq
                return Event(seq, kind, at, payload)
        return None

    def close(self) -> None:
        """Let go of the buffer."""
        self._words.release()

    def _miss(self, count: int) -> None:
        self.seq += count
        self.lost += count
