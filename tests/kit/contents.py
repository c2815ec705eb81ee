"""What stands in the files of a folder that somebody works in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Each file below it with its bytes; no links, sockets or pipes.

    What goes in the meantime, file or folder, is left out: a daemon makes things under other names first.
    """
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in sorted(names)):
            with suppress(FileNotFoundError):
                if path.is_file() and not path.is_symlink():
                    yield path, path.read_bytes()
