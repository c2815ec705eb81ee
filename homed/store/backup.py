"""Backups while homed runs: a folder with a copy of the database, the attachments, and a list of what is in it.

``homed.db`` is of one moment; ``media/ab/abcd…`` are the files that it names, as hard links where the disk has them;
``SHA256SUMS`` is what ``sha256sum -c`` reads; ``manifest.json`` says the rest.  Not in it: secrets.json (keys,
passwords), logins and API keys, the index files, plugins and what they keep.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.store import migrations, problems
from homed.store.copying import opened
from homed.store.db import Store
from homed.store.executors import Executor, ThreadExecutor
from homed.store.files import MediaFiles
from homed.wire.durable import sync_file, sync_folder
from homed.wire.version import CORE

FORMAT, VERSION = "homed backup", 1

DATABASE, MEDIA, SUMS, MANIFEST = "homed.db", "media", "SHA256SUMS", "manifest.json"

NAME = re.compile(r"homed-\d{8}-\d{6}(?:-\d+)?")
"""Of those that are made in a folder of many."""

CHUNK = 4 * 1024 * 1024
LINKED = 256
"""Attachments that are linked in one go, after which a cancellation is looked at."""

_MAKING = ".making-"

MOST_MANIFEST = 16 << 20
LAST = 253_402_300_799
"""Seconds: the year 9999."""

_ABSENT = (FileNotFoundError, NotADirectoryError)


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup.  ``missing``: attachments that the database names and that were not there (or damaged)."""

    path: Path
    at: float
    schema: int
    bytes: int
    counts: dict[str, int] = field(default_factory=dict)
    files: int = 0
    missing: Sequence[str] = ()

    def wire(self) -> dict[str, object]:
        """For the API and ``--json``."""
        return {
            "path": str(self.path), "name": self.path.name, "at": self.at, "schema": self.schema, "bytes": self.bytes,
            "counts": dict(self.counts), "files": self.files, "missing": list(self.missing),
        }  # fmt: skip


async def backup(
    store: Store, files: MediaFiles, target: Path, *, keep: int, wall: WallClock = system_wall_clock,
    failpoints: Failpoints | None = None,
) -> BackupInfo:  # fmt: skip
    """Make one in the folder ``target``, named by its time, and remove those of before but the newest ``keep``.

    Others write meanwhile.  Raises StorageError (a full disk, damage); then, and when cancelled, nothing new is there
    and nothing is removed.
    """
    run = ThreadExecutor(1).run
    await run(partial(_prepare, target))
    path = await run(lambda: free_name(target, wall()))
    made = await backup_as(store, files, path, wall=wall, failpoints=failpoints)
    await run(partial(_thin_out, target, keep))
    return made


async def backup_as(
    store: Store, files: MediaFiles, path: Path, *, wall: WallClock = system_wall_clock,
    failpoints: Failpoints | None = None,
) -> BackupInfo:  # fmt: skip
    """Make one at ``path``, where nothing may be.  As ``backup``."""
    points, executor = failpoints or NoFailpoints(), ThreadExecutor(1)
    making = path.with_name(f"{_MAKING}{path.name}-{secrets.token_hex(4)}")
    with problems.translated(path):
        await executor.run(partial(_make_folders, making, path))
        try:
            await store.copy_to(making / DATABASE)
            points.reach("backup.copied")
            info = await _with_files(executor, making, files, path, wall())
            points.reach("backup.listed")
            await executor.run(partial(_settle, making, path))
            points.reach("backup.settled")
        except BaseException:
            with trio.move_on_after(10, shield=True):  # what stays is removed by the next one
                await executor.run(partial(shutil.rmtree, making, ignore_errors=True))
            raise
    return info


def look(path: Path) -> BackupInfo:
    """What a backup says it is.  Raises StorageError for what is none, or one that a later release made."""
    with problems.translated(path):
        try:
            found = _manifest(path)
            if found["format"] != FORMAT:
                raise ValueError
            if found["version"] > VERSION or found["schema"] > migrations.latest():
                raise newer(path)
            counts = {str(key): int(value) for key, value in found["counts"].items()}
            at, size, files = float(found["made_at"]), int(found["bytes"]), int(found["files"])
            sane = all(0 <= count < 1 << 63 for count in (size, files, *counts.values()))
            if not (0 <= at <= LAST and found["schema"] >= 1 and "events" in counts and sane):
                raise ValueError
            return BackupInfo(
                path, at, int(found["schema"]), size, counts, files, [str(one) for one in found["missing"]]
            )
        except (*_ABSENT, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise no_backup(path) from None


def backups(folder: Path) -> list[BackupInfo]:
    """Those in a folder, oldest first; what is no backup is passed by."""
    found = []
    for path in _listed(folder):
        with suppress(StorageError):
            found.append(look(path))
    return sorted(found, key=lambda info: (info.at, info.path.name))


def check(info: BackupInfo) -> list[str]:
    """Go through every file of a backup; the hashes of attachments that are in it and sound.

    Raises StorageError when the database, or the list, is not what was made.
    """
    path, sound = info.path, []
    with problems.translated(path):
        try:
            sums = _read(path / SUMS)
            if hashlib.sha256(sums).hexdigest() != _manifest(path).get("sums"):
                raise ValueError
            lines = sums.decode("ascii").splitlines()
        except (*_ABSENT, ValueError):
            raise changed(path, SUMS) from None
        for line in lines:
            wanted, _, name = line.partition("  ")
            same = _INSIDE.fullmatch(name) is not None and _is(path / name, wanted)
            if name == DATABASE and not same:
                raise changed(path, name)
            if name != DATABASE and same:
                sound.append(wanted)
    return sound


def _is(file: Path, wanted: str) -> bool:
    try:
        return digest(file) == wanted
    except _ABSENT:
        return False


_INSIDE = re.compile(rf"{re.escape(DATABASE)}|{MEDIA}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


def digest(file: Path) -> str:
    """The sha256 of a file, in hex.  No link is followed; FileNotFoundError for what is no plain file."""
    sha = hashlib.sha256()
    fd = plain(file)
    try:
        while piece := os.read(fd, CHUNK):
            sha.update(piece)
    finally:
        os.close(fd)
    return sha.hexdigest()


def plain(file: Path) -> int:
    """Open a plain file for reading.  FileNotFoundError for a link, and for a pipe: one would wait on it for ever."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file)) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    return fd


def _read(file: Path) -> bytes:
    with os.fdopen(plain(file), "rb") as reading:
        return reading.read()


def _manifest(path: Path) -> dict[str, Any]:
    with os.fdopen(plain(path / MANIFEST), "rb") as reading:
        found = json.loads(reading.read(MOST_MANIFEST))
    if not isinstance(found, dict):
        raise ValueError
    return found


def free_name(folder: Path, at: float) -> Path:
    """A name that says when, and that nothing in the folder has."""
    stamp = time.strftime("homed-%Y%m%d-%H%M%S", time.gmtime(at))
    names = itertools.chain([stamp], (f"{stamp}-{number}" for number in itertools.count(2)))
    return next(folder / name for name in names if not (folder / name).exists())


def place(source: Path, target: Path) -> None:
    """Have a file stand in another place too: as a link if the disk can, else copied; whole at the end.

    Nothing is done where it stands already.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        copy_file(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, on the disk and under its name only when it is whole."""
    making = target.with_name(f"{_MAKING}{target.name}")
    making.unlink(missing_ok=True)
    fd = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as writing, open(source, "rb") as reading:
        shutil.copyfileobj(reading, writing, CHUNK)
        writing.flush()
        os.fsync(writing.fileno())
    making.replace(target)


# -- in a thread -------------------------------------------------------------------------------------------------------


def _prepare(target: Path) -> None:
    """The folder, without what a killed one left; nobody else makes one here: the data folder is locked."""
    with problems.translated(target):
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in target.glob(f"{_MAKING}homed-*"):
            shutil.rmtree(left, ignore_errors=True)


def _make_folders(making: Path, path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise Conflict(f"{path} is there already.", hint="Give another name: a backup never replaces anything.")
    making.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    (making / MEDIA).mkdir(mode=0o700, parents=True)
    making.chmod(0o700)


async def _with_files(executor: Executor, making: Path, files: MediaFiles, path: Path, at: float) -> BackupInfo:
    schema, counts, hashes = await executor.run(partial(_contents, making / DATABASE))
    linked: list[str] = []
    for start in range(0, len(hashes), LINKED):
        linked += await executor.run(partial(_link, files.root, making, hashes[start : start + LINKED]))
    missing = sorted(set(hashes) - set(linked))
    whole = await executor.run(lambda: (digest(making / DATABASE), (making / DATABASE).stat().st_size))
    info = BackupInfo(path, at, schema, whole[1], counts, len(linked), missing)
    await executor.run(partial(_write_lists, making, info, whole[0], linked))
    return info


def _contents(database: Path) -> tuple[int, dict[str, int], list[str]]:
    with opened(database) as db:
        counts = {
            table: int(db.execute(f"SELECT count(*) FROM {table}").get)
            for table in ("threads", "events", "records", "entities", "blocks")
        }
        named = db.execute("SELECT hash FROM blocks UNION SELECT hash FROM uploads ORDER BY hash")
        return db.pragma("user_version"), counts, [str(row[0]) for row in named]


def _link(root: Path, making: Path, hashes: Sequence[str]) -> list[str]:
    done = []
    for hash_ in hashes:
        source = root / hash_[:2] / hash_
        with suppress(FileNotFoundError):  # deleted since, or lost: it is told as missing
            if not source.is_symlink():
                place(source, making / MEDIA / hash_[:2] / hash_)
                done.append(hash_)
    return done


def _write_lists(making: Path, info: BackupInfo, database: str, linked: Sequence[str]) -> None:
    lines = [f"{database}  {DATABASE}\n", *(f"{hash_}  {MEDIA}/{hash_[:2]}/{hash_}\n" for hash_ in linked)]
    sums = "".join(lines)
    manifest = {
        "format": FORMAT, "version": VERSION, "made_at": info.at, "homed": CORE, "schema": info.schema,
        "bytes": info.bytes, "counts": info.counts, "files": info.files, "missing": list(info.missing),
        "sums": hashlib.sha256(sums.encode()).hexdigest(),
    }  # fmt: skip
    for name, text in ((SUMS, sums), (MANIFEST, json.dumps(manifest, indent=1) + "\n")):
        fd = os.open(making / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as writing:
            writing.write(text)
            writing.flush()
            os.fsync(writing.fileno())


def _settle(making: Path, path: Path) -> None:
    """Give it its name, once all of it is on the disk."""
    sync_file(making / DATABASE)
    for folder in (*sorted((making / MEDIA).iterdir()), making / MEDIA, making):
        sync_folder(folder)
    making.rename(path)
    sync_folder(path.parent)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))
    except OSError:
        return []


def _thin_out(target: Path, keep: int) -> None:
    for old in backups(target)[: -max(1, keep)]:
        shutil.rmtree(old.path, ignore_errors=True)


def no_backup(path: Path) -> StorageError:
    """It is something else."""
    return StorageError(
        f"{path} is no backup of homed's.", hint="Give the folder that `homed backup` made.",
        detail={"reason": "no_backup"},
    )  # fmt: skip


def newer(path: Path) -> StorageError:
    """A later release made it."""
    return StorageError(
        f"The backup {path} was made by a newer version of homed.", hint="Install that version, then restore it.",
        detail={"reason": "newer_schema"},
    )  # fmt: skip


def other_schema(path: Path, version: int, what: str) -> StorageError:
    """Its database is ours, but not as any release of homed has it; ``what`` is the first thing that is otherwise."""
    return StorageError(
        f"The database in the backup {path} does not have the schema {version} it says: {what[:100]!r} is other.",
        hint="Nothing was changed here. Another build of homed made it, or another program changed it. Restore it with"
        " the homed that made it; `homed memory export` there and `homed memory import` here carry over what it holds.",
        detail={"reason": "other_schema"},
    )


def changed(path: Path, name: str) -> StorageError:
    """A file of it is not what was made."""
    return StorageError(
        f"{name[:100]!r} in the backup {path} is not what it was when the backup was made.",
        hint="Nothing was changed here. Take another backup; this one is damaged.", detail={"reason": "changed"},
    )  # fmt: skip
