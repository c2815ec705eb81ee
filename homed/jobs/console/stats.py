"""How memory stands, put together: the result of ``memory.stats``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import trio

from homed.config.definitions import DISTIL_CALLS, EXTRACT_ENABLED, EXTRACT_SOURCE
from homed.identity.roles import Identity, Role, visible_scopes
from homed.jobs import book
from homed.jobs.console.ports import ConsolePorts, Folders
from homed.memory import figures
from homed.store.backup import backups
from homed.store.rows import Tx

PASSES = ("pass", "distil", "statements")
"""Jobs that make memory."""

FILES = 10_000
"""Files of a folder that are weighed at the most."""


class Stats:
    """Counts: of a person's scopes; an owner is told of the whole besides."""

    def __init__(self, ports: ConsolePorts) -> None:
        self._ports = ports

    async def stats(self, who: Identity) -> Mapping[str, object]:
        """The result of ``memory.stats``.  Each part is a read of its own, so that none holds a connection for long."""
        read, scopes, now = self._ports.store.read, visible_scopes(who), self._ports.wall()
        answer: dict[str, object] = {
            "scopes": sorted(scopes),
            "records": await read(lambda tx: figures.records(tx, scopes)),
            "layers": await read(lambda tx: figures.layers(tx, scopes)),
            "graph": await read(lambda tx: figures.graph(tx, scopes)),
            **await read(lambda tx: figures.use(tx, scopes, now)),
            "revisions": await read(lambda tx: figures.newest_revisions(tx, scopes)),
            "passes": await read(lambda tx: figures.passes(tx, scopes)),
            "distil": self._distil(),
        }
        if who.role is Role.OWNER:
            answer |= await self._whole()
        return answer

    async def _whole(self) -> dict[str, object]:
        """What is of all scopes."""
        read, folders = self._ports.store.read, self._ports.folders
        space = self._ports.embedder.current.space if self._ports.embedder.current else None
        counted = await read(lambda tx: figures.vectors(tx, space.fingerprint if space else ""))
        vectors = {
            "fingerprint": space.fingerprint if space else "", "dims": space.dims if space else 0, **counted,
            "embedder": dict(self._ports.embedder.standing.as_row()), "trouble": self._ports.dense.trouble,
        }  # fmt: skip
        weighed = await trio.to_thread.run_sync(_weighed, folders, abandon_on_cancel=True)
        weighed["media"] = await read(figures.media_bytes)
        return {
            "vectors": vectors,
            "bytes": weighed,
            "by_scope": await read(figures.by_scope),
            "runs": await read(lambda tx: figures.runs(tx, PASSES)),
            "jobs": await read(_jobs),
            "paths": {
                "data": str(folders.data), "db": str(folders.db), "vectors": str(folders.vectors),
                "media": str(folders.media), "backups": str(folders.backups),
            },
        }  # fmt: skip

    def _distil(self) -> dict[str, object]:
        settings = self._ports.settings
        return {
            "enabled": settings.bool(EXTRACT_ENABLED), "source": settings.str(EXTRACT_SOURCE),
            "calls_an_hour": settings.int(DISTIL_CALLS),
        }  # fmt: skip


def _jobs(tx: Tx) -> list[dict[str, object]]:
    """How the jobs stand that make memory; ``held``: units in quarantine."""
    standings = book.standings(tx)
    held: dict[str, int] = dict(tx.all("SELECT job, count(*) FROM job_units WHERE held = 1 GROUP BY job"))
    return [
        {
            "job": name, "due_at": one.due_at, "paused": one.paused, "failures": one.failures,
            "held": held.get(name, 0),
        }
        for name in PASSES
        if (one := standings.get(name)) is not None
    ]  # fmt: skip


def _weighed(folders: Folders) -> dict[str, int]:
    """Bytes of the database, of its log, of the index of vectors, and of backups (as their lists say)."""
    return {
        "db": _size(folders.db), "wal": _size(folders.db.with_name(f"{folders.db.name}-wal")),
        "vectors": _folder(folders.vectors), "backups": sum(info.bytes for info in backups(folders.backups)),
    }  # fmt: skip


def _size(path: Path) -> int:
    with suppress(OSError):  # there is none yet, or it went this moment
        return path.stat().st_size
    return 0


def _folder(folder: Path) -> int:
    total = 0
    for at, path in enumerate(folder.rglob("*")):
        if at >= FILES:
            break
        total += _size(path)
    return total
