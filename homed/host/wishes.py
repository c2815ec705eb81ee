"""What a running plugin may ask of its host about itself: to begin anew, to be let run, to be woken, its tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from homed.errors import Conflict, InvalidInput
from homed.host.dynamic import StoredTools, read_tools
from homed.host.schedule import Schedules
from homed.host.supervise import Supervisor

MOST_LEASES = 64
"""Busy leases of one plugin."""


class Wishes:
    """Each by the name of the plugin that asks; `NotFound` when it is gone."""

    def __init__(self, supervisor: Callable[[str], Supervisor], tools: StoredTools, schedules: Schedules) -> None:
        self._supervisor, self._tools, self._schedules = supervisor, tools, schedules

    def restart(self, plugin: str) -> None:
        """Stop it and start it again.  `Conflict` when it wants that too often."""
        self._supervisor(plugin).restart()

    def busy(self, plugin: str, lease: str, held: bool) -> None:
        """Take or give back a lease: while it holds one it is not stopped as idle.  Both may be said twice."""
        supervisor = self._supervisor(plugin)
        leases = supervisor.front.demand.leases
        if held and lease not in leases and len(leases) >= MOST_LEASES:
            raise Conflict(f"The plugin {plugin} holds {MOST_LEASES} leases already.", hint="Give one back first.")
        supervisor.hold(lease, held)

    async def set_tools(self, plugin: str, listed: Sequence[object]) -> list[str]:
        """Replace its dynamic tools; the names that it has now, those of its manifest first."""
        supervisor = self._supervisor(plugin)
        manifest = supervisor.plan.manifest
        if not manifest.dynamic_tools:
            raise InvalidInput(
                f"The plugin {plugin} cannot list tools while it runs.",
                hint='Set "dynamic_tools": true in its plugin.json.',
            )
        tools = read_tools(manifest, listed)
        supervisor.set_tools(tools)
        await self._tools.save(manifest, listed)
        return [tool.name for tool in (*manifest.tools, *tools)]

    async def schedule(self, plugin: str, name: str, *, at: float | None, every: float | None) -> float:
        """As `Schedules.set`."""
        return await self._schedules.set(plugin, name, at=at, every=every)

    async def unschedule(self, plugin: str, name: str) -> None:
        """As `Schedules.clear`."""
        await self._schedules.clear(plugin, name)
