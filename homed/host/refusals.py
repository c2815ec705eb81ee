"""What a plugin was refused for want of a capability, in its own log: also when it keeps quiet about it itself."""

from __future__ import annotations

from collections.abc import Collection

import trio

from homed.errors import Denied
from homed.host.pluginlog import PluginLog
from homed.host.throttle import Throttle
from homed.wire import methods

_WINDOW = 60.0
"""Seconds in which a method's refusal is told once: who asks in a loop must not push all else out of the log."""


class Refusals:
    """The refusals of one life of a plugin.  ``listed``: the capabilities that its manifest asks for."""

    def __init__(self, plugin: str, listed: Collection[str], log: PluginLog) -> None:
        self._plugin, self._listed, self._log = plugin, listed, log
        self._told: dict[str, Throttle] = {}  # methods that exist: no more than the table has

    async def note(self, method: str, error: Denied) -> None:
        """Put a refusal in the log, with what can be done, at most once a minute for each method.

        Refusals for any other reason than a capability are the caller's to tell.
        """
        needed = error.detail.get("capability")
        if not isinstance(needed, str):
            return
        silenced = self._told.setdefault(method, Throttle(count=1, window=_WINDOW)).admit(trio.current_time())
        if silenced is not None:
            more = f" ({silenced} more times before)" if silenced else ""
            has = error.detail.get("has")
            await self._log.note(f"refused {method}{more}: {error.message} {self._remedy(needed, has)}")

    def _remedy(self, needed: str, has: object) -> str:
        if needed in methods.PACKAGED_ONLY:
            return "Only plugins that come with homed can have it."
        if needed not in self._listed:
            return f'Its author has to list "{needed}" under "capabilities" in its plugin.json, then it can be granted.'
        held = {name for name in has if isinstance(name, str)} if isinstance(has, Collection) else set()
        wanted = ",".join(sorted((held | {needed}) - {methods.CORE}))
        return f"Grant it if you trust the plugin with it: homed plugin grant {self._plugin} {wanted}"
