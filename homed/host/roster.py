"""Which plugins there are at this moment: for each its supervisor and its log, or why it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from homed.clock import WallClock
from homed.errors import Conflict, NotFound, Unavailable
from homed.host.discover import Broken, Installed
from homed.host.pluginlog import PluginLog
from homed.host.states import PluginStatus, State
from homed.host.supervise import Supervisor


class Roster:
    """Sync; changed by the host only.  ``log_for`` makes the log of a plugin that is new here."""

    def __init__(self, log_for: Callable[[str], PluginLog], wall: WallClock) -> None:
        self._log_for, self._begun = log_for, wall()
        self._supervisors: dict[str, Supervisor] = {}
        self._broken: dict[str, Broken] = {}
        self._logs: dict[str, PluginLog] = {}

    def __iter__(self) -> Iterator[Supervisor]:
        """Every usable plugin's supervisor."""
        return iter(list(self._supervisors.values()))

    def log(self, name: str) -> PluginLog:
        """A plugin's log; made when it is first asked for."""
        if name not in self._logs:
            self._logs[name] = self._log_for(name)
        return self._logs[name]

    def lines(self, name: str, limit: int) -> list[str]:
        """The last lines of a log, oldest first."""
        if name not in self._supervisors and name not in self._broken:
            raise _unknown(name)
        return self.log(name).lines(limit)

    def put(self, plugin: Supervisor | Broken) -> None:
        """It is there from now on, in place of whatever had its name."""
        if isinstance(plugin, Broken):
            self._supervisors.pop(plugin.name, None)
            self._broken[plugin.name] = plugin
        else:
            self._broken.pop(plugin.plan.name, None)
            self._supervisors[plugin.plan.name] = plugin

    def drop(self, name: str) -> None:
        """It is gone, with its log."""
        for known in (self._supervisors, self._broken, self._logs):
            known.pop(name, None)

    def require_free(self, name: str) -> None:
        """`Conflict` when a plugin of this name can be used here; one that is broken gives way."""
        if name in self._supervisors:
            raise Conflict(f"There is a plugin {name} already.", hint="Reload it, or remove it first.")

    def get(self, name: str) -> Supervisor | None:
        """A plugin that can be used, if there is one of that name."""
        return self._supervisors.get(name)

    def supervisor(self, name: str) -> Supervisor:
        """The same, or `NotFound`, or `Unavailable` with what is wrong with it."""
        if name in self._supervisors:
            return self._supervisors[name]
        if name in self._broken:
            raise Unavailable(f"The plugin {name} cannot be used: {'; '.join(self._broken[name].errors)}.")
        raise _unknown(name)

    def found(self, name: str) -> Installed | Broken:
        """What there is of it on disk; `NotFound`."""
        if name in self._broken:
            return self._broken[name]
        plan = self.supervisor(name).plan
        return Installed(plan.manifest, plan.folder, plan.trust)

    def statuses(self) -> list[PluginStatus]:
        """Every plugin found, sorted by name."""
        shown = [self._broken_status(b) for b in self._broken.values()]
        return sorted([*(s.status() for s in self._supervisors.values()), *shown], key=lambda status: status.name)

    def status(self, name: str) -> PluginStatus:
        """One plugin; `NotFound` if there is none of that name."""
        if name in self._broken:
            return self._broken_status(self._broken[name])
        return self.supervisor(name).status()

    def _broken_status(self, broken: Broken) -> PluginStatus:
        reason = f"needs attention: {'; '.join(broken.errors)}"
        return PluginStatus(
            name=broken.name, name_zh="", version="", description="", state=State.STOPPED, reason=reason,
            since=self._begun, pid=None, tools=(), trust=broken.trust,
        )  # fmt: skip


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no plugin {name[:80]!r}.", hint="See them all: homed plugin list.")
