"""Rows straight from the pages of a SQLite file, for when its trees can no longer be followed.

Source: https://www.sqlite.org/fileformat2.html.  Everything read here is suspect: a page, cell or record that makes no
sense, or that the disk has lost, is left out, never guessed at.  Reads only; nobody may write to the file meanwhile.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from homed.store.rows import SqlValue
from homed.store.unreadable import read_at

INTERIOR, LEAF = 0x05, 0x0D
INDEX_INTERIOR, INDEX_LEAF = 0x02, 0x0A
DEFAULT_SIZE = 4096
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Serial type → bytes of a two's-complement integer."""
_WAL_HEADER, _FRAME_HEADER = 32, 24


class Nonsense(Exception):
    """These bytes are not what they should be."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One record of a table; ``values`` in the order of its columns, later ones perhaps not stored.

    ``rowid`` is 0 where there are none.
    """

    rowid: int
    values: tuple[SqlValue, ...]


class Pages:
    """The pages as last committed: the file, and over it the valid part of its write-ahead log."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        head = read_at(self._file, 100, 0) or b""
        self.size = _page_size(head)
        self.usable = self.size - (head[20] if _sound(head) else 0)
        log = path.with_name(path.name + "-wal")
        self._log = os.open(log, os.O_RDONLY | os.O_CLOEXEC) if log.exists() else -1
        self._newer = _frames(self._log, self.size) if self._log >= 0 else {}
        self.count = max([os.fstat(self._file).st_size // self.size, *self._newer])

    def close(self) -> None:
        """Let the files go."""
        os.close(self._file)
        if self._log >= 0:
            os.close(self._log)

    def page(self, number: int) -> bytes:
        """One page, numbered from 1.  Raises ``Nonsense`` if there is none or the disk has lost it."""
        if not 1 <= number <= self.count:
            raise Nonsense(f"page {number}")
        if number in self._newer:
            data = read_at(self._log, self.size, self._newer[number])
        else:
            data = read_at(self._file, self.size, (number - 1) * self.size)
        if data is None or len(data) < self.size:
            raise Nonsense(f"page {number}")
        return data

    def tree(self, root: int) -> tuple[set[int], list[int]]:
        """``(all pages, leaves in order)`` of the table tree at ``root``, as far as it can be followed."""
        seen: set[int] = set()
        leaves: list[int] = []
        todo = [root]
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            try:
                page = self.page(number)
                kind = page[_start(number)]
                if kind == LEAF:
                    leaves.append(number)
                elif kind == INTERIOR:
                    todo.extend(reversed(_children(page, _start(number))))
                else:
                    continue
            except (Nonsense, struct.error, IndexError):
                continue
            seen.add(number)
        return seen, leaves

    def leaves(self) -> Iterator[int]:
        """Every page that looks like a leaf of a table."""
        for number in range(1, self.count + 1):
            try:
                if self.page(number)[_start(number)] == LEAF:
                    yield number
            except Nonsense:
                continue

    def rows(self, number: int) -> Iterator[StoredRow]:
        """The rows on a leaf, without those that make no sense."""
        try:
            page, start = self.page(number), _start(number)
            (cells,) = struct.unpack_from(">H", page, start + 3)
            places = struct.unpack_from(f">{cells}H", page, start + 8)
        except (Nonsense, struct.error):
            return
        for place in places:
            try:
                length, at = _varint(page, place)
                rowid, at = _varint(page, at)
                yield StoredRow(_signed(rowid), _record(self._payload(page, at, length, self.usable - 35)))
            except (Nonsense, struct.error, IndexError):
                continue

    def entries(self) -> Iterator[StoredRow]:
        """Every record on a page that looks like one of an index; a table without rowids is such a tree itself."""
        most = (self.usable - 12) * 64 // 255 - 23
        for number in range(2, self.count + 1):
            try:
                page = self.page(number)
                kind = page[0]
                if kind not in (INDEX_INTERIOR, INDEX_LEAF):
                    continue
                (cells,) = struct.unpack_from(">H", page, 3)
                inner = kind == INDEX_INTERIOR
                places = struct.unpack_from(f">{cells}H", page, 12 if inner else 8)
            except (Nonsense, struct.error):
                continue
            for place in places:
                try:
                    length, at = _varint(page, place + (4 if inner else 0))
                    yield StoredRow(0, _record(self._payload(page, at, length, most)))
                except (Nonsense, struct.error, IndexError):
                    continue

    def _payload(self, page: bytes, at: int, length: int, most: int) -> bytes:
        if length > self.count * self.size:
            raise Nonsense("length")
        if length <= most:
            return _slice(page, at, length)
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (self.usable - 4)
        local = local if local <= most else least
        parts, left = [_slice(page, at, local)], length - local
        (follow,) = struct.unpack_from(">I", page, at + local)
        while left > 0:
            more = self.page(follow)
            (follow,) = struct.unpack_from(">I", more)
            take = min(left, self.usable - 4)
            parts.append(_slice(more, 4, take))
            left -= take
        return b"".join(parts)


def _sound(head: bytes) -> bool:
    return len(head) == 100 and head.startswith(b"SQLite format 3\x00")


def _page_size(head: bytes) -> int:
    if not _sound(head):
        return DEFAULT_SIZE
    (size,) = struct.unpack_from(">H", head, 16)
    size = 65536 if size == 1 else size
    return size if size in {2**n for n in range(9, 17)} else DEFAULT_SIZE


def _start(number: int) -> int:
    """The first page begins with the file's header."""
    return 100 if number == 1 else 0


def _children(page: bytes, start: int) -> list[int]:
    cells, right = struct.unpack_from(">H", page, start + 3)[0], struct.unpack_from(">I", page, start + 8)[0]
    places = struct.unpack_from(f">{cells}H", page, start + 12)
    return [*(struct.unpack_from(">I", page, place)[0] for place in places), right]


def _slice(data: bytes, at: int, length: int) -> bytes:
    piece = data[at : at + length]
    if len(piece) != length:
        raise Nonsense("short")
    return piece


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """``(value, place behind it)`` of a number in 1–9 bytes, unsigned."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _record(payload: bytes) -> tuple[SqlValue, ...]:
    end, at = _varint(payload, 0)
    if not at <= end <= len(payload):
        raise Nonsense("header")
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values, place = [], end
    for kind in kinds:
        value, place = _value(payload, place, kind)
        values.append(value)
    if at != end or place != len(payload):
        raise Nonsense("record")
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[SqlValue, int]:
    if kind == 0:
        return None, at
    if kind in _INTEGERS:
        size = _INTEGERS[kind]
        return int.from_bytes(_slice(payload, at, size), "big", signed=True), at + size
    if kind == 7:
        return float(struct.unpack_from(">d", payload, at)[0]), at + 8
    if kind in (8, 9):
        return kind - 8, at
    if kind < 12:
        raise Nonsense("reserved")
    size = (kind - 12) // 2
    piece = _slice(payload, at, size)
    return (piece.decode("utf-8", "replace") if kind % 2 else piece), at + size


def _frames(log: int, size: int) -> dict[int, int]:
    """Page → where its newest committed copy lies in the log; up to the first frame that is lost or not sound."""
    head = read_at(log, _WAL_HEADER, 0) or b""
    if len(head) < _WAL_HEADER:
        return {}
    magic, _, page_size, _, *salts = struct.unpack_from(">6I", head)
    order = {0x377F0682: "<", 0x377F0683: ">"}.get(magic)
    if order is None or page_size != size:
        return {}
    total = _checksum(head[:24], order, (0, 0))
    if total != struct.unpack_from(">2I", head, 24):
        return {}
    committed: dict[int, int] = {}
    waiting: dict[int, int] = {}
    at = _WAL_HEADER
    while len(frame := read_at(log, _FRAME_HEADER + size, at) or b"") == _FRAME_HEADER + size:
        number, ends, *found = struct.unpack_from(">4I", frame)
        total = _checksum(frame[_FRAME_HEADER:], order, _checksum(frame[:8], order, total))
        if found != salts or total != struct.unpack_from(">2I", frame, 16):
            break
        waiting[number] = at + _FRAME_HEADER
        if ends:  # the frame ends a transaction
            committed.update(waiting)
            waiting = {}
        at += _FRAME_HEADER + size
    return committed


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
