"""Which parts of an area are in use: first fit, neighbours merged, every block with its owner.  Pure.

The book stands in the kernel's own memory; what a plugin writes into the area cannot change it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from homed.errors import ProtocolError
from homed.wire.layout import PAGE


@dataclass(frozen=True, slots=True)
class Block:
    """``room`` bytes at ``off``, of which ``length`` were asked for."""

    off: int
    length: int
    room: int
    owner: str

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.off + self.room


class Allocator:
    """Hands out whole pages between ``start`` and ``end``."""

    def __init__(self, start: int, end: int) -> None:
        if start % PAGE or end % PAGE or not 0 <= start < end:
            raise ValueError("an area begins and ends at a page")
        self._start, self._end = start, end
        self._free: list[tuple[int, int]] = [(start, end - start)]
        self._used: dict[int, Block] = {}

    @property
    def capacity(self) -> int:
        """Bytes in all."""
        return self._end - self._start

    @property
    def in_use(self) -> int:
        """Bytes that blocks take."""
        return sum(block.room for block in self._used.values())

    def blocks(self) -> Iterator[Block]:
        """Every block in use, by offset."""
        return iter(sorted(self._used.values(), key=lambda block: block.off))

    def gaps(self) -> Iterator[tuple[int, int]]:
        """What is free, as (offset, bytes), by offset; never two side by side."""
        return iter(list(self._free))

    def alloc(self, length: int, owner: str) -> Block | None:
        """A block of ``length`` bytes; None when there is no room now."""
        if length < 1:
            raise ValueError("a block has at least one byte")
        room = -(-length // PAGE) * PAGE
        for at, (off, size) in enumerate(self._free):
            if size >= room:
                self._free[at : at + 1] = [(off + room, size - room)] if size > room else []
                block = self._used[off] = Block(off, length, room, owner)
                return block
        return None

    def find(self, off: int, owner: str) -> Block:
        """The block that begins at ``off``.  Raises `ProtocolError` when there is none, or it is another's."""
        block = self._used.get(off)
        if block is None or block.owner != owner:
            raise ProtocolError(f"There is no block of yours at {off}.")
        return block

    def free(self, off: int, owner: str) -> Block:
        """Give a block back; errors as `find`: a second time is one too."""
        block = self.find(off, owner)
        del self._used[off]
        self._put(block.off, block.room)
        return block

    def free_all(self, owner: str) -> int:
        """Give back all that ``owner`` has; how many."""
        mine = [block.off for block in self._used.values() if block.owner == owner]
        for off in mine:
            self.free(off, owner)
        return len(mine)

    def _put(self, off: int, size: int) -> None:
        at = bisect_left(self._free, (off, 0))
        if at < len(self._free) and self._free[at][0] == off + size:
            size += self._free.pop(at)[1]
        if at and sum(self._free[at - 1]) == off:
            off, before = self._free.pop(at - 1)
            at, size = at - 1, size + before
        self._free.insert(at, (off, size))
