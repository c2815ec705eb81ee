"""Whether the files beside the database are what the database says: indexes of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from homed.jobs.memcheck.check import Check, Look, judged
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found
from homed.retrieval.vectors import indexed, making
from homed.retrieval.vectors.indexed import Unusable
from homed.retrieval.vectors.rows import Part
from homed.store.rows import Tx


@dataclass(frozen=True, slots=True)
class VectorFiles:
    """Every folder of ``DATA/vectors`` is a whole index of vectors that are in the database."""

    id: str = "vector_index"
    name: str = "Indexes of vectors"
    deep: bool = False
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        known = await room.store.read(_known)
        found = await trio.to_thread.run_sync(
            partial(_look, room.paths.vectors, known, deep=room.deep), abandon_on_cancel=True
        )
        if found.wrong:  # what homed replaced while we looked is no fault
            again = await room.store.read(_known)
            found = await trio.to_thread.run_sync(partial(_look, room.paths.vectors, known | again, deep=room.deep))
        return judged(
            found, "indexes of vectors", "are damaged, cut off, or of another database",
            "Repair throws them away, and homed makes them anew; until then the search looks at each vector.",
        )  # fmt: skip

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        names = [str(key[0]) for key in look.keys]
        if room.vectors is not None:
            return await room.vectors.remake(names)
        for name in names:
            await trio.to_thread.run_sync(making.remove, room.paths.vectors / name)
        return len(names)


def _known(tx: Tx) -> set[str]:
    """What the index of each part that has rows is called."""
    rows = tx.all(
        "SELECT DISTINCT v.space, s.dims, v.scope, v.kind, s.fingerprint FROM vectors v"
        " JOIN vector_spaces s ON s.id = v.space"
    )
    return {
        indexed.whose(fingerprint, Part(space, dims, scope, kind)) for space, dims, scope, kind, fingerprint in rows
    }


def _look(root: Path, known: set[str], *, deep: bool) -> Found:
    names = [name for name in making.names(root) if not name.startswith(making.NEW)]  # those are being made
    wrong = [name for name in names if not _usable(root / name, known, deep=deep)]
    return Found(len(names), len(names), len(wrong), [(name,) for name in wrong], wrong)


def _usable(folder: Path, known: set[str], *, deep: bool) -> bool:
    try:
        about = indexed.read_about(folder)
        files = {"vectors": about.count * about.dims * 4, "ids": about.count * 16}
        if about.whose not in known or not folder.name.startswith(f"{about.whose}-"):
            return False
        if any((folder / name).stat().st_size != size for name, size in files.items()):
            return False
        if about.width and not (folder / "tree").stat().st_size:
            return False
        return not deep or all(indexed.checksum(folder / name) == about.sums.get(name) for name in about.sums)
    except (OSError, Unusable):
        return False


CHECKS: tuple[Check, ...] = (VectorFiles(),)
