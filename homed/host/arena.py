"""One plugin's arena for one life: memory that this plugin and the kernel alone write."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

from homed.errors import InvalidInput, ProtocolError, Unavailable
from homed.host.allocate import Allocator, Block
from homed.wire.layout import PAGE, write_header
from homed.wire.layout.arena import CONTENT, MAGIC, SIZE, VERSION
from homed.wire.layout.values import Packed

KERNEL, PLUGIN = "kernel", "plugin"
"""Whose a block is: the kernel frees what it lent for one call, the plugin what it asked for or was given."""

WARM = 16 << 20
"""Bytes at the beginning whose pages are kept when a block is freed: made afresh they cost more than the copy."""

LARGE = 4 << 20
"""Bytes of an arena in use beyond which the values made of them leave the C library much that is free."""

F_SEAL_FUTURE_WRITE = 0x10
"""Nobody can write by a new mapping or descriptor; the mapping that is there still can.  Linux 5.1."""


@contextmanager
def shared_memory(name: str, size: int) -> Iterator[tuple[int, mmap.mmap]]:
    """A new memory file of ``size`` bytes and its one mapping, for the length of the block; not sealed yet.

    Raises `Unavailable` when the system has no memory or descriptors left.
    """
    try:
        fd = os.memfd_create(f"homed-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise _no_memory(error) from error
    try:
        try:
            os.ftruncate(fd, size)
            mapping = mmap.mmap(fd, size)
        except OSError as error:
            raise _no_memory(error) from error
        with mapping:
            yield fd, mapping
    finally:
        os.close(fd)


def seal(fd: int, *, writable: bool) -> None:
    """Fix the size for good; without ``writable`` only mappings that are there already can still change it."""
    seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals if writable else seals | F_SEAL_FUTURE_WRITE)
    except OSError as error:
        raise Unavailable(
            f"Shared memory cannot be sealed: {error.strerror}.", hint="homed needs Linux 5.1."
        ) from error


def read_only(fd: int) -> int:
    """A descriptor of the same memory by which nothing can be written; close it.  Raises `Unavailable`."""
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _no_memory(error) from error


def _no_memory(error: OSError) -> Unavailable:
    lacking = "file handles" if error.errno in (errno.EMFILE, errno.ENFILE) else "memory"
    return Unavailable(f"There is no shared memory to be had: {error.strerror}.", hint=f"The machine lacks {lacking}.")


def give_back() -> None:
    """Have the C library give the system what is free in it: after values of many MiB that may be 200 MB, for good.

    Takes some milliseconds, for which everything stands still.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's own; others keep less
        trim(0)


class Scratch:
    """Memory of the kernel's own that one value after another is copied to.

    Kept, for new pages cost ten times the copy: the system takes those of 8 MiB back whenever they are freed.
    """

    def __init__(self) -> None:
        self._memory = bytearray()
        self._quiet = True

    def take(self, length: int) -> memoryview:
        """This many bytes, whatever was in them."""
        self._quiet = False
        if length > WARM:
            return memoryview(bytearray(length))
        if length > len(self._memory):
            self._memory = bytearray(-(-length // PAGE) * PAGE)
        return memoryview(self._memory)[:length]

    def trim(self) -> None:
        """Give it back if nobody used it since the last time; called now and then."""
        quiet, self._quiet = self._quiet, True
        if quiet:
            self._memory = bytearray()


class Arena:
    """The kernel's end.  ``fd`` is what the plugin gets.  Made by `open_arena` only."""

    def __init__(self, fd: int, mapping: mmap.mmap) -> None:
        self.fd = fd
        self.size = len(mapping)
        self._mapping = mapping
        self._view = memoryview(mapping)
        self._book = Allocator(CONTENT, self.size)
        self._touched = CONTENT
        self._quiet, self._large = True, False
        write_header(self._view, MAGIC, VERSION, CONTENT)

    @property
    def in_use(self) -> int:
        """Bytes that blocks take."""
        return self._book.in_use

    def alloc(self, length: int, owner: str) -> Block | None:
        """A block; None when there is no room now.  `InvalidInput` when there never will be."""
        if not 0 < length <= self._book.capacity:
            raise InvalidInput(f"A value of {length} bytes is not for the arena, which holds {self._book.capacity}.")
        block = self._book.alloc(length, owner)
        if block is not None:
            self._touched = max(self._touched, block.end)
            self._quiet, self._large = False, self._large or block.end > LARGE
        return block

    def write(self, block: Block, content: Packed) -> None:
        """Fill a block of the kernel's."""
        content.write(self._view, block.off)

    def copy(self, off: int, length: int, scratch: Scratch) -> memoryview:
        """The bytes of a block of the plugin's, which it may be changing this very moment: parse only this copy, which
        is good until the next one.

        Raises `ProtocolError` for a block that is not its own, or is shorter.
        """
        self.check(off, length)
        copy = scratch.take(length)
        copy[:] = self._view[off : off + length]
        return copy

    def check(self, off: int, length: int) -> None:
        """Raise `ProtocolError` unless the plugin has a block at ``off`` with that many bytes."""
        block = self._book.find(off, PLUGIN)
        if length > block.length:
            raise ProtocolError(f"The block at {off} has {block.length} bytes, not {length}.")

    def free(self, off: int, owner: str) -> None:
        """Give a block back.  Raises `ProtocolError` for one that is not the owner's."""
        block = self._book.free(off, owner)
        if block.end > WARM:
            self._punch(block.off, block.end)

    def trim(self) -> bool:
        """Give the system what nothing was written to since the last time; called now and then.

        True once after large values: what was made of them is worth a `give_back`.
        """
        quiet, self._quiet = self._quiet, True
        if not quiet or self._touched == CONTENT:
            return False
        for off, size in self._book.gaps():
            if off < self._touched:
                self._punch(off, min(off + size, self._touched))
        self._touched = max((block.end for block in self._book.blocks()), default=CONTENT)
        large, self._large = self._large, False
        return large

    def _punch(self, off: int, end: int) -> None:
        self._mapping.madvise(mmap.MADV_REMOVE, off, -(-(end - off) // PAGE) * PAGE)

    def close(self) -> None:
        """Let go of the mapping; nothing can be copied from here on."""
        self._view.release()


@contextmanager
def open_arena(name: str, size: int = SIZE) -> Iterator[Arena]:
    """An arena for one life of the plugin ``name``.  Afterwards, all of it is gone, whatever was in use."""
    with shared_memory(f"arena-{name}", size) as (fd, mapping):
        arena = Arena(fd, mapping)
        seal(fd, writable=True)
        try:
            yield arena
        finally:
            arena.close()
