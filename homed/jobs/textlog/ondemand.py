"""The text log, loaded when the first turn is over."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import trio

from homed import events as notices
from homed.config.definitions import TEXTLOG

if TYPE_CHECKING:
    from homed.jobs.textlog.log import LogPorts, TextLog


class Bus(Protocol):
    """``homed.events.Bus``."""

    def subscribe(
        self, types: frozenset[str] | None = None, *, size: int = 1024
    ) -> AbstractContextManager[AsyncIterable[notices.Notice]]:
        """Follow notices."""
        ...


class Settings(Protocol):
    """``homed.settings.registry.Settings``."""

    def watch(self, prefix: str = "") -> AbstractContextManager[AsyncIterable[object]]:
        """Follow changes."""
        ...


@dataclass(slots=True)
class TextLogOnDemand:
    """Makes the ``TextLog`` at its first use.  ``hold``: what starts before it."""

    folder: Path
    bus: Bus
    settings: Settings
    ports: Callable[[], LogPorts]
    hold: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    made: TextLog | None = None

    def __call__(self) -> TextLog:
        """The one there is."""
        if self.made is None:
            from homed.jobs.textlog.log import TextLog

            self.made = TextLog(self.ports())
        return self.made

    async def run(self) -> None:
        """Add what is said when turns are over, and follow the settings.  Cancelled: the next start adds the rest."""
        await self.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow)
            with self.bus.subscribe(frozenset({notices.TURN}), size=1) as ended:
                async for _ in ended:  # those that are missed would say the same: look again
                    await self().sync()

    async def _follow(self) -> None:
        with self.settings.watch(TEXTLOG.rpartition(".")[0]) as changes:
            async for _ in changes:
                await self().rewrite()

    async def erased(self) -> None:
        """Rows were deleted: no file says anything of them any more when this returns."""
        if await trio.to_thread.run_sync(self.folder.exists):
            await self().rewrite()
