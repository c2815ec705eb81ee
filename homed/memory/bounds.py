"""How much of each there may be, where transactions of memory can see it.

Whoever writes memory, a job, a tool, an import, a command without a daemon, keeps the same bounds: they stand in the
database, brought there from the settings, which the file and variables may decide.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from homed.config.definitions import MAX_CAPSULES, MAX_FACTS, MAX_SUMMARIES, SOURCE_EXCERPT
from homed.errors import StorageError
from homed.settings.watch import Watch
from homed.store.rows import Storage, Tx

_log = logging.getLogger(__name__)

EXCERPT = "excerpt"
"""Characters of one excerpt; the others are kinds of records, and how many of them one scope may have."""


class Settings(Protocol):
    """``homed.settings.registry.Settings``, as far as it is read here."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...


def of(settings: Settings) -> dict[str, int]:
    """The bounds as they are set now."""
    return {
        EXCERPT: settings.int(SOURCE_EXCERPT), "summary": settings.int(MAX_SUMMARIES),
        "fact": settings.int(MAX_FACTS), "capsule": settings.int(MAX_CAPSULES),
    }  # fmt: skip


KEYS = frozenset({SOURCE_EXCERPT, MAX_SUMMARIES, MAX_FACTS, MAX_CAPSULES})


def get(tx: Tx, name: str, default: int) -> int:
    """One of them; ``default`` where none was brought here yet."""
    found = tx.value("SELECT value FROM bounds WHERE name = ?", (name,))
    return default if found is None else int(found)


def put(tx: Tx, wanted: Mapping[str, int]) -> None:
    """These hold from now on; what is above them goes with the next that is stored."""
    tx.many(
        "INSERT INTO bounds (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        list(wanted.items()),
    )


async def bring(store: Storage, settings: Settings) -> None:
    """Have the settings' bounds in the database, if they are others.  Raises nothing: a database that takes nothing
    keeps those it has."""
    wanted = of(settings)
    try:
        if await store.read(lambda tx: {name: get(tx, name, 0) for name in wanted}) != wanted:
            await store.write(lambda tx: put(tx, wanted))
    except StorageError as error:
        _log.warning("the bounds of memory are as they were: %s", error.message)


async def follow(store: Storage, settings: Settings, changes: Watch) -> None:
    """Bring them at once and whenever one is changed.  Runs until cancelled, which leaves those that hold."""
    await bring(store, settings)
    async for key, _ in changes:
        if key in KEYS:
            await bring(store, settings)
