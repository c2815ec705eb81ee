"""A zip from a stranger, read so that it can do no harm: bounded, without links, escapes, doubles or bombs.

Stricter than `zipfile`: what no packer of ours or of anybody's usual tools writes is refused, not interpreted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from homed.errors import InvalidInput, StorageError
from homed.wire.durable import sync_folder

MAX_PACKED = 100_000_000
"""Bytes of the file."""
MAX_UNPACKED = 500_000_000
MAX_FILES = 10_000
MAX_RATIO = 200
"""Times its packed size that a file over 1 MiB may have; text reaches 20, a table of figures 50, a bomb 1000."""

_NO_BOMB = 1 << 20
_MAX_DIRECTORY = 4 << 20
"""Bytes of the zip's own list of names: `zipfile` makes an object of each entry before anybody can count them."""
_MAX_NAME, _MAX_PART, _MAX_DEPTH = 512, 200, 32
"""Bytes of a name and of one part of it, and its parts."""
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
"""Of Zip64, before the end."""
_LOCAL_HEADER = 30
_PIECE = 1 << 20
_READ_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError,
    OverflowError, OSError,
)  # fmt: skip
"""What `zipfile` raises on bytes that are no zip, besides its own error."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive: its name with slashes, its bytes' count and hash."""

    name: str
    size: int
    sha256: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Archive:
    """What a file was found to hold.  ``sha256`` is the file's own, ``size`` its bytes."""

    path: Path
    size: int
    sha256: str
    members: tuple[Member, ...]

    def member(self, name: str) -> Member | None:
        """The one of that name."""
        return next((one for one in self.members if one.name == name), None)


def read_archive(path: Path) -> Archive:
    """Look at every byte of the zip at ``path``.  Blocking: seconds for a large one.

    Raises `InvalidInput` saying what is wrong with it, also when it is no regular file or cannot be read.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        digest = _digest(file)
        with _zip(file, size) as packed:
            infos = _checked(packed, size)
            members = tuple(_member(packed, info) for info in infos)
    return Archive(path, size, digest, members)


def read_member(archive: Archive, name: str, limit: int) -> bytes:
    """The bytes of one file of it, ``limit`` at most.  Raises `InvalidInput` when they are not what was read before."""
    member = archive.member(name)
    if member is None:
        raise InvalidInput(f"{archive.path.name} holds no {name}.")
    if member.size > limit:
        raise InvalidInput(f"{name} in {archive.path.name} is larger than {limit} bytes.")
    with opened(archive.path) as file, _zip(file, archive.size) as packed:
        data = b"".join(_pieces(packed, name))
    if hashlib.sha256(data).hexdigest() != member.sha256:
        raise _changed(archive)
    return data


def unpack_archive(archive: Archive, into: Path) -> None:
    """Write its files into the new folder ``into``, each with the bytes that `read_archive` saw, and sync them.

    Blocking.  Raises `InvalidInput` when the file has changed since and `StorageError` when the disk refuses; then
    ``into`` is gone again.
    """
    try:
        into.mkdir(mode=0o700)
        try:
            with opened(archive.path) as file, _zip(file, archive.size) as packed:
                for member in archive.members:
                    _extract(packed, member, into, archive)
            _sync_folders(into)
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise
    except OSError as error:
        raise StorageError(f"{into} cannot be written: {error.strerror}.", hint="Free space on the disk.") from error


def name_problem(name: str) -> str:
    """Why a file must not have this name in an archive; empty if it may.  Pure."""
    parts = name.split("/")
    if not name or name.startswith("/") or "\\" in name:
        return "is no relative name with slashes"
    if any(part in ("", ".", "..") for part in parts):
        return "leads out of its folder or is not in its simplest form"
    if not name.isprintable():
        return "holds characters that cannot be shown"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return "begins or ends a part with a blank or ends one with a dot"
    long = len(name.encode("utf-8", "replace")) > _MAX_NAME or len(parts) > _MAX_DEPTH
    if long or any(len(part.encode("utf-8", "replace")) > _MAX_PART for part in parts):
        return "is too long or too deep"
    return ""


def clashes(names: Sequence[str]) -> str:
    """What is wrong with names together: one twice, two that differ in case only, a file where one needs a folder."""
    seen: dict[str, tuple[str, bool]] = {}
    for name in names:
        parts = name.split("/")
        for depth in range(1, len(parts) + 1):
            state = ("/".join(parts[:depth]), depth < len(parts))
            before = seen.setdefault(unicodedata.normalize("NFC", state[0]).casefold(), state)
            if before is not state and (before != state or not state[1]):
                twice = before == state
                return f"{name!r} is there twice" if twice else f"{before[0]!r} and {state[0]!r} are the same somewhere"
    return ""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The regular file at ``path``, not larger than a package; no link is followed and no pipe waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{path} is no regular file.")
        if found.st_size > MAX_PACKED:
            raise InvalidInput(f"{path.name} has {found.st_size} bytes; a package has {MAX_PACKED} at most.")
        with os.fdopen(fd, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(fd)


@contextmanager
def _zip(file: IO[bytes], size: int) -> Iterator[zipfile.ZipFile]:
    _check_end(file, size)
    try:
        packed = zipfile.ZipFile(file)
    except _READ_ERRORS as error:
        raise _unreadable(error) from error
    with packed:
        yield packed


def _check_end(file: IO[bytes], size: int) -> None:
    """The list of names is bounded and the file is a zip from its first byte to its last."""
    file.seek(max(0, size - _END.size - _LOCATOR.size))
    before, tail = file.read(min(_LOCATOR.size, max(0, size - _END.size))), file.read(_END.size)
    file.seek(0)
    if len(tail) < _END.size or not tail.startswith(b"PK\x05\x06"):
        raise InvalidInput("It is no zip, or something stands behind its end.")
    _, disk, first_disk, here, entries, length, offset, comment = _END.unpack(tail)
    if disk or first_disk or here != entries or comment or offset + length + _END.size != size:
        raise InvalidInput("It is no plain zip: it has parts, a comment, or bytes that belong to nothing.")
    if before.startswith(b"PK\x06\x07"):  # then `zipfile` believes other figures than these
        raise InvalidInput("It is no plain zip: it says it is a Zip64 one.")
    if length > _MAX_DIRECTORY or entries > 2 * MAX_FILES:
        raise InvalidInput(f"It holds too many files; a package has {MAX_FILES} at most.")


def _checked(packed: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The entries that are files, once all are known to be harmless."""
    infos = packed.infolist()
    for info in infos:
        _check_entry(info)
    _check_places(infos, size)
    files = [info for info in infos if not info.is_dir()]
    if len(files) > MAX_FILES:
        raise InvalidInput(f"It holds {len(files)} files; a package has {MAX_FILES} at most.")
    if sum(info.file_size for info in files) > MAX_UNPACKED:
        raise InvalidInput(f"Unpacked it has more than {MAX_UNPACKED} bytes.")
    if clash := clashes([info.filename for info in files]):
        raise InvalidInput(f"{clash}.")
    return files


def _check_entry(info: zipfile.ZipInfo) -> None:
    shown = repr(info.orig_filename[:100])
    name = info.orig_filename
    if problem := name_problem(name[:-1] if name.endswith("/") else name):  # orig_filename: not cut at a NUL
        raise InvalidInput(f"The name {shown} {problem}.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    wanted = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
    if kind not in (0, wanted) or (info.is_dir() and info.file_size):
        raise InvalidInput(f"{shown} is neither a file nor a folder: links and devices are refused.")
    if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInput(f"{shown} is encrypted, or packed in a way that is not read here.")
    if info.file_size > max(_NO_BOMB, MAX_RATIO * info.compress_size):
        raise InvalidInput(f"{shown} grows more than {MAX_RATIO} times when it is unpacked.")


def _check_places(infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """No two entries share bytes: that is how a small file unpacks to a huge one."""
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            raise InvalidInput("Two of its files share their bytes.")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size
    if end > size:
        raise InvalidInput("It is cut off.")


def _member(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    digest, count = hashlib.sha256(), 0
    for piece in _pieces(packed, info):
        digest.update(piece)
        count += len(piece)
    if count != info.file_size:
        raise InvalidInput(f"{info.filename} is not as long as it says.")
    return Member(info.filename, count, digest.hexdigest(), bool(info.external_attr >> 16 & 0o111))


def _pieces(packed: zipfile.ZipFile, name: zipfile.ZipInfo | str) -> Iterator[bytes]:
    """The bytes of one file; no more than it says it has, and with the CRC it says."""
    try:
        file = packed.open(name)
    except _READ_ERRORS as error:
        raise _unreadable(error) from error
    with file:
        while True:
            try:
                piece = file.read(_PIECE)
            except _READ_ERRORS as error:
                raise _unreadable(error) from error
            if not piece:
                return
            yield piece


def _unreadable(error: Exception) -> InvalidInput:
    return InvalidInput(f"It is no zip that can be read: {str(error)[:200] or type(error).__name__}.")


def _extract(packed: zipfile.ZipFile, member: Member, into: Path, archive: Archive) -> None:
    target = into.joinpath(*member.name.split("/"))
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        for piece in _pieces(packed, member.name):
            digest.update(piece)
            file.write(piece)
        if digest.hexdigest() != member.sha256:
            raise _changed(archive)
        file.flush()
        os.fchmod(fd, 0o755 if member.executable else 0o644)
        os.fsync(fd)


def _sync_folders(root: Path) -> None:
    for folder, _, _ in os.walk(root):
        sync_folder(folder)


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    file.seek(0)
    return digest.hexdigest()


def _changed(archive: Archive) -> InvalidInput:
    return InvalidInput(f"{archive.path.name} has changed while it was used.", hint="Try again with a file at rest.")
