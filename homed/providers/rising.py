"""Says when the facility ``llm`` is up: once the source in use can be asked."""

from __future__ import annotations

from typing import Protocol

import trio

from homed.providers.ports import SettingsPort
from homed.providers.registry import Sources

LLM = "llm"


class FacilityPort(Protocol):
    """Who is told that a facility is up, or why it is not."""

    def up(self, *names: str) -> None:
        """They are up, for good."""
        ...

    def fail(self, name: str, reason: str) -> None:
        """It is not, for now."""
        ...


async def bring_up(sources: Sources, settings: SettingsPort, facilities: FacilityPort) -> None:
    """Say that ``llm`` is up, or why it fails, after every change of the sources; until cancelled.

    With no source set up it is still coming.
    """
    with settings.watch("core.llm.") as changes:
        while True:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_tell, sources, facilities)
                await anext(changes)
                nursery.cancel_scope.cancel()


async def _tell(sources: Sources, facilities: FacilityPort) -> None:
    source = sources.current()
    if source is None:
        return
    if why := await sources.wait_ready(source):
        facilities.fail(LLM, why)
    else:
        facilities.up(LLM)
