"""What plugins tell of changes, and the way back.

A set is ``open`` from before its plugin touches anything.  A roll back is a set too: what it puts back can be put back.
The one who made a set puts it back, for it was allowed to work in that folder; nothing here touches a file of a
person's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import trio

from homed.clock import WallClock, new_id, system_wall_clock
from homed.config.definitions import (
    TRACKER,
    TRACKER_ENTRIES,
    TRACKER_FILE,
    TRACKER_FOLDER,
    TRACKER_IGNORE,
    TRACKER_KEEP,
    TRACKER_SECONDS,
    TRACKER_STORED,
)
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, PluginFailed, Unavailable
from homed.failpoints import Failpoints, NoFailpoints
from homed.store.rows import Storage, Tx
from homed.tracker import diff, records
from homed.tracker.blobs import Blobs
from homed.tracker.records import ChangeSet, Wanted
from homed.wire.methods import TRACKER_RESTORE
from homed.wire.tracked import BACK, FILE, Change, decoded, encoded, printable

log = logging.getLogger(__name__)

PIECE = 384 * 1024
"""Bytes of a content that go to a plugin at once."""

PAGE = 200
"""Entries that go to a plugin at once."""

RESTORE_LIMIT = 900.0
TRIES = 3
"""Times that a roll back goes on after its plugin died."""

_CHANGED_SINCE = "Files were changed since then."


class SettingsPort(Protocol):
    """What is read of the settings."""

    def get(self, key: str) -> Any:
        """The value in force."""
        ...


class PluginsPort(Protocol):
    """Calls into plugins."""

    async def wait_ready(self, name: str) -> None:
        """Wait until it is there; Unavailable."""
        ...

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerPorts:
    """What it works with.  ``data``: the data folder, in which nothing is ever tracked."""

    store: Storage
    settings: SettingsPort
    plugins: PluginsPort
    data: Path
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who has a change made, and by what: ids as in ``tracker_sets``."""

    plugin: str
    tool: str = ""
    call: str = ""
    turn: str = ""
    thread: str = ""
    scope: str = ""
    peer: str = ""


class Tracker:
    """The change sets."""

    def __init__(self, ports: TrackerPorts, blobs: Blobs | None = None) -> None:
        self._ports = ports
        self._store = ports.store
        self._blobs = blobs or Blobs(ports.data / "tracker")
        self._files = trio.Lock()  # a content is placed and named, or tidied up: never both at once
        self._restoring: set[str] = set()

    # -- for plugins -----------------------------------------------------------------------------------------------

    async def begin(self, asked: Asked, folder: bytes) -> dict[str, object]:
        """A set for what is about to be changed in ``folder``; its id is empty when nothing is tracked."""
        if not self._ports.settings.get(TRACKER):
            return {"set": ""}
        if not folder.startswith(b"/"):
            raise InvalidInput("folder is an absolute path.")
        set_ = ChangeSet(
            id=new_id("chg"), at=self._ports.wall(), plugin=asked.plugin, tool=asked.tool, call=asked.call,
            turn=asked.turn, thread=asked.thread, scope=asked.scope, peer=asked.peer, folder=folder,
        )  # fmt: skip
        await self._store.write(lambda tx: records.begin(tx, set_))
        return {"set": set_.id, **self._bounds()}

    def _bounds(self) -> dict[str, object]:
        get = self._ports.settings.get
        info = os.stat(self._ports.data)
        limits = {
            "entries": get(TRACKER_ENTRIES), "seconds": get(TRACKER_SECONDS), "file": get(TRACKER_FILE),
            "total": get(TRACKER_FOLDER),
        }  # fmt: skip
        ignore = [str(pattern) for pattern in get(TRACKER_IGNORE)]
        return {"limits": limits, "ignore": ignore, "avoid": [[info.st_dev, info.st_ino]]}

    async def add(self, plugin: str, id_: str, found: Sequence[Change], at: int) -> list[str]:
        """Entries of an open set; the contents of theirs that are to be handed over."""
        hashes = {hash_ for change in found for hash_ in change.hashes}

        def write(tx: Tx) -> set[str]:
            records.add(tx, records.of_plugin(tx, id_, plugin).seq, found, at=at)
            return records.known(tx, hashes)

        return sorted(hashes - await self._store.write(write))

    async def put(self, plugin: str, id_: str, hash_: str, data: bytes, at: int, *, last: bool) -> None:
        """A piece of a content that an open set names."""

        def wanted(tx: Tx) -> bool:
            seq = records.of_plugin(tx, id_, plugin).seq
            return any(records.names(tx, seq, hash_, column=column) for column in ("before", "after"))

        if not await self._store.read(wanted):
            raise InvalidInput("The change does not name this content.")
        async with self._files:
            await self._blobs.receive(id_, hash_, data, at)
            if last:
                size, stored = await self._blobs.close(id_, hash_)
                await self._store.write(lambda tx: records.keep(tx, hash_, size, stored))

    async def finish(self, plugin: str, id_: str, *, cut: bool, problem: str = "") -> None:
        """The set is whole; or it is not tracked, and ``problem`` says why."""
        at, get = self._ports.wall(), self._ports.settings.get
        keep, stored = int(get(TRACKER_KEEP)), int(get(TRACKER_STORED))

        def write(tx: Tx) -> None:
            set_ = records.of_plugin(tx, id_, plugin)
            records.finish(tx, set_, at=at, cut=cut, problem=problem)
            records.thin(tx, keep=keep, stored=stored)

        await self._store.write(write)
        await self.tidy()

    async def plan(self, plugin: str, id_: str, after: int) -> dict[str, object]:
        """Entries of the set that an open roll back of this plugin puts back, from the one of this number on."""

        def read(tx: Tx) -> list[Change]:
            set_ = _rollback(tx, id_, plugin)
            return records.changes(tx, records.get(tx, set_.undoes).seq, after=after, limit=PAGE + 1)

        found = await self._store.read(read)
        return {"changes": [change.wire() for change in found[:PAGE]], "more": len(found) > PAGE}

    async def give(self, plugin: str, id_: str, hash_: str, offset: int) -> dict[str, object]:
        """A piece of a content that an open roll back puts back."""

        def wanted(tx: Tx) -> bool:
            undone = records.get(tx, _rollback(tx, id_, plugin).undoes)
            return records.names(tx, undone.seq, hash_, column="before")

        if not await self._store.read(wanted):
            raise InvalidInput("The change does not put this content back.")
        data = await self._blobs.read(hash_)
        piece = data[offset : offset + PIECE]
        return {"data": encoded(piece), "last": offset + len(piece) >= len(data)}

    # -- for people ------------------------------------------------------------------------------------------------

    async def listed(self, wanted: Wanted) -> dict[str, object]:
        """The result of ``admin.tracker_list``."""

        def read(tx: Tx) -> dict[str, object]:
            sets, more = records.listed(tx, wanted)
            counts = records.counts(tx, [one.seq for one in sets])
            undone = records.undone_by(tx, [one.id for one in sets])
            shown = [_view(one, counts.get(one.seq, {}), undone.get(one.id, "")) for one in sets]
            return {"changes": shown, "more": more}

        return await self._store.read(read)

    async def show(self, id_: str, *, after: int = 0, limit: int = 500) -> dict[str, object]:
        """The result of ``admin.tracker_show``: a set with its entries."""

        def read(tx: Tx) -> dict[str, object]:
            set_ = records.get(tx, id_)
            found = records.changes(tx, set_.seq, after=after, limit=limit + 1)
            counts, undone = records.counts(tx, [set_.seq]), records.undone_by(tx, [set_.id])
            view = _view(set_, counts.get(set_.seq, {}), undone.get(set_.id, ""))
            return {**view, "files": diff.views(found[:limit], start=after), "more": len(found) > limit}

        return await self._store.read(read)

    async def diff(self, id_: str, number: int) -> dict[str, object]:
        """The result of ``admin.tracker_diff``: how the content of one entry changed."""

        def read(tx: Tx) -> tuple[Change, Mapping[bytes, bytes], list[Change]]:
            set_ = records.get(tx, id_)
            every = records.changes(tx, set_.seq)
            found = records.changes(tx, set_.seq, after=number, limit=1)
            if not found:
                raise NotFound(f"This change has no entry {number}.")
            return found[0], diff.renames(every), every

        change, renamed, _ = await self._store.read(read)
        view = diff.views([change], start=number)[0]
        if change.path in renamed:
            return {**view, "kind": "same", "lines": [], "more": False, "from": printable(renamed[change.path])}
        contents = []
        for state in (change.before, change.after):
            if state is not None and state.kind == FILE and state.unkept:
                return {**view, "kind": "unkept", "lines": [], "more": False}
            contents.append(await self._blobs.read(state.hash) if state is not None and state.hash else None)
        if contents == [None, None] or contents[0] == contents[1]:
            return {**view, "kind": "same", "lines": [], "more": False}
        compare = diff.difference
        return {**view, **await trio.to_thread.run_sync(lambda: compare(contents[0], contents[1]))}

    async def rollback(self, id_: str, asked: Asked, *, force: bool = False) -> dict[str, object]:
        """Put a set back: ``{set, restored, troubles}``, ``set`` being the roll back's own, which can be undone.

        Raises NotFound; Conflict when files were changed since then (``detail`` names them; ``force`` replaces them) or
        the set is still being made; Unavailable when its plugin does not run.  Cancelled: it may be done or not; what
        was begun is ended at the next start.
        """
        set_ = await self._store.read(lambda tx: records.get(tx, id_))
        if set_.state != records.DONE:
            why = set_.note or "its tool is still at work"
            raise Conflict("There is nothing to put back.", hint=why, detail={"state": set_.state})
        back = ChangeSet(
            id=new_id(BACK), at=self._ports.wall(), plugin=set_.plugin, tool=asked.tool, call=asked.call,
            turn=asked.turn, thread=asked.thread, scope=set_.scope, peer=asked.peer, folder=set_.folder,
            undoes=set_.id, forced=force,
        )  # fmt: skip
        async with self._alone(set_.folder):
            await self._ports.plugins.wait_ready(set_.plugin)
            await self._store.write(lambda tx: records.begin(tx, back))
            self._ports.failpoints.reach("tracker.rollback")
            return await self._restore(back)

    @asynccontextmanager
    async def _alone(self, folder: bytes) -> AsyncIterator[None]:
        name = folder.hex()
        if name in self._restoring:
            raise Conflict("Something is being put back in this folder already.", hint="Try again in a moment.")
        self._restoring.add(name)
        try:
            yield
        finally:
            self._restoring.discard(name)

    async def _restore(self, back: ChangeSet) -> dict[str, object]:
        params = {
            "set": back.id, "folder": encoded(back.folder), "force": back.forced, **self._bounds(),
        }  # fmt: skip
        for attempt in range(1, TRIES + 1):
            try:
                answer = await self._ports.plugins.call(back.plugin, TRACKER_RESTORE, params, timeout=RESTORE_LIMIT)
            except HomedError as error:
                failed = error
            else:
                return await self._ended(back, answer)
            if not isinstance(failed, PluginFailed | Unavailable):
                await self._drop(back)  # it was refused: nothing was begun
                raise failed
            if attempt < TRIES:
                await self._ports.plugins.wait_ready(back.plugin)
        raise failed

    async def _ended(self, back: ChangeSet, answer: object) -> dict[str, object]:
        known: Mapping[str, Any] = answer if isinstance(answer, Mapping) else {}
        troubles = [_trouble(one) for one in known.get("troubles", ())]
        if known.get("refused"):
            await self._drop(back)
            raise Conflict(
                _CHANGED_SINCE, hint="Nothing was touched. Force it to replace them: what is there now is kept.",
                detail={"files": troubles},
            )  # fmt: skip
        still = await self._store.read(lambda tx: tx.value("SELECT state FROM tracker_sets WHERE id = ?", (back.id,)))
        if still == records.OPEN:
            await self._drop(back)
        return {
            "set": back.id if still == records.DONE else "", "restored": int(known.get("restored", 0)),
            "troubles": troubles,
        }  # fmt: skip

    async def _drop(self, set_: ChangeSet) -> None:
        await self._store.write(
            lambda tx: tx.execute("DELETE FROM tracker_sets WHERE id = ? AND state = 'open'", (set_.id,))
        )

    async def forget(self, id_: str = "", path: str = "") -> dict[str, object]:
        """Forget a set, or one file (or folder, by its absolute path) in every set: how many entries went.

        The files themselves stay as they are.
        """

        def write(tx: Tx) -> int:
            if path:
                return records.drop_path(tx, os.fsencode(path))
            set_ = records.get(tx, id_)
            count = int(tx.value("SELECT count(*) FROM tracker_files WHERE seq = ?", (set_.seq,)))
            records.drop(tx, [set_.seq])
            return count

        gone = await self._store.write(write)
        await self.tidy()
        return {"entries": gone}

    async def tidy(self) -> None:
        """Remove kept contents that no set names any more; once this returns they are not on the disk."""
        async with self._files:

            def write(tx: Tx) -> tuple[set[str], set[str]]:
                records.unneeded(tx)
                wanted = {hash_ for (hash_,) in tx.all("SELECT hash FROM tracker_blobs")}
                return wanted, {id_ for (id_,) in tx.all("SELECT id FROM tracker_sets WHERE state = 'open'")}

            wanted, sets = await self._store.write(write)
            await self._blobs.tidy(wanted, sets)

    async def resume(self, backs: Collection[ChangeSet]) -> None:
        """Go on with roll backs that were broken off; what cannot be done now is tried at the next start."""
        for back in backs:
            try:
                async with self._alone(back.folder):
                    await self._ports.plugins.wait_ready(back.plugin)
                    await self._restore(back)
            except HomedError as error:
                log.warning("a roll back that was broken off could not go on: %s", error.message)


def _rollback(tx: Tx, id_: str, plugin: str) -> ChangeSet:
    set_ = records.of_plugin(tx, id_, plugin)
    if not set_.undoes:
        raise NotFound("This change puts nothing back.")
    return set_


def _trouble(value: object) -> dict[str, object]:
    known: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    try:
        path = printable(decoded(known.get("path")))
    except ValueError:
        path = "?"
    return {"path": path, "why": str(known.get("why", ""))[:40], "detail": str(known.get("detail", ""))[:200]}


def _view(set_: ChangeSet, counts: Mapping[str, int], undone: str) -> dict[str, object]:
    return {
        "id": set_.id, "seq": set_.seq, "at": set_.at, "ended_at": set_.ended_at, "state": set_.state,
        "plugin": set_.plugin, "tool": set_.tool, "turn": set_.turn, "thread": set_.thread, "peer": set_.peer,
        "scope": set_.scope, "folder": printable(set_.folder), "undoes": set_.undoes, "undone_by": undone,
        "cut": set_.cut, "note": set_.note, "created": 0, "changed": 0, "deleted": 0, **counts,
    }  # fmt: skip
