"""How the daemon is doing, put together from the rooms that know: the result of ``admin.status``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from homed.api.ports import HostPort
from homed.api.rooms import SourcesPort
from homed.providers.registry import NOTHING_SET_UP
from homed.store.damage import Damage
from homed.store.filesystem import FileSystem
from homed.store.rows import Damaged, Storage
from homed.wire.version import CORE


class CountsPort(Protocol):
    """``homed.agent.Conversations``, as far as it is used here."""

    @property
    def counts(self) -> Mapping[str, int]:
        """``{busy, queued}``."""
        ...


class StoragePort(Storage, Protocol):
    """``homed.store.db.Store``, as far as it is used here."""

    @property
    def damage(self) -> Damage | None:
        """Why nothing is stored any more."""
        ...

    @property
    def disk(self) -> FileSystem:
        """What it lies on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Answers ``status()``.  ``started_at`` is UTC seconds."""

    data: Path
    safe: bool
    started_at: float
    host: HostPort
    sources: SourcesPort
    conversations: CountsPort
    store: StoragePort

    async def status(self) -> Mapping[str, object]:
        """As ``docs/wire.md`` shows it."""
        return {
            "version": CORE,
            "pid": os.getpid(),
            "started_at": self.started_at,
            "data_dir": str(self.data),
            "safe": self.safe,
            "model": self._model(),
            "plugins": [plugin.wire() for plugin in self.host.statuses()],
            "threads": dict(self.conversations.counts),
            "counts": {table: await self._count(table) for table in ("events", "threads", "inputs")},
            "storage": storage_to_wire(self.store),
        }

    async def _count(self, table: str) -> int | None:
        """Rows of a table; None where the database is too damaged to count them."""
        try:
            return await self.store.read(lambda tx: int(tx.value(f"SELECT count(*) FROM {table}")))
        except Damaged:
            return None

    def _model(self) -> dict[str, object]:
        source = self.sources.current()
        if source is None:
            nothing = {"configured": False, "source": "", "model": "", "hint": NOTHING_SET_UP}
            return {**nothing, "kind": "", "state": "", "note": ""}
        standing = self.sources.standing(source)
        named = {"configured": True, "source": source.name, "model": source.model, "hint": ""}
        return {**named, "kind": source.kind, "state": standing.state, "note": standing.note}


def storage_to_wire(store: StoragePort) -> dict[str, object]:
    """How the database is, as ``admin.status`` shows it."""
    damage, disk = store.damage, store.disk
    return {
        "state": "ok" if damage is None else "read_only",
        "reason": damage.message if damage else "",
        "hint": damage.hint if damage else "",
        "kept": damage.kept if damage else "",
        "journal": "wal" if disk.local else "rollback",
        "file_system": disk.name,
    }
