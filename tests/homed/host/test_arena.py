"""The kernel's end of an arena: what it hands out, copies, refuses and gives back to the system."""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path

import pytest

from homed.errors import InvalidInput, ProtocolError
from homed.host.arena import KERNEL, PLUGIN, WARM, Arena, Scratch, open_arena
from homed.wire.layout import PAGE, check_header
from homed.wire.layout.arena import CONTENT, MAGIC, SIZE, VERSION
from homed.wire.layout.values import Packed, pack

MEGABYTE = 1 << 20


def filled(arena: Arena, size: int, owner: str = PLUGIN, byte: bytes = b"x") -> int:
    block = arena.alloc(size, owner)
    assert block is not None
    arena.write(block, Packed("bytes", size, (byte * size,)))
    return block.off


def used_pages(arena: Arena) -> int:
    """Bytes of memory that the file takes."""
    return os.fstat(arena.fd).st_blocks * 512


def test_an_arena_has_its_header_and_takes_only_what_is_used() -> None:
    with open_arena("mule") as arena:
        assert os.fstat(arena.fd).st_size == SIZE
        assert check_header(os.pread(arena.fd, SIZE, 0), MAGIC, VERSION) == CONTENT
        assert used_pages(arena) <= 2 * PAGE
        assert "homed-arena-mule" in os.readlink(f"/proc/self/fd/{arena.fd}")


def test_its_size_can_be_changed_by_nobody_and_no_seal_added() -> None:
    with open_arena("mule") as arena:
        for size in (0, SIZE - 1, SIZE + 1):
            with pytest.raises(PermissionError):
                os.ftruncate(arena.fd, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(arena.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def test_only_a_block_of_the_plugins_is_copied_and_no_more_of_it_than_it_has() -> None:
    with open_arena("mule") as arena:
        off, scratch = filled(arena, 100), Scratch()
        lent = filled(arena, 100, KERNEL)
        assert bytes(arena.copy(off, 100, scratch)) == b"x" * 100
        assert bytes(arena.copy(off, 0, scratch)) == b""
        for wrong, length in ((off, 101), (off, PAGE), (off + 1, 1), (lent, 1), (0, 1), (SIZE, 1), (-1, 1)):
            with pytest.raises(ProtocolError):
                arena.copy(wrong, length, scratch)


def test_a_copy_stays_what_it_is_whatever_the_plugin_writes_then() -> None:
    with open_arena("mule") as arena:
        off = filled(arena, 100)
        copy = arena.copy(off, 100, Scratch())
        with mmap.mmap(arena.fd, SIZE) as theirs:
            theirs[off : off + 100] = b"y" * 100
        assert bytes(copy) == b"x" * 100


def test_too_much_is_refused_for_good_and_no_room_for_now() -> None:
    with open_arena("mule", 16 * PAGE) as arena:
        for never in (0, -1, 15 * PAGE + 1, 1 << 40):
            with pytest.raises(InvalidInput):
                arena.alloc(never, PLUGIN)
        all_of_it = arena.alloc(15 * PAGE, PLUGIN)
        assert all_of_it is not None
        assert arena.alloc(1, PLUGIN) is None
        arena.free(all_of_it.off, PLUGIN)
        assert arena.alloc(1, PLUGIN) is not None


def test_freed_memory_goes_back_to_the_system_at_once_beyond_the_warm_part_and_later_within() -> None:
    with open_arena("mule") as arena:
        near = filled(arena, 8 * MEGABYTE)
        far = filled(arena, 16 * MEGABYTE)
        assert used_pages(arena) >= 24 * MEGABYTE
        arena.free(far, PLUGIN)
        assert used_pages(arena) <= 8 * MEGABYTE + WARM
        arena.free(near, PLUGIN)
        assert used_pages(arena) >= 8 * MEGABYTE, "warm: the next one finds its pages"
        arena.trim()
        assert used_pages(arena) >= 8 * MEGABYTE, "it was used since the last time"
        held = filled(arena, PAGE, byte=b"k")
        arena.trim()
        arena.trim()
        assert used_pages(arena) <= 4 * PAGE
        assert bytes(arena.copy(held, 1, Scratch())) == b"k"


def test_large_values_are_told_of_once_when_all_is_quiet() -> None:
    with open_arena("mule") as arena:
        kept = arena.alloc(8 * MEGABYTE, PLUGIN)
        assert kept is not None
        assert [arena.trim() for _ in range(4)] == [False, True, False, False], "though the block is still held"
        arena.free(kept.off, PLUGIN)
        small = arena.alloc(MEGABYTE, PLUGIN)
        assert small is not None
        assert [arena.trim() for _ in range(3)] == [False, False, False]


def test_scratch_memory_is_kept_while_it_is_used() -> None:
    scratch = Scratch()
    first = scratch.take(8 * MEGABYTE)
    assert scratch.take(10).obj is first.obj
    assert len(scratch.take(WARM + 1)) == WARM + 1
    scratch.trim()
    assert scratch.take(10).obj is first.obj
    scratch.trim()
    scratch.trim()
    assert scratch.take(10).obj is not first.obj


def test_nothing_is_left_of_an_arena() -> None:
    fds, maps = set(os.listdir("/proc/self/fd")), Path("/proc/self/maps").read_text().count("homed-arena")
    with open_arena("mule") as arena:
        packed = pack("é" * 100_000)
        assert packed is not None
        block = arena.alloc(packed.length, KERNEL)
        assert block is not None
        arena.write(block, packed)
        assert Path("/proc/self/maps").read_text().count("homed-arena") == maps + 1
    assert set(os.listdir("/proc/self/fd")) == fds
    assert Path("/proc/self/maps").read_text().count("homed-arena") == maps
