"""All plugins together: their supervisors in one nursery, and the doors that the rest of the kernel uses."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import NotFound, Unavailable
from homed.events import PLUGIN_STATE, Bus
from homed.host import grants
from homed.host.areas import Areas
from homed.host.discover import Broken, Installed
from homed.host.facilities import Facilities
from homed.host.history import StoredHistory
from homed.host.launch import LaunchPorts, ProcessLauncher
from homed.host.life import Launcher, Plan, Running
from homed.host.pluginlog import PluginLog
from homed.host.policy import Policy
from homed.host.registry import Registry, Reserved
from homed.host.ring import Rings
from homed.host.session import Dispatcher, SessionPorts
from homed.host.states import RESTING, PluginStatus, State, Trust
from homed.host.supervise import SETTLED, SupervisePorts, Supervisor
from homed.paths import Paths
from homed.proc import kill_marked, reap_strays
from homed.store.db import Store
from homed.store.rows import Damaged
from homed.wire import methods

_log = logging.getLogger(__name__)

SHUTDOWN = 7.5
"""Seconds for all ladders together: 5 + 2, and the reaping.  After that whatever is left is killed at once."""

HEAD_START = 2.0
"""Seconds that one stage of a start gets before the next begins: they share a few cores, and a page that is up sooner
is worth more than a tool that nobody can ask for yet."""


@dataclass(frozen=True, slots=True)
class HostPorts:
    """What the host needs of the house.

    ``config_for`` gives a plugin's settings without its prefix; ``child_env`` is all that children inherit; ``redact``
    cleans what is stored of their stderr; ``data`` is the data folder; ``reserved`` names are no tool's of theirs;
    plugins wait for ``facilities``.
    """

    store: Store
    bus: Bus
    dispatcher: Dispatcher
    config_for: Callable[[str], Mapping[str, object]]
    child_env: Mapping[str, str]
    data: Path
    wall: WallClock = system_wall_clock
    redact: Callable[[str], str] = str
    reserved: Reserved = field(default_factory=Reserved)
    facilities: Facilities = field(default_factory=Facilities.standing)


class Host:
    """Runs plugins.  ``launcher`` and ``policy`` are replaced in tests only."""

    def __init__(
        self,
        found: Sequence[Installed | Broken],
        ports: HostPorts,
        *,
        launcher: Launcher | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.registry = Registry(ports.reserved)
        self._found, self._ports, self._policy = found, ports, policy or Policy()
        self._begun = ports.wall()
        self._broken = {b.name: b for b in found if isinstance(b, Broken)}
        self._family = hashlib.sha256(str(ports.data.resolve()).encode()).hexdigest()[:8]
        paths = Paths(ports.data)
        self._logs = {f.name: PluginLog(ports.data / "logs" / f"{f.name}.log", ports.redact) for f in found}
        self._rings = Rings(ports.bus)
        launch = LaunchPorts(
            self._family, ports.child_env, ports.config_for, paths.plugin_data,
            lambda name: SessionPorts(ports.bus, ports.dispatcher, self._logs[name]), Areas(self._rings),
        )  # fmt: skip
        self._launcher = launcher or ProcessLauncher(launch)
        self._supervisors: dict[str, Supervisor] = {}
        self._scope = trio.CancelScope(shield=True)
        self._all_started = trio.Event()
        self._patience, self._closing = trio.CancelScope(), False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run every plugin until cancelled; ``started`` once all are known and launching.

        Cancelled: all ladders run in parallel, within ``SHUTDOWN``; afterwards no child of ours is left.
        """
        await self._prepare()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep)
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                # The children's nursery is shielded from the cancellation that came here, and gets a deadline instead:
                # pipes are drained and ladders walked as long as anything lives.
                self._scope.deadline = trio.current_time() + SHUTDOWN
                self._closing = True
                self._patience.cancel()
                for supervisor in self._supervisors.values():
                    supervisor.close()

    async def wait_started(self) -> None:
        """Wait until every plugin that is to run has had its time to come up."""
        await self._all_started.wait()

    def kill_now(self) -> None:
        """A second signal: no more asking, every group is killed at once."""
        self._scope.cancel()

    def statuses(self) -> list[PluginStatus]:
        """Every plugin found, sorted by name."""
        shown = [self._broken_status(b) for b in self._broken.values()]
        return sorted([*(s.status() for s in self._supervisors.values()), *shown], key=lambda status: status.name)

    def status(self, name: str) -> PluginStatus:
        """One plugin; `NotFound` if there is none of that name."""
        if name in self._broken:
            return self._broken_status(self._broken[name])
        return self._supervisor(name).status()

    @property
    def addresses(self) -> dict[str, tuple[str, str]]:
        """Plugin → (kind, address) of those that announced one and are ready."""
        return {s.name: s.address for s in self.statuses() if s.address is not None}

    async def start(self, name: str) -> PluginStatus:
        """Start a plugin and forget its crashes; returns once it is ready or has failed (then it says why)."""
        supervisor = self._supervisor(name)
        await supervisor.start()
        await supervisor.wait_until(SETTLED)
        return supervisor.status()

    async def stop(self, name: str) -> PluginStatus:
        """Stop a plugin until a person starts it again; returns when its process is gone: within a ladder's length."""
        supervisor = self._supervisor(name)
        await supervisor.stop()
        await supervisor.wait_until(RESTING)
        return supervisor.status()

    async def wait_ready(self, name: str) -> None:
        """Wait until a plugin is ready; `Unavailable` when it stops before that."""
        supervisor = self._supervisor(name)
        if await supervisor.wait_until(frozenset({State.READY, State.STOPPED, State.DISABLED})) is not State.READY:
            raise self._not_running(supervisor)

    def logs(self, name: str, limit: int) -> list[str]:
        """The last lines of a plugin's log, oldest first, redacted."""
        if name not in self._logs:
            raise _unknown(name)
        return self._logs[name].lines(limit)

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call a plugin and return its result; ``timeout`` in seconds, waiting for a free slot included.

        Raises `Unavailable` when it is not running or ends meanwhile, `TimedOut` in true words about whether the work
        was stopped (``detail["ended"]``), `PluginFailed` or the error that the plugin answered.  Cancelling tells the
        plugin and waits up to 1 s for its answer; without one the plugin is put on the stop ladder.
        """
        return await self._running(plugin).call(method, params, timeout=timeout)

    def settings_changed(self, plugin: str, key: str, value: object) -> None:
        """Tell a running plugin of a change in its settings (``key`` without prefix); others read it at start."""
        supervisor = self._supervisors.get(plugin)
        if supervisor is not None and supervisor.life is not None and supervisor.life.running is not None:
            supervisor.life.running.settings_changed(key, value)

    async def _prepare(self) -> None:
        """Read the past, claim names in one fixed order, and end what a daemon killed with -9 left on this folder."""
        strays = await trio.to_thread.run_sync(partial(kill_marked, self._family, group=True))
        if strays:
            _log.warning("ended %d processes that an earlier homed on this folder had left", strays)
        for found in self._found:
            if isinstance(found, Broken):
                _log.error("plugin %s cannot be used: %s", found.name, "; ".join(found.errors))
                continue
            await self._logs[found.name].load()
            supervisor = Supervisor(await self._plan(found), self._supervise_ports())
            await supervisor.load()
            self._supervisors[found.name] = supervisor

    async def _plan(self, found: Installed) -> Plan:
        given: frozenset[str] = frozenset()
        if found.trust is Trust.EXTERNAL:
            with suppress(Damaged):  # what a person granted is not known: nothing then
                given = await self._ports.store.read(lambda tx: grants.granted(tx, found.name))
        capabilities = grants.allowed(found.manifest.capabilities, found.trust, given)
        return Plan(found.manifest, found.folder, found.trust, capabilities)

    def _supervise_ports(self) -> SupervisePorts:
        return SupervisePorts(
            launcher=self._launcher,
            history=StoredHistory(self._ports.store),
            registry=self.registry,
            wall=self._ports.wall,
            on_change=self._announce,
            policy=self._policy,
        )

    async def _keep(self) -> None:
        with closing(self._rings), self._scope:
            async with trio.open_nursery() as reaping:
                reaping.start_soon(reap_strays)
                async with trio.open_nursery() as nursery:
                    for stage in _stages(self._supervisors.values()):
                        for supervisor in stage:
                            nursery.start_soon(supervisor.run)
                        with trio.move_on_after(0 if self._closing else HEAD_START) as self._patience:
                            for supervisor in stage:
                                await supervisor.wait_until(SETTLED | {State.STOPPING})
                    self._all_started.set()
                reaping.cancel_scope.cancel()

    def _announce(self, status: PluginStatus) -> None:
        data = {"plugin": status.name, "state": status.state.value, "reason": status.reason}
        self._ports.bus.post(PLUGIN_STATE, data=data)

    def _supervisor(self, name: str) -> Supervisor:
        if name in self._supervisors:
            return self._supervisors[name]
        if name in self._broken:
            raise Unavailable(f"The plugin {name} cannot be used: {'; '.join(self._broken[name].errors)}.")
        raise _unknown(name)

    def _running(self, plugin: str) -> Running:
        supervisor = self._supervisor(plugin)
        if supervisor.life is None or supervisor.life.running is None:
            raise self._not_running(supervisor)
        return supervisor.life.running

    def _not_running(self, supervisor: Supervisor) -> Unavailable:
        name, reason = supervisor.plan.name, f" ({supervisor.reason})" if supervisor.reason else ""
        hint = f"Start it: homed plugin start {name}." if supervisor.state in RESTING else "Try again in a moment."
        return Unavailable(f"The plugin {name} is not running: {supervisor.state.value}{reason}.", hint=hint)

    def _broken_status(self, broken: Broken) -> PluginStatus:
        reason = f"needs attention: {'; '.join(broken.errors)}"
        return PluginStatus(
            name=broken.name, name_zh="", version="", description="", state=State.STOPPED, reason=reason,
            since=self._begun, pid=None, tools=(), trust=broken.trust,
        )  # fmt: skip


def _stages(supervisors: Iterable[Supervisor]) -> list[list[Supervisor]]:
    """In which order plugins start: what lets people in, then what else they speak through, then the rest."""
    stages: list[list[Supervisor]] = [[], [], []]
    for supervisor in supervisors:
        manifest = supervisor.plan.manifest
        stages[0 if methods.AUTH in manifest.capabilities else 1 if manifest.inputs else 2].append(supervisor)
    return stages


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no plugin {name[:80]!r}.", hint="See them all: homed plugin list.")
