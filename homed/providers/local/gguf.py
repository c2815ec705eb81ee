"""Is it a GGUF file that can be used?  The header only: what is in it, llama.cpp finds out when it loads."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from homed.errors import InvalidInput

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Of the format; 1 was gone before anybody used it."""
_HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""

_HINT = "Give the path of a .gguf file that this user may read (one file, not split)."


def check(path: Path) -> None:
    """Raises InvalidInput, with the reason, for what cannot be a model's file.  Blocks for the disk."""
    if not path.is_absolute():
        raise InvalidInput(f"{path} is no absolute path.", hint=_HINT)
    try:
        # not blocking: what has that name may be a pipe
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(f"The model file {path} cannot be opened: {error.strerror}.", hint=_HINT) from None
    try:
        seen = os.fstat(fd)
        head = os.read(fd, _HEADER.size) if stat.S_ISREG(seen.st_mode) else b""
    except OSError as error:
        raise InvalidInput(f"The model file {path} cannot be read: {error.strerror}.", hint=_HINT) from None
    finally:
        os.close(fd)
    if not stat.S_ISREG(seen.st_mode):
        raise InvalidInput(f"{path} is not a file.", hint=_HINT)
    if head[:4] != MAGIC or len(head) < _HEADER.size:
        raise InvalidInput(f"{path} is not a GGUF file.", hint=_HINT)
    _, version, tensors, _ = _HEADER.unpack(head)
    if version not in VERSIONS or not tensors:
        raise InvalidInput(f"{path} is a GGUF file without a model, or of a format not known here.", hint=_HINT)
