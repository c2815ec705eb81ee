"""One daemon a data folder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, StorageError
from homed.paths import Paths

_RETRIES = (0.02, 0.05, 0.1)
"""Seconds: `homed status` and the like hold the lock for a moment to see whether a daemon does."""


@contextmanager
def data_lock(paths: Paths, *, wall: WallClock = system_wall_clock) -> Iterator[None]:
    """Hold the data folder for the length of the block.

    The lock is the system's (``flock``), so it ends with the process however that ends: what a killed daemon wrote into
    the file is only read to name the holder, and neither an old pid nor its reuse by another program keeps anybody out.
    Raises ``Conflict`` naming the holder, ``StorageError`` when the folder cannot be locked at all.
    """
    try:
        fd = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unlockable(paths, error) from error
    try:
        _acquire(paths, fd)
        _sign(paths, fd, wall())
        yield
        os.ftruncate(fd, 0)
    finally:
        os.close(fd)  # the file stays: removing it would let two daemons lock two files of one name


def _acquire(paths: Paths, fd: int) -> None:
    for wait in (*_RETRIES, None):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if wait is None:
                raise _held(paths, fd) from None
            time.sleep(wait)
        except OSError as error:
            raise _unlockable(paths, error) from error
    return None


def _sign(paths: Paths, fd: int, at: float) -> None:
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps({"pid": os.getpid(), "started": at}).encode(), 0)
    except OSError as error:
        raise _unlockable(paths, error) from error


def _held(paths: Paths, fd: int) -> Conflict:
    pid, since = holder(os.pread(fd, 1000, 0))
    who = f"pid {pid}, since {since}" if pid else "it did not say which"
    return Conflict(
        f"Another homed is already using {paths.data} ({who}).",
        hint=f"Stop it first{f' (kill {pid})' if pid else ''}, or choose another folder with --data DIR.",
        detail={"pid": pid},
    )


def holder(content: bytes) -> tuple[int, str]:
    """The pid and local start time in a lock file; ``(0, "")`` when it says nothing sensible."""
    try:
        entry = json.loads(content)
        started = datetime.fromtimestamp(float(entry["started"]), UTC).astimezone()
        return int(entry["pid"]), started.isoformat(" ", "seconds")
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return 0, ""


def _unlockable(paths: Paths, error: OSError) -> StorageError:
    hint = "Give this user write access to it; a network disk may have no locks: choose a local one with --data DIR."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "Free some disk space and start again, or choose another disk with --data DIR."
    return StorageError(f"The data folder {paths.data} cannot be locked: {error.strerror}.", hint=hint)
