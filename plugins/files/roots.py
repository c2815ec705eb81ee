"""Which folders may be touched, and how to reach a file below one without being led out of it.

A path is turned into a root and the names below it; then the folders are opened one by one, each relative to the open
descriptor of the one above and with ``O_NOFOLLOW``.  No name is looked up twice and no link is followed, so neither
``..`` nor a link, nor one that is swapped in between two steps, leads anywhere else.  The price: a link inside a root
is refused, also one that stays inside.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from homed.sdk import ToolError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def printable(path: str) -> str:
    """A name that can stand in JSON: bytes that are not UTF-8 are written as ``\\xNN``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder: ``parts`` are the names below ``root``; none for the root itself."""

    root: Path
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return printable(str(self.root.joinpath(*self.parts)))


class Roots:
    """The allowed folders.  The first one is where a relative path starts."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """``folders``: absolute, at least one.  Their own links are followed: a person named them."""
        if not folders:
            raise ValueError("at least one folder")
        self._folders = tuple(Path(os.path.realpath(folder)) for folder in folders)
        written = zip(map(Path, map(os.path.normpath, folders)), self._folders, strict=True)
        self._spellings = (*((folder, folder) for folder in self._folders), *written)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The allowed folders, links resolved."""
        return self._folders

    def locate(self, path: str) -> Place:
        """Find the root a path lies below.

        Raises ToolError for a path outside every root.  ``..`` is resolved by name, which is exact because no link is
        followed afterwards.
        """
        if "\0" in path:
            raise ToolError("A path cannot hold a NUL character.")
        try:
            os.fsencode(path)
            written = Path(path).expanduser()
        except UnicodeEncodeError:
            raise ToolError("That path holds half a character.") from None
        except RuntimeError:
            raise ToolError(f"There is no home folder for {path!r}.") from None
        full = Path(os.path.normpath(self._folders[0] / written))
        for spelling, root in self._spellings:
            if full.is_relative_to(spelling):
                return Place(root, full.relative_to(spelling).parts)
        allowed = ", ".join(printable(str(root)) for root in self._folders)
        raise ToolError(f"{printable(path)} is outside the folders that may be used.", hint=f"Allowed: {allowed}")


@contextmanager
def opened(place: Place, *, create: bool = False) -> Iterator[int]:
    """Open the folder at ``place`` and yield its descriptor; ``create`` makes missing folders (the root too)."""
    fd = _open_root(place.root, create=create)
    try:
        for number, name in enumerate(place.parts):
            above, fd = fd, _step(fd, name, Place(place.root, place.parts[: number + 1]), create=create)
            os.close(above)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_parent(place: Place, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder a file lies in; yields the descriptor and the file's name in it."""
    if not place.parts:
        raise ToolError(f"{place} is a folder, not a file.")
    with opened(Place(place.root, place.parts[:-1]), create=create) as fd:
        yield fd, place.parts[-1]


def _open_root(root: Path, *, create: bool) -> int:
    if create:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return os.open(root, _FOLDER)
    except FileNotFoundError:
        raise ToolError(
            f"The folder {printable(str(root))} is not there yet.", hint="Writing a file into it creates it."
        ) from None
    except OSError as error:
        raise ToolError(f"The folder {printable(str(root))} cannot be opened: {error.strerror}.") from error


def _step(above: int, name: str, place: Place, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not create:
            raise ToolError(f"There is no folder {place}.") from None
    except OSError as error:
        raise refusal(error, place) from error
    try:
        os.mkdir(name, 0o755, dir_fd=above)
    except FileExistsError:
        pass  # someone else made it in between; opening it tells what it is
    except OSError as error:
        raise refusal(error, place) from error
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except OSError as error:
        raise refusal(error, place) from error


def refusal(error: OSError, place: Place) -> ToolError:
    """What to tell the model about a failed step."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(error, place):
        return ToolError(f"{place} is a link, and links are not followed.", hint="Use the path it points to.")
    if error.errno == errno.ENOTDIR:
        return ToolError(f"{place} is not a folder.")
    if error.errno == errno.ENOENT:
        return ToolError(f"There is no file {place}.")
    if error.errno == errno.ENAMETOOLONG:
        return ToolError("That name is too long.")
    return ToolError(f"{place}: {error.strerror}.")


def _is_link(error: OSError, place: Place) -> bool:
    """Only for the wording: O_DIRECTORY with O_NOFOLLOW answers ENOTDIR for a link."""
    return error.errno == errno.ELOOP or place.root.joinpath(*place.parts).is_symlink()
