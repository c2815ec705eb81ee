"""A reader of an event ring, for tests of the kernel's end: reads what it was given, checks it, says what it saw.

``keep``: reads as it comes.  ``sleep``: only once a line comes in on stdin.  ``break``: tries everything to write.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress

import trio

from homed.sdk.ring import RingFds, RingReader, take_rings
from homed.wire.layout.ring import ALL


def say(value: object) -> None:
    """One line for the test."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def read(reader: RingReader) -> None:
    """Until the notice that says ``end``."""
    seen, lost, torn, last, over = 0, 0, 0, 0, False
    while not over:
        for item in reader.read():
            if isinstance(item, int):
                lost += item
                continue
            seen += 1
            over = item.type == "system"
            text = str(item.data.get("text", ""))
            torn += item.seq <= last or item.data.get("sum", zlib.crc32(text.encode())) != zlib.crc32(text.encode())
            last = item.seq
        if reader.seq == last or over:
            await trio.lowlevel.checkpoint()
        if not over and not reader.behind:
            await reader.news()
            reader.drain()
    say({"seen": seen, "lost": lost, "torn": torn, "last": last})


def attacks(fds: RingFds) -> dict[str, Callable[[], object]]:
    """What a hostile reader would try."""
    size, again = os.fstat(fds.memory).st_size, f"/proc/self/fd/{fds.memory}"
    opened = os.open(again, os.O_RDWR | os.O_CLOEXEC)

    def protect() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, opened, 0)
        if libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), mmap.PROT_READ | mmap.PROT_WRITE):
            raise OSError(ctypes.get_errno(), "mprotect")

    return {
        "write": lambda: os.pwrite(fds.memory, b"x" * 100, 0),
        "write again": lambda: os.pwrite(opened, b"x" * 100, 64),
        "map": lambda: mmap.mmap(fds.memory, size),
        "map again": lambda: mmap.mmap(opened, size),
        "protect": protect,
        "shrink": lambda: os.ftruncate(opened, 64),
        "grow": lambda: os.ftruncate(opened, size + 4096),
        "punch": lambda: fallocate(opened, 3, size),
        "unseal": lambda: fcntl.fcntl(opened, fcntl.F_ADD_SEALS, 0),
    }


def fallocate(fd: int, mode: int, size: int) -> None:
    """Python has no ``fallocate`` with a mode."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    if libc.fallocate(fd, mode, 0, size):
        raise OSError(ctypes.get_errno(), "fallocate")


def fill(wake: int) -> None:
    """Make the wake blocking and as full as it goes, so that whoever writes next waits."""
    fcntl.fcntl(wake, fcntl.F_SETFL, fcntl.fcntl(wake, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    with suppress(OSError):
        writing = os.open(f"/proc/self/fd/{wake}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)


def break_in(fds: RingFds) -> None:
    """Try it all; which of it worked is the answer."""
    worked = []
    for name, attack in attacks(fds).items():
        try:
            attack()
        except (OSError, ValueError):
            continue
        worked.append(name)
    fill(fds.wake)
    say(worked)
    sys.stdin.readline()


def main(ring: str, how: str, seq: int) -> None:
    """Begin, and say so."""
    fds = take_rings(os.environ)[ring]
    if how == "break":
        break_in(fds)
        return
    reader = RingReader(fds, seq, ALL)
    say("ready")
    if how == "sleep":
        sys.stdin.readline()
    trio.run(read, reader)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
