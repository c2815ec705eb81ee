"""How the daemon is doing, put together from the rooms that know: the result of ``admin.status``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from homed.api.ports import HostPort, SourcesPort
from homed.providers.registry import NOTHING_SET_UP
from homed.store.rows import Storage, Tx
from homed.wire.version import CORE


class CountsPort(Protocol):
    """``homed.agent.Conversations``, as far as it is used here."""

    @property
    def counts(self) -> Mapping[str, int]:
        """``{busy, queued}``."""
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
    store: Storage

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
            "counts": await self.store.read(_counts),
        }

    def _model(self) -> dict[str, object]:
        source = self.sources.current()
        if source is None:
            nothing = {"configured": False, "source": "", "model": "", "hint": NOTHING_SET_UP}
            return {**nothing, "kind": "", "state": "", "note": ""}
        standing = self.sources.standing(source)
        named = {"configured": True, "source": source.name, "model": source.model, "hint": ""}
        return {**named, "kind": source.kind, "state": standing.state, "note": standing.note}


def _counts(tx: Tx) -> dict[str, int]:
    return {table: int(tx.value(f"SELECT count(*) FROM {table}")) for table in ("events", "threads", "inputs")}
