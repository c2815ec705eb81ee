"""Taking an export in: looked through first, then row by row into memory, whatever interrupts it.

What was looked through lies in ``DATA/imports/ID`` until all of it is in; a start goes on with what a crash cut off, so
that nothing stays half taken in.  Doing a row twice does no harm: ids are kept, and what is known stays as it is.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import trio

from homed.clock import WallClock, new_id, system_wall_clock
from homed.errors import HomedError, InvalidInput
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs import holo, holoread, holotake
from homed.jobs.staged import Looked, manifest_of, stage
from homed.jobs.taking import Source, drop_bare, drop_empty, settle, take
from homed.memory.portable import BY_NAME, TABLES, Carried, select
from homed.store import problems
from homed.store.backup import copy_file, plain
from homed.store.rows import SqlValue, Storage, Tx, dumps
from homed.store.staging import staging
from homed.wire.durable import sync_folder, write_whole

log = logging.getLogger(__name__)

FOLDER = "imports"
READY = "ready.json"
ASIDE = "quarantine.jsonl"

ROWS = 64
"""Taken in with one transaction: some 30 ms with their words."""

HOLO_ROWS = 4
"""Records of holo-memory's files in one transaction: each is held against all that are known."""

HOLO_NAMES: Mapping[str, str] = {"summary": "summaries", "fact": "facts", "capsule": "capsules"}

MOST_HOLO = 128 * 1024 * 1024
"""Bytes of one of holo-memory's files: twice what a scope may have at the most, every record as long as it can be."""

MOST_ASIDE = 10_000
"""Lines that are put aside one by one; more are counted only."""


@dataclass(frozen=True, slots=True)
class Imported:
    """``taken``: rows by table, of holo-memory's files records by kind; ``known``: were there already; ``refused``:
    lines that were put aside, by reason, and named in the file ``aside``, or records that were left out; ``forgotten``:
    rows left out because they were forgotten here."""

    format: str
    taken: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    forgotten: int = 0
    revised: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    aside: str = ""

    def wire(self) -> dict[str, object]:
        """For the API and ``--json``."""
        return {
            "format": self.format, "taken": dict(self.taken), "known": self.known, "forgotten": self.forgotten,
            "revised": self.revised, "refused": dict(self.refused), "aside": self.aside,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPorts:
    """``place``: have the bytes of a file stand in the store of attachments under their hash."""

    store: Storage
    data: Path
    media: Path
    redact: Callable[[str], str]
    stored: Callable[[], object] = lambda: None
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


class Importing:
    """Takes exports in, one at a time."""

    def __init__(self, ports: ImportPorts) -> None:
        self._ports = ports
        self._one = trio.Lock()

    async def resume(self) -> int:
        """Finish what a crash cut off; how many.  What was not looked through to its end is thrown away."""
        folder, done = self._ports.data / FOLDER, 0
        for path in await trio.to_thread.run_sync(_left, folder):
            async with self._one:
                if not await trio.to_thread.run_sync((path / READY).exists):
                    await trio.to_thread.run_sync(partial(shutil.rmtree, path, ignore_errors=True))
                    continue
                try:
                    await self._take_in(path, Looked())
                    await trio.to_thread.run_sync(partial(_leave, path, folder))
                    done += 1
                except HomedError as error:  # the others are not held up by it; the next start tries again
                    log.error("an import that was cut off could not be finished: %s", error)
                except (OSError, ValueError, KeyError):
                    log.exception("an import that was cut off could not be finished")
        return done

    async def import_(self, source: Path, *, scope: str = "owner") -> Imported:
        """Take the export in ``source`` in, in either format.  ``scope``: of what is new in a holo export.

        Raises InvalidInput for what is no export, or of a later version; StorageError.  Cancelled before it is looked
        through: nothing is taken in.  Cancelled later: the next start goes on.
        """
        async with self._one:
            with problems.translated(source):
                if await trio.to_thread.run_sync(_is_holo, source):
                    return await self._holo(source, scope)
                return await self._lines(source)

    async def _lines(self, source: Path) -> Imported:
        await trio.to_thread.run_sync(manifest_of, source)
        path = self._ports.data / FOLDER / new_id("import")
        empty = not await self._ports.store.read(lambda tx: tx.value("SELECT EXISTS (SELECT 1 FROM events)"))
        try:
            looked = await trio.to_thread.run_sync(self._look, source, path, empty)
            self._ports.failpoints.reach("import.staged")
        except BaseException:
            with trio.move_on_after(10, shield=True):
                await trio.to_thread.run_sync(partial(shutil.rmtree, path, ignore_errors=True))
            raise
        done = await self._take_in(path, looked)
        await trio.to_thread.run_sync(partial(_leave, path, self._ports.data / FOLDER))
        return done

    def _look(self, source: Path, path: Path, empty: bool) -> Looked:
        path.mkdir(mode=0o700, parents=True)
        with _Aside(path / ASIDE) as aside, staging(path / "staging.db") as into:
            looked = stage(source, into, aside.tell, self._ports.redact)
            hashes = [str(h) for (h,) in into.tx.all("SELECT DISTINCT hash FROM blocks")]
        for hash_ in hashes:
            target = path / "media" / hash_[:2] / hash_
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy_file(source / "media" / hash_[:2] / hash_, target)
        looked.files = len(hashes)
        write_whole(path / READY, json.dumps({"key": looked.key, "empty": empty}))
        sync_folder(path.parent)
        return looked

    async def _take_in(self, path: Path, looked: Looked) -> Imported:
        """All that was looked through, into the store; a row that is there already stays."""
        ports, counts, taken = self._ports, Counter[str](), Counter[str]()
        about = json.loads(await trio.to_thread.run_sync((path / READY).read_text))
        for table in TABLES:
            come = Source(about["key"], about["empty"], ports.wall())
            async with aclosing(_pages(path, table)) as pages:
                async for rows in pages:
                    grounds = await trio.to_thread.run_sync(_grounds, path, table, rows)
                    piece = await ports.store.write(partial(take, source=come, table=table, rows=rows, grounds=grounds))
                    taken[table.name] += piece["taken"]
                    counts += piece
                    ports.failpoints.reach("import.taken")
        async with aclosing(_pages(path, BY_NAME["records"])) as pages:
            async for rows in pages:
                taken["records"] -= await ports.store.write(partial(settle, rows=rows))
        named_there, spoken_in = await trio.to_thread.run_sync(_named, path)
        for start in range(0, len(named_there), ROWS):
            some = named_there[start : start + ROWS]
            taken["entities"] -= await ports.store.write(partial(drop_bare, entities=some))
        for start in range(0, len(spoken_in), ROWS):
            some = spoken_in[start : start + ROWS]
            taken["threads"] -= await ports.store.write(partial(drop_empty, threads=some))
        named = await ports.store.read(_hashes)
        await trio.to_thread.run_sync(_place, path / "media", ports.media, named)
        ports.failpoints.reach("import.placed")
        ports.stored()
        aside = str(ports.data / FOLDER / f"{path.name}.{ASIDE}") if looked.refused else ""
        return Imported(
            "jsonl", {name: count for name, count in taken.items() if count > 0}, counts["known"], counts["forgotten"],
            counts["revised"], dict(looked.refused), aside,
        )  # fmt: skip

    async def _holo(self, source: Path, scope: str) -> Imported:
        """Nothing of it is kept for a start to go on with: whoever imports it again has the rest taken in."""
        ports, at, taken = self._ports, self._ports.wall(), holotake.Taken()
        for name, record in holo.FILES.items():
            look = partial(_holo_file, source / name, record, scope, at)
            try:
                given, refused = await trio.to_thread.run_sync(look)
            except FileNotFoundError:
                there = await trio.to_thread.run_sync(os.path.lexists, source / name)
                taken.refused[f"{name} is no plain file"] += there
                continue
            except TooLarge:
                taken.refused[f"{name} is too large"] += 1
                continue
            except (ValueError, RecursionError):
                taken.refused[f"{name} is no JSON"] += 1
                continue
            taken.refused += refused
            chosen = await ports.store.read(partial(holotake.choose, given=given, taken=taken, at=at))
            for start in range(0, len(chosen), HOLO_ROWS):
                some = chosen[start : start + HOLO_ROWS]
                await ports.store.write(partial(holotake.take, given=some, taken=taken, at=ports.wall()))
                ports.failpoints.reach("import.taken")
        for start in range(0, len(taken.links), HOLO_ROWS):
            links = taken.links[start : start + HOLO_ROWS]
            await ports.store.write(partial(holotake.link, some=links, taken=taken, at=at))
        ports.stored()
        forgotten = taken.refused.pop(holotake.FORGOTTEN, 0)
        new = {HOLO_NAMES[record]: taken.new[record] for record in holo.FILES.values() if taken.new[record]}
        return Imported("holo", new, taken.same, forgotten, taken.revised, dict(+taken.refused))


class TooLarge(Exception):
    """A file that nobody's memory is."""


def _holo_file(path: Path, record: str, scope: str, now: float) -> tuple[list[holoread.Given], Counter[str]]:
    """The records of a file that can be taken in, and why others can not."""
    with os.fdopen(plain(path), "rb") as file:
        text = file.read(MOST_HOLO + 1)
    if len(text) > MOST_HOLO:
        raise TooLarge
    found, refused = [], Counter[str]()
    for one in holoread.parse(text):
        try:
            found.append(holoread.read(one, record, scope=scope, now=now))
        except holoread.Refused as error:
            refused[str(error.args[0])] += 1
    return found, refused


def _is_holo(source: Path) -> bool:
    if not source.is_dir():
        raise InvalidInput(f"{source} is no folder.", hint="Give the folder that was written by an export.")
    return not (source / "manifest.json").exists() and any((source / name).exists() for name in holo.FILES)


def _left(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("import_*") if path.is_dir()) if folder.is_dir() else []


def _leave(path: Path, folder: Path) -> None:
    """What was put aside stays, beside where the import was; the rest goes."""
    aside = path / ASIDE
    if aside.stat().st_size:
        aside.replace(folder / f"{path.name}.{ASIDE}")
    shutil.rmtree(path)


def _hashes(tx: Tx) -> frozenset[str]:
    return frozenset(str(hash_) for (hash_,) in tx.all("SELECT DISTINCT hash FROM blocks"))


def _place(staged: Path, media: Path, named: Collection[str]) -> None:
    """Files that a row names, to where attachments are; what a crash leaves without, the next start does."""
    for file in sorted(staged.glob("??/*")):
        target = media / file.parent.name / file.name
        if file.name in named and not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.rename(target)
            sync_folder(target.parent)


async def _pages(path: Path, table: Carried) -> AsyncGenerator[Sequence[Sequence[SqlValue]], None]:
    """What was looked through of a table, some rows at a time, in the order of its key."""
    after: tuple[SqlValue, ...] = ()
    places = [table.columns.index(column) for column in table.key]
    while rows := await trio.to_thread.run_sync(_page, path / "staging.db", table, after):
        yield rows
        after = tuple(rows[-1][place] for place in places)


def _named(path: Path) -> tuple[list[str], list[str]]:
    """Entities that a record there names, and conversations in which something was said."""
    with staging(path / "staging.db") as held:
        entities = held.tx.all(
            "SELECT subject FROM records WHERE subject IS NOT NULL"
            " UNION SELECT object_entity FROM records WHERE object_entity IS NOT NULL"
        )
        threads = held.tx.all("SELECT DISTINCT thread FROM events")
    return [str(entity) for (entity,) in entities], [str(thread) for (thread,) in threads]


def _grounds(path: Path, table: Carried, rows: Sequence[Sequence[SqlValue]]) -> Mapping[str, Sequence[str]]:
    """What these records, or those that these rows are of, rest on there."""
    column = {"records": "id", "revisions": "record"}.get(table.name)
    if column is None:
        return {}
    place, found = table.columns.index(column), defaultdict[str, list[str]](list)
    among = dumps(sorted({str(row[place]) for row in rows}))
    with staging(path / "staging.db") as held:
        resting = "SELECT record, event FROM evidence WHERE record IN (SELECT value FROM json_each(?))"
        for record, event in held.tx.all(resting, (among,)):
            found[record].append(event)
    return found


def _page(path: Path, table: Carried, after: tuple[SqlValue, ...]) -> Sequence[Sequence[SqlValue]]:
    with staging(path) as held:
        return held.tx.all(select(table, scoped=False, after=after), (*after, ROWS))


class _Aside:
    """Writes down what was put aside."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MOST_ASIDE

    def __enter__(self) -> _Aside:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file: IO[str] = os.fdopen(fd, "w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def tell(self, file: str, line: int, why: str) -> None:
        """One line."""
        self._left -= 1
        if self._left >= 0:
            self._file.write(json.dumps({"file": file, "line": line, "why": why}) + "\n")
