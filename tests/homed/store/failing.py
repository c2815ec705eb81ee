"""A disk that has lost sectors: reads of chosen blocks of a file fail, those of SQLite itself too."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import apsw

BLOCK = 4096
_READ = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)


@contextmanager
def lost(path: Path, *blocks: int, number: int = errno.EIO) -> Iterator[None]:
    """Within the block every read of these 4096-byte blocks (from 1) of ``path`` fails with ``number``."""
    at_fault, sound = path.stat().st_ino, os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        hit = any((block - 1) * BLOCK < at + size and at < block * BLOCK for block in blocks)
        if hit and os.fstat(fd).st_ino == at_fault:
            raise OSError(number, os.strerror(number))
        return sound(fd, size, at)

    def for_sqlite(fd: int, into: int, size: int, at: int) -> int:
        try:
            data = pread(fd, size, at)
        except OSError as error:
            ctypes.set_errno(error.errno or 0)
            return -1
        ctypes.memmove(into, data, len(data))
        return len(data)

    called = _READ(for_sqlite)
    disk = apsw.VFS("failing", "unix")
    names = [name for name in ("pread", "pread64") if disk.xSetSystemCall(name, _address(called))]
    assert names
    try:
        with mock.patch.object(os, "pread", pread):
            yield
    finally:
        for name in names:
            disk.xSetSystemCall(name, 0)
        disk.unregister()


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
