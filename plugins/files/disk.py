"""The only functions that touch files: bounded reads, atomic writes, listings.  All block: run them in a thread."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass

from homed.sdk import ToolError

from .roots import Place, opened, opened_parent, printable, refusal

MAX_FILE = 16 << 20
"""Bytes of a file that is read or edited as a whole."""

MAX_ENTRIES = 500
"""Entries in one listing."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK: a FIFO must not hang us
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Found:
    """A file's bytes, and which state of it they are (to notice a change before it is replaced)."""

    data: bytes
    mode: int
    stamp: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing.  ``size`` in bytes, ``modified`` in UTC seconds."""

    name: str
    type: str
    size: int
    modified: float


def read(place: Place) -> Found:
    """Read a regular file whole.  ToolError if it is missing, no regular file, a link, or over ``MAX_FILE``."""
    with opened_parent(place) as (folder, name):
        return _read_in(folder, name, place)


def read_if_there(place: Place) -> Found | None:
    """As ``read``, but None if there is no such file (or no such folder yet)."""
    try:
        return read(place)
    except ToolError:
        if not os.path.lexists(place.root.joinpath(*place.parts)):
            return None
        raise


def write(place: Place, data: bytes, *, expect: Found | None) -> None:
    """Replace or create a file atomically: readers see the old bytes or the new ones, also after a power cut.

    ``expect`` is what was read before; None means the file must not exist.  Otherwise ToolError, nothing written.
    """
    if len(data) > MAX_FILE:
        raise ToolError(f"That is more than {MAX_FILE >> 20} MiB, the limit for one file.")
    with opened_parent(place, create=expect is None) as (folder, name):
        temporary = f".{secrets.token_hex(6)}.part"
        try:
            # Only who may do what is kept: new content must not run as somebody else, whatever the old one did.
            _fill(folder, temporary, data, mode=expect.mode & 0o777 if expect else 0o644)
            _put(folder, temporary, name, place, expect)
            os.fsync(folder)
        except OSError as error:
            raise refusal(error, place) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)


def listing(place: Place) -> tuple[list[Entry], bool]:
    """The entries of a folder by name, and whether there were more than ``MAX_ENTRIES``."""
    with opened(place) as folder:
        names = sorted(os.listdir(folder))
        return [_entry(folder, name) for name in names[:MAX_ENTRIES]], len(names) > MAX_ENTRIES


def _read_in(folder: int, name: str, place: Place) -> Found:
    try:
        # Only to open a pipe would already set free whoever waits to write to it.
        _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), place)
        fd = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        raise refusal(error, place) from error
    try:
        info = os.fstat(fd)
        _check_kind(info, place)  # again: the name may mean something else by now
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(MAX_FILE + 1)
    finally:
        os.close(fd)
    if len(data) > MAX_FILE:
        raise ToolError(f"{place} is larger than {MAX_FILE >> 20} MiB.", hint="Search it with files_search.")
    return Found(data, stat.S_IMODE(info.st_mode), _stamp(info))


def _check_kind(info: os.stat_result, place: Place) -> None:
    """Refuse what is no regular file; a link passes, for opening it is what is refused, with better words."""
    if stat.S_ISDIR(info.st_mode):
        raise ToolError(f"{place} is a folder.", hint="List it with files_ls.")
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
        raise ToolError(f"{place} is not a regular file.")


def _fill(folder: int, name: str, data: bytes, *, mode: int) -> None:
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _put(folder: int, temporary: str, name: str, place: Place, expect: Found | None) -> None:
    if expect is None:
        try:
            _put_new(folder, temporary, name)
        except FileExistsError:
            raise ToolError(f"{place} exists already.", hint="Use mode `overwrite` or `append`.") from None
        return
    if _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False)) != expect.stamp:
        raise ToolError(f"{place} was changed by someone else meanwhile.", hint="Read it again.")
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _put_new(folder: int, temporary: str, name: str) -> None:
    """Give the file its name if nothing has that; FileExistsError otherwise."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links (FAT, some network and container mounts): an empty file claims the name, for
        # a moment.  What else may be wrong with the folder goes wrong here again, and is told.
        os.close(os.open(name, _NEW, 0o600, dir_fd=folder))
        try:
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise


def _stamp(info: os.stat_result) -> tuple[int, int, int, int]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _entry(folder: int, name: str) -> Entry:
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        gone = error.errno == errno.ENOENT
        return Entry(printable(name), "gone" if gone else "unreadable", 0, 0.0)
    return Entry(printable(name), _type(info.st_mode), info.st_size, info.st_mtime)


def _type(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "special"
