"""A name for what is in files, cheap enough for every start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from homed.retrieval.embed.encoders import Unfit

WHOLE = 4 << 20
"""Bytes up to which a file is read whole; of a larger one, its size and ``SAMPLES`` pieces of ``PIECE``."""
SAMPLES = 64
PIECE = 1 << 16


def fingerprint(kind: str, *words: str, files: Iterable[Path] = ()) -> str:
    """``KIND-`` and 24 hex digits that are others when a word or a file is another.

    Large files are sampled, head and tail among the samples: another training, quantisation or release of a model
    changes numbers everywhere in it, and reading a gigabyte at every start costs more than the rest of the start.
    Raises ``Unfit`` for a file that cannot be read.  Blocks for the disk.
    """
    digest = hashlib.sha256()
    for word in (kind, *words):
        digest.update(word.encode("utf-8", "surrogatepass") + b"\0")
    for path in files:
        _add(digest, path)
    return f"{kind}-{digest.hexdigest()[:24]}"


def _add(digest: hashlib._Hash, path: Path) -> None:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            digest.update(f"{path.name}\0{size}\0".encode("utf-8", "surrogatepass"))
            if size <= WHOLE:
                file.seek(0)
                digest.update(file.read())
                return
            for sample in range(SAMPLES):
                file.seek((size - PIECE) * sample // (SAMPLES - 1))
                digest.update(file.read(PIECE))
    except OSError as error:
        raise Unfit(f"{path} cannot be read: {error.strerror}") from None
