"""Keeps the indexes: opens those that are good, makes those that are due, removes what is deleted from them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trio

from homed.errors import HomedError
from homed.retrieval.vectors import indexed, making, rows
from homed.retrieval.vectors.due import CROSSOVER, Standing, Step, due
from homed.retrieval.vectors.indexed import Indexed, Unusable
from homed.retrieval.vectors.making import Bench
from homed.retrieval.vectors.parts import Parts
from homed.retrieval.vectors.rows import Part
from homed.store.rows import Tx, dumps

_log = logging.getLogger(__name__)

PAUSE = 5.0
"""Seconds between two looks: one at a million rows takes 60 ms of a reader."""

LOOK = 300.0
"""Seconds until a look nobody asked for."""

AGAIN = 600.0
"""Seconds until an index that could not be made is tried again; the search is exact meanwhile."""

_PAGE = 20_000
_SAMPLES = 32
"""Rows of an index that are compared with the database's: another one may have given the same ids to others."""

Places = Mapping[Part, tuple[str, int]]
"""Of each part that has rows: the fingerprint of its space, and how many."""


@dataclass
class _Making:
    part: Part
    scope: trio.CancelScope
    over: trio.Event


class Keeper:
    """Its ``keep`` runs for the life of the daemon.  Everything here is of the Trio thread."""

    def __init__(self, parts: Parts, bench: Bench, *, crossover: int = CROSSOVER) -> None:
        self._parts = parts
        self._bench = bench
        self._store = bench.store
        self._crossover = crossover
        self._bases: dict[Part, Indexed] = {}
        self._again: dict[Part, float] = {}
        self._making: _Making | None = None
        self._opening, self._opened = trio.Lock(), False
        self._wake = trio.Event()

    def wake(self) -> None:
        """Vectors came or went.  Never waits."""
        self._wake.set()

    async def keep(self) -> None:
        """Open what there is, then look again whenever something changed.  Runs until it is cancelled.

        Nothing that goes wrong here is an error: the search is exact without an index.
        """
        await self.take_over()
        while True:
            self._wake = trio.Event()
            await self._guarded(self.look)
            await trio.sleep(PAUSE)
            with trio.move_on_after(LOOK):
                await self._wake.wait()

    async def take_over(self) -> None:
        """Open what there is, if that can be done."""
        await self._guarded(self.open)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (HomedError, OSError) as error:
            _log.warning("the index of vectors waits: %s", error)

    async def look(self) -> None:
        """Forget what was deleted, and bring every index up to date that is due."""
        await self.open()
        await self._forget_dropped()
        places = await self._store.read(_places)
        for part in set(self._bases) - set(places):
            await self._give_up(part)
        for part, (fingerprint, count) in places.items():
            step = due(await self._standing(part, count), self._crossover)
            if step is Step.REMOVE:
                await self._give_up(part)
            elif step is Step.MAKE and self._again.get(part, 0.0) <= trio.current_time():
                await self._make(part, fingerprint)
                await self._forget_dropped()

    async def forget_now(self, scope: str) -> int:
        """Remove every file of the scope that still holds a deleted vector; how many indexes that were.

        When this returns, none does: also the one that is being made is given up.  They are made anew at once.
        Raises StorageError.  Cancelled: call it again.
        """
        await self.open()
        now, removed = self._making, 0
        if now is not None and now.part.scope == scope:
            now.scope.cancel()
            await now.over.wait()
        for part, base in list(self._bases.items()):
            if part.scope == scope:
                alive = await self._store.read(lambda tx, p=part, b=base: rows.ids_up_to(tx, p, b.mark))  # type: ignore[misc]
                if len(alive) < base.about.count:
                    await self._give_up(part)
                    removed += 1
        await self._forget_dropped()
        self.wake()
        return removed

    async def remake(self, folders: Collection[str]) -> int:
        """Give up these indexes, by the names of their folders, and remove their files; how many there were.

        The search is exact until they are made anew, which happens at once where they are due.
        """
        await self.open()
        found = [name for name in making.names(self._bench.folder) if name in folders]
        for part, base in list(self._bases.items()):
            if base.folder.name in folders:
                await self._give_up(part)
        for name in found:
            await trio.to_thread.run_sync(making.remove, self._bench.folder / name)
        self.wake()
        return len(found)

    # -- opening ---------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Take over the indexes of the last run; what is none of these, whole or in part, is removed.  Once."""
        async with self._opening:
            if not self._opened:
                await self._open_all()
                self._opened = True

    async def _open_all(self) -> None:
        places = await self._store.read(_places)
        known = {indexed.whose(fingerprint, part): part for part, (fingerprint, _) in places.items()}
        kept = set()
        for key, part in known.items():
            for _, folder in making.generations(self._bench.folder, key):
                if part not in self._bases and await self._open(part, key, folder):
                    kept.add(folder.name)
        for name in making.names(self._bench.folder):
            if name not in kept:
                await trio.to_thread.run_sync(making.remove, self._bench.folder / name)

    async def _open(self, part: Part, key: str, folder: Path) -> bool:
        try:
            base = await trio.to_thread.run_sync(_checked, part, key, folder)
            dead = await self._store.read(lambda tx: _dead(tx, base))
        except Unusable:
            _log.warning("an index of vectors is damaged or another's; it is made anew, and nothing is lost")
            return False
        base.drop(dead)
        self._install(part, base)
        return True

    def _install(self, part: Part, base: Indexed) -> None:
        self._bases[part] = base
        self._parts.install(part, base)

    async def _give_up(self, part: Part) -> None:
        """Search without an index.  Its files are gone when this returns; whoever searches in them goes on."""
        self._parts.install(part, None)
        base = self._bases.pop(part, None)
        if base is not None:
            await trio.to_thread.run_sync(making.remove, base.folder)

    # -- looking ---------------------------------------------------------------------------------------------------

    async def _standing(self, part: Part, count: int) -> Standing:
        base = self._bases.get(part)
        if base is None:
            return Standing(count)
        tail = await self._store.read(lambda tx: rows.count_after(tx, part, base.mark))
        return Standing(count, base.about.count, base.dead, tail)

    async def _forget_dropped(self) -> None:
        """Take deleted vectors out of memory, and off the list where no file has them."""
        last = 0
        while True:
            page = await self._store.read(lambda tx, last=last: _dropped(tx, last))  # type: ignore[misc]
            if not page:
                return
            last = page[-1][0]
            done = await trio.to_thread.run_sync(self._forgotten, page)
            if done:
                await self._store.write(lambda tx, done=done: _undrop(tx, done))  # type: ignore[misc]

    def _forgotten(self, page: list[tuple[int, Part]]) -> list[int]:
        groups: defaultdict[Part, list[int]] = defaultdict(list)
        for id_, part in page:
            groups[part].append(id_)
        done: list[int] = []
        for part, ids in groups.items():
            self._parts.drop(part, ids)
            base = self._bases.get(part)
            if base is None:
                done += ids
            else:
                done += np.setdiff1d(ids, base.ids).tolist()
        return done

    # -- making ----------------------------------------------------------------------------------------------------

    async def _make(self, part: Part, fingerprint: str) -> None:
        now = self._making = _Making(part, trio.CancelScope(), trio.Event())
        old, made = self._bases.get(part), None
        try:
            with now.scope:
                about = old.about if old is not None else None
                made = await making.make(self._bench, part, fingerprint, lambda m: self._meanwhile(part, m), about)
                dead = await self._store.read(lambda tx, made=made: _dead(tx, made))  # type: ignore[misc]
                made.drop(dead)
                self._install(part, made)
        except (HomedError, OSError, Unusable) as error:
            self._again[part] = trio.current_time() + AGAIN
            _log.warning("an index of vectors could not be made; the search is exact meanwhile: %s", error)
        finally:
            with trio.CancelScope(shield=True):  # two unlinks: nothing waits in there
                await self._settled(part, old, made)
            self._making = None
            now.over.set()

    async def _settled(self, part: Part, old: Indexed | None, made: Indexed | None) -> None:
        """Of the old index and the new one only that which is in use stays."""
        used = self._bases.get(part)
        if used is None:
            self._parts.install(part, None)
        for one in (old, made):
            if one is not None and one is not used:
                await trio.to_thread.run_sync(making.remove, one.folder)

    def _meanwhile(self, part: Part, matrix: Indexed) -> None:
        """Where there is no index yet, its matrix by itself is better than reading every row."""
        if part not in self._bases:
            self._parts.install(part, matrix)


def _places(tx: Tx) -> Places:
    found = tx.all(
        "SELECT v.space, s.dims, v.scope, v.kind, s.fingerprint, count(*) FROM vectors v"
        " JOIN vector_spaces s ON s.id = v.space GROUP BY v.space, v.scope, v.kind"
    )
    return {Part(space, dims, scope, kind): (print_, count) for space, dims, scope, kind, print_, count in found}


def _checked(part: Part, key: str, folder: Path) -> Indexed:
    about = indexed.read_about(folder)
    if (about.whose, about.dims) != (key, part.dims):
        raise Unusable(folder.name)
    return indexed.opened(folder, part, about)


def _dead(tx: Tx, base: Indexed) -> list[int]:
    """The ids of an index that are no rows any more.  Unusable: its rows are not this database's."""
    alive = rows.ids_up_to(tx, base.part, base.mark)
    if not np.isin(alive, base.ids, assume_unique=True).all():
        raise Unusable(base.folder.name)
    chosen = alive[np.unique(np.linspace(0, len(alive) - 1, _SAMPLES).astype(int))] if len(alive) else alive
    block = rows.of_ids(tx, base.part, chosen.tolist())
    if not np.array_equal(base.vectors_at(block.ids), block.vectors):
        raise Unusable(base.folder.name)
    dead: list[int] = np.setdiff1d(base.ids, alive, assume_unique=True).tolist()
    return dead


def _dropped(tx: Tx, last: int) -> list[tuple[int, Part]]:
    found = tx.all(
        "SELECT d.id, d.space, coalesce(s.dims, 0), d.scope, d.kind FROM vector_drops d"
        " LEFT JOIN vector_spaces s ON s.id = d.space WHERE d.id > ? ORDER BY d.id LIMIT ?",
        (last, _PAGE),
    )
    return [(id_, Part(space, dims, scope, kind)) for id_, space, dims, scope, kind in found]


def _undrop(tx: Tx, ids: list[int]) -> None:
    tx.execute("DELETE FROM vector_drops WHERE id IN (SELECT value FROM json_each(?))", (dumps(ids),))
