"""The folder of adapter scripts: the ones that come along, put there and kept fresh, and people's own.

What was written is remembered by its hash (``.shipped.json``): a file that is still what we wrote is ours to replace
with a newer one, a file that somebody has edited is theirs: it stays, and the newer one is put beside it, once.
What lies there by the name of a script and is none (a pipe, a folder, a file of any size) is theirs as well, and costs
nobody anything.  Everything here blocks for the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from homed.errors import NotFound, StorageError

BUNDLED = Path(__file__).parent / "scripts"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_SCRIPT = 256 * 1024
_RECORD = ".shipped.json"
_THEIRS = "theirs"
"""Stands for the hash of what is no script."""
NEWER = ".new"


@dataclass(frozen=True, slots=True)
class Found:
    """A script as it lies there.  ``origin``: ``bundled``, ``edited`` (a bundled one, changed) or ``own``; ``newer`` is
    the file with a newer bundled one beside it, "" for none."""

    name: str
    origin: str
    path: Path
    newer: str = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Tells one state of a file from another."""

    device: int
    inode: int
    size: int
    changed: int


class Shelf:
    """``folder`` is where people's scripts are, ``bundled`` where those that come along are read from."""

    def __init__(self, folder: Path, bundled: Path = BUNDLED) -> None:
        self.folder = folder
        self._bundled = bundled

    def path(self, name: str) -> Path:
        """The file of a script."""
        return self.folder / f"{name}.lua"

    def stamp(self, name: str) -> Stamp:
        """Of the file as it is; raises NotFound."""
        try:
            seen = self.path(name).stat()
        except (OSError, ValueError):
            raise self._missing(name) from None
        return Stamp(seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)

    def read(self, name: str) -> str:
        """Its text.  Raises NotFound, StorageError for what cannot be read as one."""
        path = self.path(name)
        try:
            raw = _read(path)
        except FileNotFoundError:
            raise self._missing(name) from None
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}.", hint="Is it this user's?") from error
        if raw is None:
            raise self._missing(name)
        if len(raw) > MAX_SCRIPT:
            raise StorageError(f"{path} is over {MAX_SCRIPT} bytes.", hint="Is it a script?")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise StorageError(f"{path} is no UTF-8 text.", hint="Save it as UTF-8.") from None

    def refresh(self) -> None:
        """Put the bundled scripts in place, leaving alone what somebody has edited.  Raises StorageError.

        Killed in the middle it goes on from there the next time: a script is written before it is remembered.
        """
        record = self._record()
        before = dict(record)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in sorted(self._bundled.glob("*.lua")):
                record[file.name] = self._place(file.name, file.read_bytes(), record.get(file.name, ""))
            if record != before:
                _write(self.folder / _RECORD, json.dumps(record, indent=1, sort_keys=True).encode())
        except OSError as error:
            raise StorageError(
                f"The adapter scripts cannot be put into {self.folder}: {error.strerror}.",
                hint="Free some space, or give this user write access to it.",
            ) from error

    def found(self) -> list[Found]:
        """Every script there, by name."""
        names = {file.stem for file in self._bundled.glob("*.lua")}
        files = sorted(file for file in self.folder.glob("*.lua") if NAME.fullmatch(file.stem) and file.is_file())
        return [self._described(file, names) for file in files]

    def _described(self, file: Path, bundled: set[str]) -> Found:
        if file.stem not in bundled:
            return Found(file.stem, "own", file)
        same = _hash_of(file) == _hash((self._bundled / file.name).read_bytes())
        newer = file.with_name(file.name + NEWER)
        return Found(file.stem, "bundled" if same else "edited", file, str(newer) if newer.is_file() else "")

    def _place(self, name: str, new: bytes, wrote: str) -> str:
        """Returns what is to be remembered: the hash of the bundled one that was dealt with last."""
        path, wanted = self.folder / name, _hash(new)
        beside = path.with_name(name + NEWER)
        there = _hash_of(path)
        if there in ("", wrote, wanted):
            if there != wanted:
                _write(path, new)
            beside.unlink(missing_ok=True)
        elif wrote != wanted:
            _write(beside, new)
            # Remembered as dealt with: so a person may remove it, and it does not come again.
        return wanted

    def _record(self) -> dict[str, str]:
        try:
            stored = json.loads(_read(self.folder / _RECORD) or b"")
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}

    def _missing(self, name: str) -> NotFound:
        hint = "`homed models adapters` lists the scripts there are."
        return NotFound(f"There is no adapter script {self.path(name)}.", hint=hint)


def _read(path: Path) -> bytes | None:
    """What is in a file, cut behind ``MAX_SCRIPT``; None for what is no file.  Raises OSError."""
    # Not blocking: what has that name may be a pipe, and whoever waited for one could not be stopped.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with open(fd, "rb") as file:
        return file.read(MAX_SCRIPT + 1)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_of(path: Path) -> str:
    """Of what lies there: empty for nothing, and like no other for what cannot be read as a script."""
    try:
        data = _read(path)
    except FileNotFoundError:
        return "" if not path.is_symlink() else _THEIRS
    except OSError:
        return _THEIRS
    return _THEIRS if data is None else _hash(data)


def _write(path: Path, data: bytes) -> None:
    """The whole file or the one before."""
    temporary = path.with_name(f"{path.name}.part")
    temporary.unlink(missing_ok=True)  # of one that was killed, or somebody's link to elsewhere
    with temporary.open("xb") as file:
        file.write(data)
    os.replace(temporary, path)
