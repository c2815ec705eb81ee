"""What a person does with memory as a whole, loaded when somebody does it: most starts do not.

Only what an earlier run left unfinished is looked for at a start, and has it loaded then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.clock import WallClock
from homed.errors import StorageError, Unavailable
from homed.loading import load
from homed.store.rows import Tx

if TYPE_CHECKING:
    from homed.jobs.exporting import Exported
    from homed.jobs.importing import Imported
    from homed.jobs.keeping import Keeping
    from homed.jobs.merging import Merging
    from homed.jobs.proof import Proof
    from homed.memory.forgets import Preview
    from homed.memory.holding import Held
    from homed.store.backup import BackupInfo
    from homed.store.rows import Storage

_MODULE = "homed.jobs.keeping"

IMPORTS = "imports"
"""Where in the data folder an import that was cut off stands (``homed.jobs.importing.FOLDER``)."""


class KeptOnDemand:
    """``homed.jobs.keeping.Keeping``, made by ``make`` at its first use; its methods are described there."""

    def __init__(self, store: Storage, data: Path, wall: WallClock, make: Callable[[], Keeping]) -> None:
        self._store = store
        self._data = data
        self._wall = wall
        self._make = make
        self._made: Keeping | None = None
        self._making = trio.Lock()
        self._wanted = trio.Event()
        self._over = False

    async def run(self) -> None:
        """Finish what was cut off, then forget what is asked for; until cancelled."""
        try:
            if await self._owed():
                await self._get()
            await self._wanted.wait()
            await (await self._get()).run()
        finally:
            self._over = True

    async def _owed(self) -> bool:
        if await trio.to_thread.run_sync((self._data / IMPORTS).exists):
            return True
        try:
            return await self._store.read(_unfinished)
        except StorageError:  # whoever looks closer says what is wrong
            return True

    async def _get(self) -> Keeping:
        async with self._making:
            if self._made is None:
                if self._over:
                    raise Unavailable("homed is stopping.", hint="Nothing was done; ask again.")
                await load(_MODULE)
                self._made = self._make()
                self._wanted.set()
            return self._made

    async def preview(self, kind: str, target: str, *, wide: bool) -> Preview:
        """What would be forgotten."""
        return await (await self._get()).preview(kind, target, wide=wide)

    async def forget(
        self, kind: str, target: str, *, wide: bool = False, scopes: Collection[str] | None = None
    ) -> Proof:
        """Forget it, and prove it.  ``scopes``: only what belongs to them (None: to any)."""
        keeping = await self._get()
        if scopes is None:
            return await keeping.forget(kind, target, wide=wide)
        return await keeping.forgetting.forget(kind, target, wide=wide, scopes=scopes)

    async def find(self, text: str, since: float | None, until: float | None) -> Held:
        """What holds a text, or was said in a time."""
        return await (await self._get()).find(text, since, until)

    async def export(self, path: str, format: str, scopes: Collection[str] | None) -> Exported:
        """Write memory to a folder that is not there yet."""
        return await (await self._get()).export(path, format, scopes)

    async def import_(self, path: str) -> Imported:
        """Take an export in."""
        return await (await self._get()).import_(path)

    async def backup(self, path: str = "") -> BackupInfo:
        """Make a backup."""
        return await (await self._get()).backup(path)

    async def backups(self) -> Sequence[BackupInfo]:
        """Those there are, oldest first."""
        return await (await self._get()).backups()

    @property
    def merging(self) -> Merging:
        """What is proposed to be one, and what was made one."""
        from homed.jobs.merging import Merging

        return Merging(self._store, self._wall)


def _unfinished(tx: Tx) -> bool:
    return bool(tx.value("SELECT EXISTS (SELECT 1 FROM forgets WHERE done_at IS NULL)"))
