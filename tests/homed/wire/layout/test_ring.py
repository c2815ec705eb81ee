"""The ring on plain memory: whole events, exact losses, wrapping, and a machine of readers that do as they like."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from homed.errors import ProtocolError
from homed.events import TYPES
from homed.wire.layout.ring import ALL, CONTENT, NAMES, NUMBERS, SLOT_BYTES, SLOTS, Cursor, Event, Writer, mask_of, size

TURN, DELTA = NUMBERS["turn"], NUMBERS["content_delta"]
PAYLOAD = 4096


def ring(payload: int = PAYLOAD) -> tuple[Writer, memoryview]:
    buffer = memoryview(bytearray(size(payload)))
    return Writer(buffer), buffer


def drain(cursor: Cursor) -> list[Event]:
    events = []
    while (event := cursor.take()) is not None:
        events.append(event)
    return events


def test_what_was_written_is_read_once_and_in_order() -> None:
    writer, buffer = ring()
    cursor = Cursor(buffer, 0)
    assert cursor.take() is None
    writer.write(1, TURN, 1.5, b"one")
    writer.write(2, DELTA, 2.5, b"two")
    assert cursor.behind == 2
    assert drain(cursor) == [Event(1, TURN, 1.5, b"one"), Event(2, DELTA, 2.5, b"two")]
    assert (cursor.seq, cursor.lost, cursor.behind, cursor.take()) == (2, 0, 0, None)


def test_the_bytes_are_where_the_documentation_says() -> None:
    writer, buffer = ring()
    writer.write(1, TURN, 1.0, b"first")
    writer.write(2, DELTA, 2.0, b"{}")
    assert bytes(buffer[:8]) == b"HOMEDRNG"
    assert struct.unpack_from("<IIQ", buffer, 8) == (1, 128, len(buffer))
    assert struct.unpack_from("<IIQQ", buffer, 24) == (8192, 32, 128 + 8192 * 32, PAYLOAD)
    assert struct.unpack_from("<QQ", buffer, 64) == (2, 1)
    seq, kind, off, length, check, at = struct.unpack_from("<QIIIId", buffer, 128 + 2 * 32)
    assert (seq, kind, off, length, at) == (2, DELTA, 5, 2, 2.0)
    assert bytes(buffer[128 + 8192 * 32 + off :][:length]) == b"{}"
    assert check == zlib.crc32(b"{}", 2)


def test_type_numbers_never_change_and_every_notice_has_one() -> None:
    assert NUMBERS.keys() >= TYPES
    assert len(NAMES) == len(NUMBERS)
    assert max(NAMES) < 31, "the mask has 31 bits, so that a signed one holds it"
    assert (NUMBERS["raw_input"], NUMBERS["agent_llm_chain"], NUMBERS["skill_detected"]) == (1, 9, 19)


def test_slots_wrap_and_a_sleeper_knows_how_many_it_lost() -> None:
    writer, buffer = ring(1 << 20)
    sleeper = Cursor(buffer, 0)
    for seq in range(1, 3 * SLOTS + 8):
        writer.write(seq, TURN, 0.0, b"x")
    events = drain(sleeper)
    assert [events[0].seq, events[-1].seq, len(events)] == [2 * SLOTS + 8, 3 * SLOTS + 7, SLOTS]
    assert sleeper.lost == 2 * SLOTS + 7
    assert struct.unpack_from("<QQ", buffer, 64) == (3 * SLOTS + 7, 2 * SLOTS + 8)


def test_payloads_wrap_in_one_piece_and_push_out_only_what_they_overwrite() -> None:
    writer, buffer = ring(4096)
    keeping_up, sleeper = Cursor(buffer, 0), Cursor(buffer, 0)
    for seq in range(1, 1001):
        payload = bytes([seq % 251]) * (seq % 1000 + 1)
        writer.write(seq, TURN, 0.0, payload)
        assert keeping_up.take() == Event(seq, TURN, 0.0, payload)
    kept = drain(sleeper)
    assert keeping_up.lost == 0
    assert sleeper.lost + len(kept) == 1000
    assert [one.payload for one in kept] == [bytes([one.seq % 251]) * (one.seq % 1000 + 1) for one in kept]
    assert len(kept) >= 3, "at least three quarters of the area hold whole payloads"
    (tail,) = struct.unpack_from("<Q", buffer, 72)
    assert [one.seq for one in kept] == list(range(tail, 1001)), "the tail says it, not the checksum"


def test_a_huge_payload_is_announced_without_and_pushes_out_nobody() -> None:
    writer, buffer = ring(4096)
    cursor = Cursor(buffer, 0)
    writer.write(1, TURN, 0.0, b"before")
    writer.write(2, TURN, 0.0, b"x" * (writer.largest + 1))
    writer.write(3, TURN, 0.0, b"y" * writer.largest)
    assert cursor.take() == Event(1, TURN, 0.0, b"before")
    assert cursor.lost == 0
    assert cursor.take() == Event(3, TURN, 0.0, b"y" * 1024)
    assert cursor.lost == 1
    writer.write(4, TURN, 0.0, b"")
    assert cursor.take() is None
    assert (cursor.lost, cursor.seq) == (2, 4), "it knows how far it came though nothing followed"


def test_a_mask_leaves_out_types_and_counts_them_as_nothing() -> None:
    writer, buffer = ring()
    cursor = Cursor(buffer, 0, mask_of(frozenset({"turn"})))
    for seq in range(1, 11):
        writer.write(seq, TURN if seq % 5 == 0 else DELTA, 0.0, b"" if seq == 1 else b"p")
    assert [one.seq for one in drain(cursor)] == [5, 10]
    assert cursor.lost == 0
    assert mask_of(None) == ALL


def test_after_a_time_without_readers_the_ring_begins_anew() -> None:
    writer, buffer = ring()
    writer.write(1, TURN, 0.0, b"old")
    cursor = Cursor(buffer, 40)
    writer.write(41, TURN, 0.0, b"new")
    assert [one.payload for one in drain(cursor)] == [b"new"]
    assert cursor.lost == 0
    late = Cursor(buffer, 0)
    assert [one.seq for one in drain(late)] == [41]
    assert late.lost == 40


@pytest.mark.parametrize("checked", [True, False])
def test_an_event_overwritten_while_it_is_read_is_lost_and_never_torn(
    checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer strikes in the middle of `take`, at every place where memory is read; the marks alone show it."""
    if not checked:
        monkeypatch.setattr(zlib, "crc32", lambda *_: 7)

    for strike in range(1, 12):
        writer, buffer = ring(4096)
        writer.write(1, TURN, 1.0, b"a" * 900)
        cursor = Cursor(buffer, 0)
        words = Striking(
            cursor._words, strike, lambda w=writer: [w.write(s, TURN, 1.0, b"b" * 900) for s in range(2, 9)]
        )
        cursor._words = words  # type: ignore[assignment]
        events = drain(cursor)
        assert [one.payload for one in events] == [(b"a" if one.seq == 1 else b"b") * 900 for one in events]
        assert cursor.lost + len(events) == (8 if words.struck else 1)


class Striking:
    """The words of a ring; before the n-th look the writer gets its turn."""

    def __init__(self, words: memoryview, strike: int, blow: object) -> None:
        self._words, self._left, self._blow = words, strike, blow
        self.struck = False

    def __getitem__(self, index: int) -> int:
        self._left -= 1
        if self._left == 0:
            self.struck = True
            self._blow()  # type: ignore[operator]
        return int(self._words[index])


def test_bytes_that_do_not_match_their_checksum_are_never_handed_out() -> None:
    writer, buffer = ring()
    writer.write(1, TURN, 0.0, b"good")
    writer.write(2, TURN, 0.0, b"good")
    buffer[CONTENT + SLOTS * SLOT_BYTES] ^= 1
    cursor = Cursor(buffer, 0)
    assert [one.seq for one in drain(cursor)] == [2]
    assert cursor.lost == 1


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, b"HOMEDARN"), (8, b"\2\0\0\0"), (12, b"\0\1\0\0"), (16, b"\0" * 8), (24, b"\1\0\0\0"), (40, b"\7" * 8)],
)
def test_what_is_no_ring_is_refused(at: int, value: bytes) -> None:
    _, buffer = ring()
    buffer[at : at + len(value)] = value
    with pytest.raises(ProtocolError):
        Cursor(buffer, 0)


def test_an_area_too_short_for_anything_is_refused() -> None:
    with pytest.raises(ProtocolError):
        Cursor(memoryview(bytearray(32)), 0)


@pytest.mark.parametrize("payload", [0, -8, 7, 1 << 32])
def test_a_payload_area_has_a_size_that_offsets_can_name(payload: int) -> None:
    with pytest.raises(ValueError, match="payload"):
        size(payload)


class Readers(RuleBasedStateMachine):
    """One writer and several readers, against a plain dict of what was written and the tail that the ring claims."""

    readers = Bundle("readers")

    @initialize()
    def begin(self) -> None:
        self.writer, self.buffer = ring(8192)
        self.head = 0
        self.written: dict[int, tuple[int, bytes]] = {}

    @property
    def tail(self) -> int:
        return int(struct.unpack_from("<Q", self.buffer, 72)[0])

    def post(self, kind: int, payload: bytes) -> None:
        self.head += 1
        self.writer.write(self.head, kind, 0.0, payload)
        self.written[self.head] = (kind, payload if len(payload) <= 2048 else b"")

    @rule(kind=st.sampled_from([TURN, DELTA]), length=st.integers(0, 2100), fill=st.integers(0, 255))
    def write(self, kind: int, length: int, fill: int) -> None:
        self.post(kind, bytes([fill]) * length)

    @rule(count=st.sampled_from([3, 100, 400]))
    def stream(self, count: int) -> None:
        for n in range(count):
            self.post(DELTA if n % 3 else TURN, str(n).encode() * 3)

    @rule()
    def wrap_all_slots(self) -> None:
        for n in range(SLOTS + 3):
            self.post(DELTA, b"" if n % 8 else b"z")

    @rule(gap=st.integers(1, 10))
    def nobody_reads(self, gap: int) -> None:
        """The kernel wrote nothing for a while; whoever read before that has lost it all."""
        self.head += gap
        self.post(TURN, b"again")

    @rule(target=readers, mask=st.sampled_from([ALL, mask_of(frozenset({"turn"}))]))
    def join(self, mask: int) -> Cursor:
        return Cursor(self.buffer, self.head, mask)

    @rule(cursor=readers, limit=st.integers(1, 50))
    def read_some(self, cursor: Cursor, limit: int) -> None:
        for _ in range(limit):
            self.step(cursor)

    @rule(cursor=readers)
    def read_all(self, cursor: Cursor) -> None:
        while self.step(cursor):
            pass
        assert cursor.seq == self.head

    @rule(cursor=consumes(readers))
    def die(self, cursor: Cursor) -> None:
        cursor.close()

    def step(self, cursor: Cursor) -> bool:
        """One event, which must be the right one, after exactly so many lost."""
        expected, lost, seq = self.expect(cursor)
        cursor.lost = 0
        event = cursor.take()
        assert (event and (event.seq, event.type, event.payload), cursor.lost, cursor.seq) == (expected, lost, seq)
        return event is not None

    def expect(self, cursor: Cursor) -> tuple[tuple[int, int, bytes] | None, int, int]:
        lost = max(0, self.tail - 1 - cursor.seq)
        for seq in range(cursor.seq + lost + 1, self.head + 1):
            kind, payload = self.written[seq]
            if cursor.mask >> kind & 1:
                if payload:
                    return (seq, kind, payload), lost, seq
                lost += 1
        return None, lost, max(self.head, cursor.seq)

    @invariant()
    def the_ring_keeps_all_it_has_room_for(self) -> None:
        if not hasattr(self, "buffer"):
            return
        tail = self.tail
        assert 1 <= tail <= self.head + 1
        for seq in [seq for seq in self.written if seq < tail]:
            del self.written[seq]
        assert all(seq in self.written for seq in range(tail, self.head + 1))
        if tail > 1 and len(self.written) < SLOTS - 1 and not self.began_anew():
            held = sum(len(payload) for _, payload in self.written.values())
            assert held > 8192 - 2 * 2048, "no more is given up than the next payload and the rest at the end need"

    def began_anew(self) -> bool:
        """Whether the oldest is what came after a time without readers."""
        return self.written.get(self.tail, (0, b""))[1] == b"again"


TestReaders = Readers.TestCase
TestReaders.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
