"""Kept contents: compressed files named by the sha256 of what is in them, ``DATA/tracker/ab/abcd…``.

Folders are 0700, files 0600.  What is still being received is in ``incoming``.  A file that no row of ``tracker_blobs``
names is removed when it is tidied up; raises StorageError for what the disk refuses.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from homed.errors import InvalidInput, NotFound, StorageError
from homed.store.executors import Executor, ThreadExecutor

T = TypeVar("T")

LARGEST = 256 << 20
"""Bytes of one content: above the highest that core.tracker.max_file may be."""

_HASH = re.compile(r"[0-9a-f]{64}")
_SET = re.compile(r"[A-Za-z0-9_-]{1,64}")
_INCOMING = "incoming"
_OPENED = 2
"""Contents that are held unpacked while their pieces are fetched."""


class Blobs:
    """Reads and writes them, in threads.  Cancelled: what has begun is done to its end."""

    def __init__(self, root: Path, executor: Executor | None = None) -> None:
        self.root = root
        self._executor = executor or ThreadExecutor(1)
        self._unpacked: OrderedDict[str, bytes] = OrderedDict()

    async def receive(self, set_: str, hash_: str, data: bytes, at: int) -> None:
        """A piece of what a plugin hands over."""
        await self._do(lambda: self._receive(set_, hash_, data, at))

    async def close(self, set_: str, hash_: str) -> tuple[int, int]:
        """Keep what was received, on the disk when this returns: its bytes, and those on disk.

        InvalidInput when it is not what its name says; then it is gone.
        """
        return await self._do(lambda: self._close(set_, hash_))

    async def read(self, hash_: str) -> bytes:
        """A whole content, checked against its name; NotFound when it is missing or damaged."""
        return await self._do(lambda: self._read(hash_))

    async def tidy(self, wanted: Collection[str], sets: Collection[str]) -> int:
        """Remove every file but these, and what was being received for other sets than these; how many."""
        return await self._do(lambda: self._tidy(frozenset(wanted), frozenset(sets)))

    async def _do(self, work: Callable[[], T]) -> T:
        def run() -> T:
            try:
                return work()
            except OSError as error:
                raise StorageError(
                    f"What is kept of changed files cannot be used: {error.strerror}.",
                    hint=f"Look at the disk and at {self.root}.",
                ) from error

        return await self._executor.run(run)

    # -- in a thread -----------------------------------------------------------------------------------------------

    def _place(self, hash_: str) -> Path:
        if not _HASH.fullmatch(hash_):
            raise InvalidInput("No content is called that.")
        return self.root / hash_[:2] / hash_

    def _part(self, set_: str, hash_: str) -> Path:
        self._place(hash_)
        if not _SET.fullmatch(set_):
            raise InvalidInput("No change is called that.")
        return self.root / _INCOMING / f"{set_}.{hash_}"

    def _receive(self, set_: str, hash_: str, data: bytes, at: int) -> None:
        if at + len(data) > LARGEST:
            raise InvalidInput(f"A content has {LARGEST} bytes at the most.")
        part = self._part(set_, hash_)
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if at == 0:
                os.ftruncate(fd, 0)
            if os.fstat(fd).st_size != at:
                raise InvalidInput("The pieces of a content come in order.")
            os.pwrite(fd, data, at)
        finally:
            os.close(fd)

    def _close(self, set_: str, hash_: str) -> tuple[int, int]:
        part, place = self._part(set_, hash_), self._place(hash_)
        data = part.read_bytes()
        if hashlib.sha256(data).hexdigest() != hash_:
            part.unlink()
            raise InvalidInput("The content is not what its name says.")
        packed = zlib.compress(data, 6)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with part.open("r+b") as file:
            file.write(packed)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
        _sync(place.parent)
        return len(data), len(packed)

    def _read(self, hash_: str) -> bytes:
        if hash_ in self._unpacked:
            self._unpacked.move_to_end(hash_)
            return self._unpacked[hash_]
        try:
            fd = os.open(self._place(hash_), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                unpacker = zlib.decompressobj()
                data = unpacker.decompress(file.read(LARGEST), LARGEST)
            if hashlib.sha256(data).hexdigest() != hash_:
                raise zlib.error
        except (FileNotFoundError, zlib.error):
            raise NotFound("What was kept of this file is missing or damaged.") from None
        self._unpacked[hash_] = data
        while len(self._unpacked) > _OPENED:
            self._unpacked.popitem(last=False)
        return data

    def _tidy(self, wanted: frozenset[str], sets: frozenset[str]) -> int:
        self._unpacked.clear()
        removed = 0
        with suppress(FileNotFoundError):
            for folder in [path for path in self.root.iterdir() if path.is_dir() and path.name != _INCOMING]:
                for path in list(folder.iterdir()):
                    if path.name not in wanted:
                        path.unlink()
                        removed += 1
                with suppress(OSError):
                    folder.rmdir()  # only an empty one goes
            for path in list((self.root / _INCOMING).iterdir()):
                if path.name.partition(".")[0] not in sets:
                    path.unlink()
                    removed += 1
        return removed


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
