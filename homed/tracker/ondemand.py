"""Change tracking, loaded when something is tracked or looked at: most starts do neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homed.store.rows import Tx

if TYPE_CHECKING:
    from homed.store.rows import Storage
    from homed.tracker.tracker import Tracker, TrackerPorts


@dataclass(slots=True)
class TrackerOnDemand:
    """Makes the ``Tracker`` at its first use."""

    store: Storage
    ports: Callable[[], TrackerPorts]
    made: Tracker | None = None

    def __call__(self) -> Tracker:
        """The one there is."""
        if self.made is None:
            from homed.tracker.tracker import Tracker

            self.made = Tracker(self.ports())
        return self.made

    async def run(self) -> None:
        """Go on with roll backs that were broken off.  Cancelled: they are gone on with at the next start."""
        if await self.store.read(_any_open):
            from homed.tracker.records import open_rollbacks

            await self().resume(await self.store.read(open_rollbacks))

    async def erased(self) -> None:
        """Rows were deleted: what was kept for them alone is not on the disk any more when this returns."""
        if await self.store.read(_any_kept):
            await self().tidy()


def _any_open(tx: Tx) -> bool:
    return bool(tx.value("SELECT EXISTS (SELECT 1 FROM tracker_sets WHERE state = 'open' AND undoes <> '')"))


def _any_kept(tx: Tx) -> bool:
    return bool(tx.value("SELECT EXISTS (SELECT 1 FROM tracker_blobs)"))
