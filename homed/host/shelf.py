"""The folder of external plugins on disk, changed so that a kill -9 at any point leaves the old or the new whole.

What is not in place lies in ``.packages`` beside the plugins: ``incoming`` (not whole yet), ``outgoing`` (an old one
whose place is being taken: put back if the new one never came), ``removed`` (to be deleted).  All of this blocks.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from homed.errors import InvalidInput, NotFound, StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.wire.archive import MAX_PACKED, opened
from homed.wire.durable import sync_folder
from homed.wire.manifest import read_manifest
from homed.wire.package import SUFFIX, Package, open_package, unpack

_PIECE = 1 << 20


class Shelf:
    """One such folder.  Not for two at once: its owner takes turns."""

    def __init__(self, place: Path, failpoints: Failpoints | None = None) -> None:
        self.place = place
        self._failpoints = failpoints or NoFailpoints()
        aside = place / ".packages"
        self._incoming, self._outgoing, self._removed = aside / "incoming", aside / "outgoing", aside / "removed"

    def recover(self) -> list[str]:
        """Mend what a kill interrupted, and return the names that were put back.  Before anybody looks for plugins."""
        put_back = []
        for old in _children(self._outgoing):
            if (self.place / old.name).exists():
                self._discard(old)
            else:
                old.rename(self.place / old.name)
                put_back.append(old.name)
        for folder in (self._incoming, self._removed):
            shutil.rmtree(folder, ignore_errors=True)
        if put_back:
            sync_folder(self.place)
        return put_back

    def take_in(self, source: Path, sha256: str) -> Package:
        """A private copy of the file at ``source``, opened.

        Raises `InvalidInput` when it is not the one of that ``sha256``: nothing is used but what was looked at.
        """
        copy = self._fresh(self._incoming, SUFFIX)
        try:
            found = _copy(source, copy)
            if found != sha256:
                raise InvalidInput(
                    f"{source.name} is not the file that was reviewed: its sha256 is {found}.",
                    hint="Review it again before you install it.",
                )
            return open_package(copy)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise

    def unpack(self, package: Package) -> Path:
        """Its files in a fresh folder on the shelf's own disk, not yet in place; the private copy is gone then."""
        folder = self._fresh(self._incoming, "")
        try:
            unpack(package, folder)
        finally:
            package.archive.path.unlink(missing_ok=True)
        self._failpoints.reach("package.unpacked")
        return folder

    def place_new(self, name: str, fresh: Path) -> Path:
        """Put the folder ``fresh`` in the place of the plugin ``name``; an old one is deleted.  Returns the folder."""
        target, old = self.place / name, self.find(name)
        aside, moved, placed, done = self._outgoing / name, False, False, False
        try:
            if old is not None:
                self._outgoing.mkdir(mode=0o700, parents=True, exist_ok=True)
                if os.path.lexists(aside):  # of a change whose end failed: its place has been taken since
                    self._discard(aside)
                old.rename(aside)
                moved = True
                self._failpoints.reach("package.moved_out")
            fresh.rename(target)
            placed = True
            sync_folder(self.place)
            self._failpoints.reach("package.moved_in")
            done = True
        except OSError as error:
            raise StorageError(f"{target} cannot be put in place: {error.strerror}.") from error
        finally:
            if placed and not done:  # whoever hears of an error relies on it that the old one is there
                target.rename(fresh)
            if old is not None and moved and not done:
                aside.rename(old)
        if old is not None:
            with suppress(StorageError):  # the new one is in place all the same; the next change deletes it, or a start
                self._discard(aside)
        return target

    def remove(self, name: str, folder: Path | None = None) -> None:
        """Take the plugin ``name`` away, which is in ``folder`` if that is known: names may be doubled by hand.

        Raises `NotFound` when it is not here.
        """
        folder = folder if folder is not None and folder.parent == self.place else self.find(name)
        if folder is None or not os.path.lexists(folder):
            raise NotFound(f"There is no folder of a plugin {name!r} in {self.place}.")
        self._discard(folder)

    def drop(self, fresh: Path) -> None:
        """Delete what was taken in and is not used after all."""
        shutil.rmtree(fresh, ignore_errors=True)

    def find(self, name: str) -> Path | None:
        """The folder of the plugin ``name``: by its manifest, or by the folder's own name where that is no use."""
        clash, folder = name.endswith("@external"), name.removesuffix("@external")
        by_folder = None
        for child in _children(self.place):
            manifest, _ = read_manifest(child)
            if manifest is not None and manifest.name == name:
                return child
            if child.name == folder and (clash or manifest is None):
                by_folder = child
        return by_folder

    def _discard(self, folder: Path) -> None:
        """Away at once, deleted after that: a kill in between leaves nothing that looks like a plugin."""
        if folder.is_symlink():  # a link that somebody put here; what it leads to is theirs
            folder.unlink()
            return
        away = self._fresh(self._removed, "")
        try:
            folder.rename(away)
        except OSError as error:
            raise StorageError(f"{folder} cannot be removed: {error.strerror}.") from error
        sync_folder(self.place)
        self._failpoints.reach("package.moved_away")
        shutil.rmtree(away, ignore_errors=True)

    def _fresh(self, folder: Path, suffix: str) -> Path:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{folder} cannot be made: {error.strerror}.") from error
        return folder / f"{secrets.token_hex(8)}{suffix}"


def _copy(source: Path, target: Path) -> str:
    """Copy a regular file and return the sha256 of what was copied."""
    digest, left = hashlib.sha256(), MAX_PACKED
    with opened(source) as file:
        try:
            out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(out, "wb") as copy:
                while piece := file.read(_PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise InvalidInput(f"{source.name} has more than {MAX_PACKED} bytes.")
                    digest.update(piece)
                    copy.write(piece)
        except OSError as error:
            raise StorageError(f"{source.name} cannot be copied: {error.strerror}.") from error
    return digest.hexdigest()


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    except FileNotFoundError:
        return []
