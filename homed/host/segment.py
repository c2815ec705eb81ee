"""The stage segment: the contexts of the stages that run now, for the packaged plugins that handle them to read."""

from __future__ import annotations

import mmap
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager

import trio

from homed.errors import InvalidInput, Unavailable
from homed.host.allocate import Allocator, Block
from homed.host.arena import read_only, seal, shared_memory
from homed.wire.layout.segment import CONTENT, SIZE, SLOTS, Slots, encode_context, write_segment_header

PROVIDES = ("segment",)
NEEDS = ("settings",)


class Segment:
    """The one writer.  The memory is made when the first plugin is to read it, and goes with `close`."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._stack = ExitStack()
        self._memory: _Memory | None = None
        self._closed = False
        self._readers: set[str] = set()

    @property
    def fd(self) -> int:
        """A descriptor to read by, for a child.  Raises `Unavailable` when the system has no memory left."""
        return self._opened().fd

    def read_by(self, plugin: str, reads: bool) -> None:
        """Note that this plugin's process said it reads the segment, or is gone."""
        (self._readers.add if reads else self._readers.discard)(plugin)

    def reads(self, plugin: str) -> bool:
        """Whether this plugin finds its contexts here."""
        return plugin in self._readers

    @asynccontextmanager
    async def held(self, fields: Mapping[str, object], *, timeout: float) -> AsyncIterator[int]:
        """Write a context and keep it for the length of the block; the number to read it by.

        Waits up to ``timeout`` seconds for room, then raises `Unavailable`.  `InvalidInput`: it never fits, or is no
        JSON; nothing is ever cut.
        """
        memory, data = self._opened(), encode_context(fields)
        seq, block = await memory.put(data, timeout)
        try:
            yield seq
        finally:
            memory.take_away(seq, block)

    def close(self) -> None:
        """Give the memory back; the plugins that read it must be gone."""
        self._closed = True
        self._stack.close()
        self._memory = None

    def _opened(self) -> _Memory:
        if self._closed:
            raise Unavailable("The stage segment is closed.")
        if self._memory is None:
            with ExitStack() as stack:
                fd, mapping = stack.enter_context(shared_memory("segment", self.size))
                seal(fd, writable=False)
                # By this one nothing can be written whatever it is opened as again: that is what the seal is for.
                reading = read_only(fd)
                stack.callback(os.close, reading)
                memory = _Memory(reading, mapping)
                stack.callback(memory.release)
                self._memory, self._stack = memory, stack.pop_all()
        return self._memory


class _Memory:
    def __init__(self, fd: int, mapping: mmap.mmap) -> None:
        self.fd = fd
        self._view = memoryview(mapping)
        write_segment_header(self._view)
        self._slots = Slots(self._view)
        self._book = Allocator(CONTENT, len(mapping))
        self._seq = 0
        self._held = 0
        self._released = False
        self._freed = trio.Event()

    def release(self) -> None:
        self._released = True
        self._slots.release()
        self._view.release()

    async def put(self, data: bytes, timeout: float) -> tuple[int, Block]:
        if len(data) > self._book.capacity:
            raise InvalidInput(
                f"The context of this stage has {len(data)} bytes; {self._book.capacity} fit in the segment."
            )
        with trio.move_on_after(timeout):
            while self._held == SLOTS or (block := self._book.alloc(len(data), "stage")) is None:
                await self._freed.wait()
            self._view[block.off : block.off + len(data)] = data
            self._held += 1
            self._seq += 1
            while not self._slots.empty(self._seq):  # a turn from long ago still has this one's slot
                self._seq += 1
            self._slots.put(self._seq, block.off, len(data))
            return self._seq, block
        raise Unavailable(f"The stage segment had no room for {len(data)} bytes within {timeout:g} s.")

    def take_away(self, seq: int, block: Block) -> None:
        if self._released:  # a stage that was still on when everything ended
            return
        self._slots.clear(seq)
        self._book.free(block.off, "stage")
        self._held -= 1
        self._freed.set()
        self._freed = trio.Event()
