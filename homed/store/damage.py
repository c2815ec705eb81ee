"""A damaged database: what is said about it, and the copy that is kept before anybody tries to mend it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from homed.store.rows import ReadOnly
from homed.store.unreadable import BLOCK, read_at
from homed.wire.durable import sync_folder

FOLDER = "damaged"
"""Beside the database: one private folder for each damage, named by the time it was found."""

LABEL = "damage.json"
SPARE = 16 * 1024 * 1024
"""Bytes that must stay free besides the copy: the log and the plugins go on writing."""

SUFFIXES = ("", "-wal", "-journal")
"""The files that together are a database; -shm holds nothing of its own."""
_CHUNK = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Damage:
    """Why nothing is stored any more.  ``kept`` is where the copy lies, empty until it is made or if ``refused``.

    ``lost``: bytes of the copy that the disk no longer gave, zeros in it.
    """

    path: Path
    found: str
    kept: str = ""
    refused: str = ""
    lost: int = 0

    @property
    def message(self) -> str:
        """One sentence for a person."""
        return (
            f"The database {self.path} is damaged, so homed runs read-only: what can be read is shown, and nothing new"
            " is stored."
        )

    @property
    def hint(self) -> str:
        """Where the damaged file is kept, and what to do."""
        mend = "Stop homed and run `homed doctor --repair`."
        if self.kept:
            but = f", without {self.lost} bytes that the disk no longer gives" if self.lost else ""
            return f"A copy of the damaged file is in {self.kept}{but}. {mend}"
        if self.refused:
            return f"{self.refused} Copy {self.path.name} and {self.path.name}-wal away yourself. {mend}"
        return mend

    def refusal(self) -> ReadOnly:
        """What every write gets; a new object each time."""
        detail = {"reason": "read_only", "kept": self.kept}
        return ReadOnly(self.message, hint=self.hint, detail=detail)


def keep(damage: Damage, *, cancelled: Callable[[], bool] = bool) -> Damage:
    """Copy the database with its log into a private folder beside it, once for each damage, and say where.

    What the disk no longer gives is zeros in the copy, and its label names these holes.  Nobody may write to the
    database meanwhile.  ``refused`` says why there is no copy; nothing is raised for a full or
    unwritable disk.  When ``cancelled`` turns true it gives up and leaves nothing half-made.
    """
    files, look = _look(damage.path)
    place = damage.path.parent / FOLDER
    if kept := _known(place, look):
        return replace(damage, kept=str(kept), lost=_lost(_read_label(kept)))
    try:
        kept = _copy(place, files, damage, look, cancelled)
        return replace(damage, kept=str(kept), lost=_lost(_read_label(kept)))
    except OSError as error:
        return replace(damage, refused=f"It could not be copied aside ({error.strerror or error}).")


def known(path: Path) -> Damage | None:
    """The damage that an earlier run found in just these files, also if a quick look would not find it again."""
    kept = _known(path.parent / FOLDER, _look(path)[1])
    if kept is None:
        return None
    label = _read_label(kept)
    return Damage(path, str(label.get("found", "")), kept=str(kept), lost=_lost(label))


def claim_folder(damage: Damage) -> Path:
    """A folder for the damaged files to be moved to: the one that holds a copy of them already, or a new one."""
    _, look = _look(damage.path)
    place = damage.path.parent / FOLDER
    if kept := _known(place, look):
        return kept
    place.mkdir(mode=0o700, exist_ok=True)
    made = _free_name(place)
    made.mkdir(mode=0o700)
    _write(made / LABEL, iter([_label(damage, look, {})]))
    sync_folder(place)
    return made


_Look = dict[str, list[int]]
_Holes = dict[str, list[list[int]]]
"""File → ``[offset, bytes]`` of each part that the disk no longer gave."""


def _look(path: Path) -> tuple[dict[str, Path], _Look]:
    """The files of a database that hold something, and size and time of each: enough to know the same damage again."""
    files = {file.name: file for file in (Path(f"{path}{suffix}") for suffix in SUFFIXES) if _holds(file)}
    return files, {name: [file.stat().st_size, file.stat().st_mtime_ns] for name, file in files.items()}


def _label(damage: Damage, look: _Look, holes: _Holes) -> bytes:
    return json.dumps({"found": damage.found, "files": look, "holes": holes}).encode()


def _read_label(kept: Path) -> dict[str, Any]:
    label: dict[str, Any] = json.loads((kept / LABEL).read_bytes())
    return label


def _lost(label: dict[str, Any]) -> int:
    return sum(length for holes in label.get("holes", {}).values() for _, length in holes)


def _holds(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _known(place: Path, look: _Look) -> Path | None:
    """The folder that already holds this very damage: files of the same size and time."""
    for label in sorted(place.glob(f"*/{LABEL}"), reverse=True):
        try:
            if look and json.loads(label.read_bytes())["files"] == look:
                return label.parent
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _copy(place: Path, files: dict[str, Path], damage: Damage, look: _Look, cancelled: Callable[[], bool]) -> Path:
    place.mkdir(mode=0o700, exist_ok=True)
    need = sum(file.stat().st_size for file in files.values()) + SPARE
    if (free := shutil.disk_usage(place).free) < need:
        raise OSError(f"that needs {need >> 20} MB of free space, and there are {free >> 20} MB")
    making = place / f".making-{os.getpid()}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    try:
        holes: _Holes = {}
        for name, file in files.items():
            if lost := _copy_file(file, making / name, cancelled):
                holes[name] = lost
        _write(making / LABEL, iter([_label(damage, look, holes)]))
        kept = _free_name(place)
        making.rename(kept)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    sync_folder(place)
    return kept


def _free_name(place: Path) -> Path:
    name = time.strftime("homed-%Y%m%d-%H%M%S")
    kept, number = place / name, 1
    while kept.exists():
        number += 1
        kept = place / f"{name}-{number}"
    return kept


def _copy_file(source: Path, target: Path, cancelled: Callable[[], bool]) -> list[list[int]]:
    """The holes in the copy, which is as long as the source."""
    holes: list[list[int]] = []
    fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _write(target, _pieces(fd, holes), cancelled)
    finally:
        os.close(fd)
    return holes


def _pieces(fd: int, holes: list[list[int]]) -> Iterator[bytes]:
    """All of a file in order; a piece with something lost block by block, with zeros for what is gone."""
    size, at, careful = os.fstat(fd).st_size, 0, 0
    while at < size:
        want = min(BLOCK if at < careful else _CHUNK, size - at)
        piece = read_at(fd, want, at)
        if piece is None and want > BLOCK:
            careful = at + want
            continue
        if piece is None:
            piece = bytes(want)
            if holes and sum(holes[-1]) == at:
                holes[-1][1] += want
            else:
                holes.append([at, want])
        if not piece:
            return
        yield piece
        at += len(piece)


def _write(target: Path, pieces: Iterator[bytes], cancelled: Callable[[], bool] = bool) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as writing:
        for piece in pieces:
            if cancelled():
                raise OSError("homed was stopped meanwhile")
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
