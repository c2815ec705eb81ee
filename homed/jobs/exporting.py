"""Carrying memory out: JSON Lines with the attachments beside them, or the three files of holo-memory.

Written from a copy of the database, so that it is of one moment and nobody waits; into a folder beside the target,
which gets its name once it is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs import holo
from homed.memory import portable, tombstones
from homed.memory.portable import TABLES, Carried
from homed.memory.temporary import is_temporary
from homed.store import problems
from homed.store.backup import copy_file
from homed.store.db import Store
from homed.store.examine import reading
from homed.store.rows import SqlValue, Tx, dumps
from homed.wire.durable import sync_folder
from homed.wire.version import CORE

PAGE = 500
FORMATS = ("jsonl", "holo")
MANIFEST = "manifest.json"
_COPY = ".copy.db"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    path: Path
    format: str
    counts: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    missing: int = 0

    def wire(self) -> dict[str, object]:
        """For the API and ``--json``."""
        return {
            "path": str(self.path), "format": self.format, "counts": dict(self.counts), "files": self.files,
            "missing": self.missing,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPorts:
    """``redact`` takes secrets out of what an earlier release may have stored with them."""

    store: Store
    media: Path
    redact: Callable[[str], str]
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


async def export(
    ports: ExportPorts, target: Path, *, format: str = "jsonl", scopes: Collection[str] | None = None
) -> Exported:
    """Write memory (of these scopes, or all) to the folder ``target``, where nothing may be.  What agents that agents
    made remember stays here: it goes with them.

    Raises Conflict, StorageError; then, and when cancelled, nothing is there.
    """
    making = target.with_name(f".making-{target.name}-{secrets.token_hex(4)}")
    with problems.translated(target):
        await trio.to_thread.run_sync(_begin, target, making)
        try:
            await ports.store.copy_to(making / _COPY)
            ports.failpoints.reach("export.copied")
            write = _write_lines if format == "jsonl" else _write_holo
            wanted = None if scopes is None else frozenset(scopes)
            done = await trio.to_thread.run_sync(partial(write, ports, making, target, wanted))
            ports.failpoints.reach("export.written")
            await trio.to_thread.run_sync(_settle, making, target)
        except BaseException:
            with trio.move_on_after(10, shield=True):
                await trio.to_thread.run_sync(partial(shutil.rmtree, making, ignore_errors=True))
            raise
    return done


def _begin(target: Path, making: Path) -> None:
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target} is there already.", hint="Give another name: an export never replaces anything.")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    making.mkdir(mode=0o700)


def _settle(making: Path, target: Path) -> None:
    (making / _COPY).unlink(missing_ok=True)
    for folder, _, names in os.walk(making):
        for name in names:
            fd = os.open(Path(folder, name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        sync_folder(folder)
    making.rename(target)
    sync_folder(target.parent)


def _wanted(tx: Tx, scopes: Collection[str] | None) -> str | None:
    """The scopes as a list for SQL; None where all that is there may be carried."""
    there = {str(s) for (s,) in tx.all("SELECT scope FROM threads UNION SELECT scope FROM events UNION"
                                       " SELECT scope FROM entities UNION SELECT scope FROM records UNION"
                                       " SELECT scope FROM merges UNION SELECT scope FROM tombstones")}  # fmt: skip
    asked = there if scopes is None else set(scopes)
    carried = {scope for scope in asked if not is_temporary(scope)}
    return None if scopes is None and carried == there else dumps(sorted(carried))


def _write_lines(ports: ExportPorts, making: Path, target: Path, given: Collection[str] | None) -> Exported:
    counts, sums, hashes = dict[str, int](), dict[str, str](), set[str]()
    with reading(making / _COPY) as tx:
        scopes = _wanted(tx, given)
        for table in TABLES:
            counts[table.name], sums[table.file] = _write_table(tx, table, making, scopes, ports.redact)
        named = portable.BY_NAME["blocks"]
        for row in rows(tx, named, scopes):
            hashes.add(str(row[1]))
        keys = tombstones.key_ids(tx)
    files, missing = _copy_files(ports.media, making, hashes)
    manifest = {
        "format": portable.FORMAT, "version": portable.VERSION, "homed": CORE, "made_at": ports.wall(),
        "scopes": None if given is None else sorted(given), "counts": counts, "sums": sums, "files": files,
        "key": ",".join(keys),
    }  # fmt: skip
    with _private(making / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1) + "\n")
    return Exported(target, "jsonl", counts, files, missing)


def _write_table(
    tx: Tx, table: Carried, making: Path, scopes: str | None, redact: Callable[[str], str]
) -> tuple[int, str]:
    count, sha = 0, hashlib.sha256()
    with _private(making / table.file) as file:
        for row in rows(tx, table, scopes):
            text = portable.line(table, portable.redacted(table, row, redact)) + "\n"
            file.write(text)
            sha.update(text.encode("utf-8", "surrogatepass"))
            count += 1
    return count, sha.hexdigest()


def rows(tx: Tx, table: Carried, scopes: str | None) -> Iterator[tuple[SqlValue, ...]]:
    """Every row of a table, in the order of its key, a page at a time."""
    last: tuple[SqlValue, ...] = ()
    places = [table.columns.index(column) for column in table.key]
    while True:
        params = (*((scopes,) if scopes is not None else ()), *last, PAGE)
        page = tx.all(portable.select(table, scoped=scopes is not None, after=last), params)
        yield from page
        if len(page) < PAGE:
            return
        last = tuple(page[-1][place] for place in places)


def _copy_files(media: Path, making: Path, hashes: Collection[str]) -> tuple[int, int]:
    done = 0
    for hash_ in sorted(hashes):
        target = making / "media" / hash_[:2] / hash_
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            copy_file(media / hash_[:2] / hash_, target)
            done += 1
    return done, len(hashes) - done


def _write_holo(ports: ExportPorts, making: Path, target: Path, given: Collection[str] | None) -> Exported:
    with reading(making / _COPY) as tx:
        found = holo.dump(tx, _wanted(tx, given), ports.redact)
    counts = {}
    for name, text in found.items():
        with _private(making / name) as file:
            file.write(text)
        counts[name] = text.count('"id"') if name.endswith(".json") else text.count("\n")
    return Exported(target, "holo", counts)


def _private(path: Path) -> IO[str]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass", newline="\n")


def no_such_format(format: str) -> StorageError:
    """For a word that is none of ``FORMATS``."""
    return StorageError(f"There is no format {format!r}.", hint=f"One of {', '.join(FORMATS)}.")
