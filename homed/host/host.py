"""All plugins together: their supervisors in one nursery, and the doors that the rest of the kernel uses."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import ConfigError, StorageError, Unavailable
from homed.events import PLUGIN_STATE, Bus
from homed.host import grants
from homed.host.areas import Areas
from homed.host.changes import apart
from homed.host.discover import Broken, Installed
from homed.host.dynamic import StoredTools
from homed.host.facilities import Facilities
from homed.host.history import StoredHistory
from homed.host.launch import LaunchPorts, ProcessLauncher
from homed.host.life import Launcher, Plan
from homed.host.limits import HostLimits
from homed.host.pluginlog import PluginLog
from homed.host.policy import Policy
from homed.host.registry import Registry, Reserved
from homed.host.ring import Rings
from homed.host.roster import Roster
from homed.host.schedule import Due, Schedule, Schedules, as_params
from homed.host.segment import Segment
from homed.host.session import Dispatcher, SessionPorts
from homed.host.states import RESTING, PluginStatus, State, Trust
from homed.host.supervise import SupervisePorts, Supervisor
from homed.host.wishes import Wishes
from homed.paths import Paths
from homed.proc.marks import kill_marked
from homed.proc.reap import reap_strays
from homed.proc.spawn import Forker
from homed.store.db import Store
from homed.store.rows import Damaged
from homed.wire.manifest import Manifest
from homed.wire.methods import SCHEDULE_INVOKE

_log = logging.getLogger(__name__)

SHUTDOWN = 7.5
"""Seconds for all ladders together: 5 + 2, and the reaping.  After that whatever is left is killed at once."""

HEAD_START = 4.0
"""Seconds that plugins get to come up before homed turns to what can wait: a local model takes a whole core."""


@dataclass(frozen=True, slots=True)
class HostPorts:
    """What the host needs of the house.

    ``config_for`` gives a plugin's settings without its prefix; ``child_env`` is all that children inherit; ``redact``
    cleans what is stored of their stderr; ``data`` is the data folder; ``reserved`` names are no tool's of theirs;
    plugins wait for ``facilities``.  ``define`` takes on the settings of a plugin that is added while homed runs, and
    raises `ConfigError`; ``undefine`` forgets those of one that is gone.
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
    define: Callable[[Manifest], None] = lambda _: None
    undefine: Callable[[Manifest], None] = lambda _: None
    zygote: Forker | None = None
    limits: Callable[[], HostLimits] = HostLimits


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
        self._family = hashlib.sha256(str(ports.data.resolve()).encode()).hexdigest()[:8]
        paths = Paths(ports.data)
        logs = ports.data / "logs"
        self._roster = Roster(lambda name: PluginLog(logs / f"{name}.log", ports.redact, ports.limits), ports.wall)
        self._rings, self.segment = Rings(ports.bus), Segment()
        launch = LaunchPorts(
            self._family, ports.child_env, ports.config_for, paths.plugin_data,
            lambda name: SessionPorts(ports.bus, ports.dispatcher, self._roster.log(name), ports.limits),
            Areas(self._rings, self.segment), ports.zygote, ports.limits,
        )  # fmt: skip
        self._launcher = launcher or ProcessLauncher(launch)
        self._history = StoredHistory(ports.store)
        self._tools = StoredTools(ports.store, ports.wall)
        self._schedules = Schedules(ports.store, ports.wall, self._tell, self.registry.ready)
        self.wishes = Wishes(self._roster.supervisor, self._tools, self._schedules)
        """What running plugins ask about themselves."""
        self._scope = trio.CancelScope(shield=True)
        self._lives: trio.Nursery | None = None
        self._one_change = trio.Lock()
        self._all_started = trio.Event()
        self._closing = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run every plugin until cancelled; ``started`` once all are known and launching.

        Cancelled: all ladders run in parallel, within ``SHUTDOWN``; afterwards no child of ours is left.
        """
        await self._prepare()
        async with trio.open_nursery() as nursery:
            try:
                await nursery.start(self._keep)
                nursery.start_soon(self._settle)
                nursery.start_soon(self._schedules.run)
                task_status.started()
                await trio.sleep_forever()
            finally:
                # The children's nursery is shielded from the cancellation that came here, and gets a deadline instead:
                # pipes are drained and ladders walked as long as anything lives.
                self._scope.deadline = trio.current_time() + SHUTDOWN
                self._closing.set()
                for supervisor in self._roster:
                    supervisor.close()

    async def wait_started(self) -> None:
        """Wait until every plugin that is to run has had its time to come up."""
        await self._all_started.wait()

    def kill_now(self) -> None:
        """A second signal: no more asking, every group is killed at once."""
        self._scope.cancel()

    def statuses(self) -> list[PluginStatus]:
        """Every plugin found, sorted by name."""
        return self._roster.statuses()

    def status(self, name: str) -> PluginStatus:
        """One plugin; `NotFound` if there is none of that name."""
        return self._roster.status(name)

    def found(self, name: str) -> Installed | Broken:
        """What there is of one on disk; `NotFound`."""
        return self._roster.found(name)

    @property
    def addresses(self) -> dict[str, tuple[str, str]]:
        """Plugin → (kind, address) of those that announced one and are ready."""
        return {s.name: s.address for s in self.statuses() if s.address is not None}

    def logs(self, name: str, limit: int) -> list[str]:
        """The last lines of a plugin's log, oldest first, redacted."""
        return self._roster.lines(name, limit)

    # What persons want.

    async def start(self, name: str) -> PluginStatus:
        """Start a plugin and forget its crashes; returns once it is ready, has failed, or waits for a facility."""
        await self._roster.supervisor(name).start()
        return await self._settled(name)

    async def stop(self, name: str) -> PluginStatus:
        """Stop a plugin until a person starts it again; returns when its process is gone: within a ladder's length."""
        return await self._end(name, disable=False)

    async def enable(self, name: str) -> PluginStatus:
        """As `start`, but a lazy plugin then starts with its first call."""
        await self._roster.supervisor(name).start(now=False)
        return await self._settled(name)

    async def disable(self, name: str) -> PluginStatus:
        """As `stop`; it is shown as disabled."""
        return await self._end(name, disable=True)

    async def add(self, found: Installed) -> PluginStatus:
        """Take on a plugin that was installed just now, and start it unless its manifest says otherwise.

        Returns once it is up, has failed, or waits.  `Conflict` when there is one of its name, `ConfigError` when what
        was set for it from outside does not fit.  Once begun it is finished, also when whoever asked is cancelled.
        """

        async def change() -> None:
            self._roster.require_free(found.name)
            await self._bring(found)

        await self._apart(change)
        return await self._settled(found.name)

    async def reload(self, name: str, found: Installed) -> PluginStatus:
        """Put ``found`` in the place of the plugin ``name`` that it has the name of.

        The old one's process, calls and names are gone before anything of the new one is there; calls meanwhile are
        told so.  A person's wish stays (a stopped one stays stopped), crashes are forgotten.  Otherwise as `add`.
        """

        async def make() -> Installed:
            await trio.lowlevel.checkpoint()
            return found

        return await self.replace(name, make)

    async def replace(self, name: str, make: Callable[[], Awaitable[Installed]]) -> PluginStatus:
        """As `reload`, with what ``make`` makes while nothing of the old one runs; if it raises, that one is back."""

        async def change() -> None:
            old, failed = self._roster.found(name), list[Exception]()
            await self._take_down(name, "it is being replaced")
            try:
                new: Installed | Broken = await make()
            except Exception as error:  # noqa: BLE001 - raised below, once the old one is back
                new, failed = old, [error]
            if not failed:
                with suppress(StorageError):  # it is in place all the same
                    await self._history.pardon(name)
            if isinstance(new, Installed):
                await self._bring(new)
            if failed:
                raise failed[0]

        await self._apart(change)
        return await self._settled(name)

    async def remove(self, name: str) -> None:
        """End a plugin and forget it: its names, settings' definitions, schedules, lists of tools and history.

        Its files and its data folder are the caller's to remove, once this returned.  After an error it is back.
        """

        async def change() -> None:
            found, failed = self._roster.found(name), list[StorageError]()
            await self._take_down(name, "it is being removed")
            try:
                for forget in (self._schedules.forget, self._tools.forget, self._history.forget):
                    await forget(name)
            except StorageError as error:
                failed.append(error)
            if failed:
                if isinstance(found, Installed):
                    await self._bring(found)
                raise failed[0]
            self._roster.drop(name)

        await self._apart(change)

    # What the kernel wants.

    async def wait_ready(self, name: str) -> None:
        """Wait until a plugin takes calls; `Unavailable` when it stops before that."""
        await self._roster.supervisor(name).front.wait_callable()

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call a plugin and return its result; ``timeout`` in seconds, waiting for its start or a free slot included.

        A lazy plugin is started for it.  Raises `Unavailable` when it is not running, cannot be started, or ends
        meanwhile, `TimedOut` in true words about whether the work was stopped (``detail["ended"]``), `PluginFailed` or
        the error that the plugin answered.  Cancelling tells the plugin and waits up to 1 s for its answer; without
        one the plugin is put on the stop ladder.
        """
        async with self._roster.supervisor(plugin).front.serving(timeout) as (running, left):
            return await running.call(method, params, timeout=left)

    def settings_changed(self, plugin: str, key: str, value: object) -> None:
        """Tell a running plugin of a change in its settings (``key`` without prefix); others read it at start."""
        supervisor = self._roster.get(plugin)
        if supervisor is not None and supervisor.front.running is not None:
            supervisor.front.running.settings_changed(key, value)

    # Within.

    async def _prepare(self) -> None:
        """Read the past, claim names in one fixed order, and end what a daemon killed with -9 left on this folder."""
        strays = await trio.to_thread.run_sync(partial(kill_marked, self._family, group=True))
        if strays:
            _log.warning("ended %d processes that an earlier homed on this folder had left", strays)
        await self._schedules.load()
        for found in self._found:
            if isinstance(found, Broken):
                _log.error("plugin %s cannot be used: %s", found.name, "; ".join(found.errors))
                self._roster.put(found)
            else:
                await self._enlist(found)

    async def _enlist(self, found: Installed) -> Supervisor:
        await self._roster.log(found.name).load()
        tools = await self._tools.load(found.manifest)
        supervisor = Supervisor(await _plan(self._ports.store, found), self._supervise_ports(), tools)
        await supervisor.load()
        self._roster.put(supervisor)  # at once: from now on it, and not the one before, is what a person stops
        with suppress(StorageError):  # what it wants to be woken for is told once it can be stored
            await self._schedules.adopt(found.manifest)
        return supervisor

    def _supervise_ports(self) -> SupervisePorts:
        return SupervisePorts(
            launcher=self._launcher, history=self._history, registry=self.registry, wall=self._ports.wall,
            on_change=self._announce, policy=self._policy, facilities=self._ports.facilities,
        )  # fmt: skip

    async def _keep(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self._scope, closing(self._rings), closing(self.segment):
            async with trio.open_nursery() as reaping:
                reaping.start_soon(reap_strays)
                async with trio.open_nursery() as self._lives:
                    for supervisor in self._roster:  # each waits for what it needs itself, none for another
                        self._lives.start_soon(supervisor.run)
                    self._lives.start_soon(self._closing.wait)
                    task_status.started()
                reaping.cancel_scope.cancel()

    async def _settle(self) -> None:
        with trio.move_on_after(HEAD_START):
            for supervisor in self._roster:
                await supervisor.wait_settled(frozenset({State.STOPPING}))
        self._all_started.set()

    async def _settled(self, name: str) -> PluginStatus:
        await self._roster.supervisor(name).wait_settled()
        return self.status(name)

    async def _end(self, name: str, *, disable: bool) -> PluginStatus:
        supervisor = self._roster.supervisor(name)
        await supervisor.stop(disable=disable)
        await supervisor.front.wait(lambda: supervisor.state in RESTING or bool(supervisor.front.closed))
        return supervisor.status()

    async def _bring(self, found: Installed) -> None:
        lives = self._open()
        try:
            self._ports.define(found.manifest)
        except ConfigError as error:
            self._roster.put(Broken(found.name, found.folder, found.trust, (str(error),)))
            raise
        supervisor = await self._enlist(found)
        if not self._closing.is_set():
            lives.start_soon(supervisor.run)

    async def _take_down(self, name: str, why: str) -> None:
        """End a plugin's life and take its names back; it stays on the roster, and says ``why`` to calls."""
        supervisor = self._roster.get(name)
        if supervisor is None:  # a broken one: nothing of it runs
            return
        supervisor.close(why)
        await supervisor.ended.wait()
        self.registry.release(name)
        self._ports.undefine(supervisor.plan.manifest)

    async def _apart(self, change: Callable[[], Awaitable[None]]) -> None:
        """One change after another; a plugin that asks for its own reload is gone before its end."""

        async def in_turn() -> None:
            async with self._one_change:
                self._open()
                await change()

        await apart(self._open(), in_turn)

    def _open(self) -> trio.Nursery:
        if self._lives is None or self._closing.is_set():
            raise Unavailable("homed is stopping, or has not begun yet.")
        return self._lives

    async def _tell(self, schedule: Schedule, due: Due) -> object:
        return await self.call(
            schedule.plugin, SCHEDULE_INVOKE, as_params(schedule, due), timeout=self._ports.limits().schedule
        )

    def _announce(self, status: PluginStatus) -> None:
        data = {"plugin": status.name, "state": status.state.value, "reason": status.reason}
        self._ports.bus.post(PLUGIN_STATE, data=data)
        self._schedules.look()


async def _plan(store: Store, found: Installed) -> Plan:
    """What to launch, with the rights that it was given."""
    given: frozenset[str] = frozenset()
    if found.trust is Trust.EXTERNAL:
        with suppress(Damaged):  # what a person granted is not known: nothing then
            given = await store.read(lambda tx: grants.granted(tx, found.name))
    return Plan(
        found.manifest, found.folder, found.trust, grants.allowed(found.manifest.capabilities, found.trust, given)
    )
