"""Making an index: rows into a file, trees over it in a process of its own, then one rename."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trio

from homed.errors import Unavailable
from homed.failpoints import Failpoints, NoFailpoints
from homed.proc.spawn import Child, Command, spawn
from homed.retrieval.vectors import due, indexed, rows
from homed.retrieval.vectors.indexed import About, Draft, Indexed
from homed.retrieval.vectors.rows import Part
from homed.store.rows import Storage
from homed.wire.durable import sync_folder

MOST_SECONDS = 4 * 3600.0
"""For the trees of a million vectors on a machine that does something else: they took minutes alone."""

_log = logging.getLogger(__name__)

_CHUNK = 1 << 16

NEW = "new-"
"""What the name of a folder begins with that is not an index yet; a start removes those."""

Trees = Callable[[Path, int, int], Awaitable[Mapping[str, object]]]
"""Builds the trees in a folder over so many dimensions and vectors; what ``child.build`` returns."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What making an index takes."""

    store: Storage
    folder: Path
    trees: Trees
    failpoints: Failpoints = field(default_factory=NoFailpoints)


def in_child(environment: Mapping[str, str], mark: str) -> Trees:
    """Trees built by a niced process with this environment; it is killed when whoever waits is cancelled."""
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    async def build(folder: Path, dims: int, count: int) -> Mapping[str, object]:
        argv = (sys.executable, "-m", "homed.retrieval.vectors.child", str(folder), str(dims), str(count))
        command = Command(argv, folder, {**environment, **alone})
        said = b""
        with trio.move_on_after(MOST_SECONDS):
            async with spawn(command, mark=mark) as child:
                said = await _heard(child)
        try:
            return dict(json.loads(said))
        except ValueError as error:
            raise Unavailable("The process that builds the index of vectors ended without one.") from error

    return build


async def _heard(child: Child) -> bytes:
    """What it says until it ends.  Its stdin stays open so long: it ends with us."""
    said = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, child.stderr)
        while some := await child.stdout.receive_some(_CHUNK):
            said += some[: _CHUNK - len(said)]
        await child.wait()
        nursery.cancel_scope.cancel()
    return bytes(said)


async def _drain(stream: trio.abc.ReceiveStream) -> None:
    while some := await stream.receive_some(_CHUNK):
        _log.debug("the process that builds the index says: %s", bytes(some[:500]))


async def make(
    bench: Bench, part: Part, fingerprint: str, ready: Callable[[Indexed], None], before: About | None = None
) -> Indexed:
    """A new index of the part's rows, on the disk and open.  ``ready``: told of its matrix before there are trees;
    ``before``: what is known of the one that it takes the place of.

    Raises OSError for what the disk refuses, HomedError where the rows cannot be read or the trees not be built.
    Cancelled or failed: nothing of it is left.
    """
    key = indexed.whose(fingerprint, part)
    new = bench.folder / f"{NEW}{key}"
    with _gone_unless_renamed(new):
        await trio.to_thread.run_sync(_fresh, new)
        draft = await _drafted(bench.store, part, new)
        count = await trio.to_thread.run_sync(draft.close)
        about = About(key, part.dims, count, draft.mark, 0)
        ready(await trio.to_thread.run_sync(lambda: Indexed(part, about, new, tree=False)))
        if due.trees(count, before.count if before else 0, before.width if before else 0):
            made = await bench.trees(new, part.dims, count)
        else:
            made = await trio.to_thread.run_sync(_without_trees, new)
        about = About(key, part.dims, count, draft.mark, **made)  # type: ignore[arg-type]
        return await trio.to_thread.run_sync(_finished, bench, part, about, new)


def _without_trees(folder: Path) -> Mapping[str, object]:
    """What ``child.build`` returns where no trees pay."""
    return {"width": 0, "recall": 1.0, "sums": {name: indexed.checksum(folder / name) for name in ("vectors", "ids")}}


async def _drafted(store: Storage, part: Part, folder: Path) -> Draft:
    """All rows in a file, some at a time: a snapshot that is held long keeps the log from being emptied."""
    draft = await trio.to_thread.run_sync(Draft, folder)
    try:
        while True:
            mark = draft.mark
            block = await store.read(lambda tx, mark=mark: rows.after(tx, part, mark))  # type: ignore[misc]
            if not len(block):
                return draft
            await trio.to_thread.run_sync(draft.add, block)
    except BaseException:
        draft.abandon()
        raise


def _finished(bench: Bench, part: Part, about: About, new: Path) -> Indexed:
    indexed.complete(new, about)
    sync_folder(new)
    bench.failpoints.reach("index.written")
    taken = [number for number, _ in generations(bench.folder, about.whose)]
    folder = bench.folder / f"{about.whose}-{max(taken, default=0) + 1}"
    new.rename(folder)
    try:
        sync_folder(bench.folder)
        bench.failpoints.reach("index.swapped")
        return Indexed(part, about, folder, tree=True)
    except BaseException:  # nobody would know of it
        remove(folder)
        raise


def generations(root: Path, key: str) -> Iterator[tuple[int, Path]]:
    """The indexes of a part, newest first: their numbers and folders."""
    found = [(name.removeprefix(f"{key}-"), root / name) for name in names(root) if name.startswith(f"{key}-")]
    yield from sorted(((int(number), path) for number, path in found if number.isdigit()), reverse=True)


def names(root: Path) -> list[str]:
    """What is in the folder; nothing when it is not there."""
    try:
        return sorted(path.name for path in root.iterdir())
    except FileNotFoundError:
        return []


def remove(folder: Path) -> None:
    """Remove a folder of an index, as far as that goes: ``about.json`` first, without which it is none.  Or a file."""
    for file in (folder / "about.json", folder):
        with suppress(OSError):
            file.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _fresh(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove(folder)
    folder.mkdir(mode=0o700)


@contextmanager
def _gone_unless_renamed(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        remove(folder)
