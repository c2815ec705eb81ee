"""What a person does with memory as a whole: forget, export, import, back up; one thing for commands and the API."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import InvalidInput
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.exporting import FORMATS, Exported, ExportPorts, export
from homed.jobs.forget import Forgetting
from homed.jobs.importing import Imported, Importing
from homed.jobs.merging import Merging
from homed.jobs.proof import Proof
from homed.jobs.upkeep import backups_folder
from homed.memory.forgets import KINDS, Preview
from homed.store.backup import BackupInfo, backup, backup_as, backups
from homed.store.db import Store
from homed.store.files import MediaFiles

if TYPE_CHECKING:  # loaded when it is used
    from homed.memory.holding import Held

log = logging.getLogger(__name__)

MANY = 1 << 30
"""Backups made by hand replace no other; the nightly one thins out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Everything of it.  ``exports`` and the rest are wired by the engine, or without a daemon by the command."""

    data: Path
    store: Store
    files: MediaFiles
    forgetting: Forgetting
    exports: ExportPorts
    imports: Importing
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)

    @property
    def merging(self) -> Merging:
        """What is proposed to be one, and what was made one."""
        return Merging(self.store, self.wall)

    async def run(self) -> None:
        """Finish what was cut off, then forget what is asked for; until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._resume)
            await self.forgetting.run()

    async def _resume(self) -> None:
        if count := await self.imports.resume():
            log.info("%d imports that were cut off were finished", count)

    async def preview(self, kind: str, target: str, *, wide: bool) -> Preview:
        """What would be forgotten.  Raises NotFound, Conflict, InvalidInput."""
        return await self.forgetting.preview(_kind(kind), target, wide=wide)

    async def forget(self, kind: str, target: str, *, wide: bool) -> Proof:
        """See ``Forgetting.forget``; of the kind ``text``, ``Forgetting.forget_text``."""
        if kind == "text":
            return await self.forgetting.forget_text(_text(target))
        return await self.forgetting.forget(_kind(kind), target, wide=wide)

    async def find(self, text: str, since: float | None, until: float | None) -> Held:
        """What holds a text, or was said in a time.  Raises InvalidInput where neither is given."""
        from homed.memory.holding import find  # seldom

        plain = text.strip() if since is not None or until is not None else _text(text)
        return await self.store.read(lambda tx: find(tx, plain, since, until))

    async def export(self, path: str, format: str, scopes: Collection[str] | None) -> Exported:
        """Write memory to a folder that is not there yet."""
        if format not in FORMATS:
            raise InvalidInput(f"There is no format {format!r}.", hint=f"One of {', '.join(FORMATS)}.")
        return await export(self.exports, _absolute(path), format=format, scopes=scopes)

    async def import_(self, path: str) -> Imported:
        """Take an export in."""
        return await self.imports.import_(_absolute(path))

    async def backup(self, path: str = "") -> BackupInfo:
        """Make a backup at ``path``, or named by its time in ``DATA/backups``."""
        if path:
            return await backup_as(self.store, self.files, _absolute(path), wall=self.wall, failpoints=self.failpoints)
        folder = backups_folder(self.data)
        return await backup(self.store, self.files, folder, keep=MANY, wall=self.wall, failpoints=self.failpoints)

    async def backups(self) -> Sequence[BackupInfo]:
        """Those in ``DATA/backups``, oldest first."""
        return await trio.to_thread.run_sync(partial(backups, backups_folder(self.data)))


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise InvalidInput(f"{kind!r} cannot be forgotten.", hint=f"One of {', '.join(KINDS)}.")
    return kind


def _absolute(path: str) -> Path:
    found = Path(path)
    if not found.is_absolute():
        raise InvalidInput("The path must be absolute: homed may run in another folder.")
    return found


def _text(text: str) -> str:
    if len(plain := text.strip()) < 2:
        raise InvalidInput("Give a text of two characters or more, or a time.")
    return plain
