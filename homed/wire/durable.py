"""Files that are whole or not there, also after a power cut.  Everything here blocks: run it in a thread."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file by ``text``, readable by its owner alone.

    After a power cut it holds what it held before or the new text.  Raises `OSError`; the old file is left then, and
    nothing beside it.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "x", encoding="utf-8", opener=_private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_file(file: Path | str) -> None:
    """Put a file's bytes on the disk."""
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: Path | str) -> None:
    """Put the names in a folder on the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
