"""Reading on past what a failing disk no longer gives."""

from __future__ import annotations

import errno
import os

ERRNOS = frozenset({errno.EIO, errno.EBADMSG, errno.EUCLEAN})
"""What a read says when the bytes themselves are gone: a sector, or a file system's checksum that does not fit."""

BLOCK = 4096
"""What the kernel reads at least; a lost sector takes its whole block along."""


def read_at(fd: int, size: int, at: int) -> bytes | None:
    """Up to ``size`` bytes from offset ``at``; None where the disk has lost them.  Raises OSError for all else."""
    try:
        return os.pread(fd, size, at)
    except OSError as error:
        if error.errno not in ERRNOS:
            raise
        return None
