"""The bytes of attachments: files named by the sha256 of what is in them, beside the database.

``DATA/media/ab/abcd…`` is complete and never changes; ``DATA/media/incoming`` holds what is still being received, which
a start throws away.  ``DATA/media/small-ab/abcd…`` is a small picture of the file of that name, made again at will, and
goes with it.  Folders are 0700, files 0600.  No link below ``DATA/media`` is ever followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from homed.errors import NotFound, StorageError
from homed.store.executors import Executor, ThreadExecutor

T = TypeVar("T")

THREADS = 2
"""Files worked on at once: a prompt's pictures and an upload; the disk is one."""

LARGEST = 64 * 1024 * 1024
"""Bytes read as a whole at the most: no file of ours is larger, so one that is was put there by somebody else."""

SMALL = 1024 * 1024
"""Bytes of a small picture at the most."""

_INCOMING = "incoming"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK: a FIFO put there must not hold us
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_HASH = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")


class MediaFiles:
    """Reads and writes them, in threads.  Raises StorageError for what the disk refuses.

    Cancelled: what has begun is done to its end.
    """

    def __init__(self, root: Path, executor: Executor | None = None) -> None:
        self.root = root
        self._executor = executor or ThreadExecutor(THREADS)

    async def prepare(self) -> None:
        """Make the folders, and throw away what an earlier run was still receiving."""
        await self._do(self._prepare)

    async def write_part(self, part: str, data: bytes, at: int) -> None:
        """Put bytes into the incoming file ``part``, from place ``at``."""
        await self._do(lambda: self._write_part(part, data, at))

    async def drop_part(self, part: str) -> None:
        """Forget an incoming file; one that is not there is no error."""
        await self._do(lambda: self._drop_part(part))

    async def read_part(self, part: str, length: int) -> bytes:
        """The first ``length`` bytes of an incoming file."""
        return await self._do(lambda: self._read_part(part, length))

    async def keep(self, part: str, hash_: str) -> None:
        """Make an incoming file the one of this hash, on the disk when this returns; one there already is replaced."""
        await self._do(lambda: self._keep(part, hash_))

    async def read(self, hash_: str, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file.  A whole one is checked against its name.  NotFound: it is missing or damaged."""
        return await self._do(lambda: self._read(hash_, offset, length))

    async def keep_small(self, hash_: str, data: bytes) -> None:
        """Put a small picture of the file of this hash in its place; one there already is replaced."""
        await self._do(lambda: self._keep_small(hash_, data))

    async def read_small(self, hash_: str) -> bytes | None:
        """The small picture of a file; None if there is none."""
        return await self._do(lambda: self._read_small(hash_))

    async def read_picture(self, hash_: str) -> bytes:
        """The small picture, or the file itself where there is none.  NotFound: neither is there whole."""
        small = await self.read_small(hash_)
        return await self.read(hash_) if small is None else small

    async def remove(self, hashes: Iterable[str]) -> int:
        """Remove files, and the small pictures made of them; how many files were there."""
        wanted = list(hashes)
        return await self._do(lambda: sum(self._remove(hash_) for hash_ in wanted))

    async def _do(self, work: Callable[[], T]) -> T:
        def run() -> T:
            with _told(self.root):
                return work()

        return await self._executor.run(run)

    # -- in a thread -----------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._folder(_INCOMING, make=True) as folder:
            for name in os.listdir(folder):
                with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
                    os.unlink(name, dir_fd=folder)

    def _write_part(self, part: str, data: bytes, at: int) -> None:
        with self._folder(_INCOMING, make=True) as folder:
            fd = os.open(_part(part), _WRITE, 0o600, dir_fd=folder)
            try:
                left = memoryview(data)
                while left:
                    done = os.pwrite(fd, left, at)
                    left, at = left[done:], at + done
            finally:
                os.close(fd)

    def _drop_part(self, part: str) -> None:
        with suppress(FileNotFoundError), self._folder(_INCOMING) as folder:
            os.unlink(_part(part), dir_fd=folder)

    def _read_part(self, part: str, length: int) -> bytes:
        with self._folder(_INCOMING) as folder:
            fd = os.open(_part(part), _READ, dir_fd=folder)
            try:
                return _bytes(fd, 0, length)
            finally:
                os.close(fd)

    def _keep(self, part: str, hash_: str) -> None:
        with self._folder(_INCOMING) as incoming, self._folder(_hash(hash_)[:2], make=True) as folder:
            fd = os.open(_part(part), _READ, dir_fd=incoming)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(part, hash_, src_dir_fd=incoming, dst_dir_fd=folder)
            os.fsync(folder)

    def _read(self, hash_: str, offset: int, length: int | None) -> bytes:
        gone = NotFound("The file of this attachment is missing or damaged.", hint="A backup may have it.")
        try:
            with self._folder(_hash(hash_)[:2]) as folder:
                fd = os.open(hash_, _READ, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):  # not there, or a link in its place
                raise gone from error
            raise
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or (length is None and about.st_size > LARGEST):
                raise gone
            found = _bytes(fd, offset, about.st_size if length is None else length)
        finally:
            os.close(fd)
        if length is None and not offset and hashlib.sha256(found).hexdigest() != hash_:
            raise gone
        return found

    def _keep_small(self, hash_: str, data: bytes) -> None:
        part = f"small-{_hash(hash_)[:32]}"
        self._drop_part(part)  # a longer one that was cut off would show behind it
        self._write_part(part, data, 0)
        with self._folder(_INCOMING) as incoming, self._folder(_small(hash_), make=True) as folder:
            os.rename(part, hash_, src_dir_fd=incoming, dst_dir_fd=folder)

    def _read_small(self, hash_: str) -> bytes | None:
        try:
            with self._folder(_small(_hash(hash_))) as folder:
                fd = os.open(hash_, _READ, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
                return None
            raise
        try:
            about = os.fstat(fd)
            return _bytes(fd, 0, about.st_size) if stat.S_ISREG(about.st_mode) and about.st_size <= SMALL else None
        finally:
            os.close(fd)

    def _remove(self, hash_: str) -> int:
        with suppress(FileNotFoundError), self._folder(_small(_hash(hash_))) as folder:
            os.unlink(hash_, dir_fd=folder)
            os.fsync(folder)
        try:
            with self._folder(_hash(hash_)[:2]) as folder:
                os.unlink(hash_, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return 0
        return 1

    @contextmanager
    def _folder(self, name: str, *, make: bool = False) -> Iterator[int]:
        root = os.open(self.root, _FOLDER & ~os.O_NOFOLLOW)
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=root)
                    os.fsync(root)
            fd = os.open(name, _FOLDER, dir_fd=root)
            try:
                yield fd
            finally:
                os.close(fd)
        finally:
            os.close(root)


def _bytes(fd: int, offset: int, length: int) -> bytes:
    found = bytearray()
    while len(found) < length and (some := os.pread(fd, length - len(found), offset + len(found))):
        found += some
    return bytes(found)


def _hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise ValueError("not a sha256")
    return text


def _small(hash_: str) -> str:
    return f"small-{hash_[:2]}"


def _part(text: str) -> str:
    if not _PART.fullmatch(text):
        raise ValueError("not a part's name")
    return text


@contextmanager
def _told(root: Path) -> Iterator[None]:
    """Turn what the operating system says into one clear StorageError."""
    try:
        yield
    except OSError as error:
        detail = {"path": str(root), "reason": errno.errorcode.get(error.errno or 0, "")}
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            message, hint = "There is no space left for attachments.", "Free some disk space and try again."
        elif error.errno in (errno.ELOOP, errno.ENOTDIR):
            message = f"There is a link or a file in {root} where a folder of ours should be."
            hint = "Move it away; homed makes the folder again."
        else:
            message = f"The disk refused while working on {root}: {error.strerror}."
            hint = "Check the disk, and owner and permissions of that folder."
        raise StorageError(message, hint=hint, detail=detail) from error
