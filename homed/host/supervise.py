"""Keep one plugin as it should be: up, or down, or coming back.

What happens after an end is `policy.decide`'s word; this is the loop that acts on it.  It knows no processes: a
launcher runs a life to its end, so that the whole of it is tested with fakes and a clock that does not wait.

A life begins once the plugin is wanted, its facilities are up and, if it is lazy, somebody needs it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import trio

from homed.clock import WallClock
from homed.errors import Conflict, Unavailable
from homed.host import history
from homed.host.facilities import Facilities
from homed.host.front import Front
from homed.host.history import History, Record
from homed.host.life import Cause, Ending, Launcher, Life, Plan
from homed.host.policy import Again, Done, End, GiveUp, Policy, Restart, decide
from homed.host.registry import Registry
from homed.host.states import CrashReport, PluginStatus, State
from homed.wire.manifest import ToolSpec

_log = logging.getLogger(__name__)

OFF_REASON = "stopped by a person"
DISABLED_REASON = "disabled until a person starts it"


@dataclass(frozen=True, slots=True)
class SupervisePorts:
    """What supervision works with.  ``on_change`` hears of every new state; it must not wait."""

    launcher: Launcher
    history: History
    registry: Registry
    wall: WallClock
    on_change: Callable[[PluginStatus], None]
    policy: Policy = field(default_factory=Policy)
    facilities: Facilities = field(default_factory=Facilities.standing)


class Supervisor:
    """One plugin's fate over the life of the daemon.  `load`, then `run`; the rest may be called at any time.

    ``tools``: those of a plugin with dynamic tools, as it last listed them; beside the manifest's.
    """

    def __init__(self, plan: Plan, ports: SupervisePorts, tools: Sequence[ToolSpec] = ()) -> None:
        self.plan = plan
        self.front = Front(plan, ports.registry, ports.facilities, ports.wall)
        self.ended = trio.Event()
        """Set when `run` is over."""
        self._ports = ports
        self._policy = replace(ports.policy, restart=Restart(plan.manifest.restart))
        self._tools = tuple(tools)
        self._record = Record(plan.name, ports.history, ports.wall)
        self._demand = self.front.demand
        self._wanted = False
        self._life: Life | None = None
        self._note = ""
        """How a lazy plugin's last life ended, where that is worth a word."""
        self._retry_at: float | None = None
        self._restarts: list[float] = []

    # What others ask.

    @property
    def life(self) -> Life | None:
        """The life that is on, if any."""
        return self._life

    @property
    def state(self) -> State:
        """Where it stands."""
        return self.front.state

    @property
    def reason(self) -> str:
        """Why, in a sentence; may be empty."""
        return self.front.reason

    def status(self) -> PluginStatus:
        """Everything a person wants to know."""
        manifest, life = self.plan.manifest, self._life
        return PluginStatus(
            name=manifest.name, name_zh=manifest.name_zh, version=manifest.version, description=manifest.description,
            state=self.state, reason=self.reason, since=self.front.since, pid=life.pid if life else None,
            tools=tuple(t.name for t in (*manifest.tools, *self._tools)), trust=self.plan.trust,
            crashes=self._record.past.reports, retry_at=self._retry_at,
            address=life.running.address if life and life.running else None, lazy=self.front.lazy,
            busy=self._demand.leases,
        )  # fmt: skip

    async def wait_until(self, states: frozenset[State]) -> State:
        """Wait until it stands in one of these."""
        await self.front.wait(lambda: self.state in states)
        return self.state

    async def wait_settled(self, also: frozenset[State] = frozenset()) -> None:
        """Wait until a start has led somewhere, or it is in one of ``also``."""
        await self.front.wait(lambda: self.front.settled or self.state in also)

    async def load(self) -> None:
        """Remember the past, and reserve the plugin's names if it is to run; in one fixed order for all plugins."""
        past = await self._record.load()
        wish = past.wish
        self._wanted = wish == history.RUN or (not wish and self.plan.manifest.enabled)
        if self._wanted:
            self._claim()
        elif wish == history.ATTENTION:
            self._claim()
            self._wanted = False
            self._set(State.STOPPED, past.reason)
        elif wish == history.OFF:
            self._set(State.STOPPED, OFF_REASON)
        else:
            self._set(State.DISABLED, DISABLED_REASON)

    async def start(self, *, now: bool = True) -> None:
        """A person wants it up: forget the crashes and start it, whatever it was waiting for.

        Without ``now`` a lazy one is started by its first call, as ever.
        """
        self._record.note(wish=history.RUN, reason="", crashes=())
        self._restarts.clear()
        self._note = ""
        # All of it before the first wait, or a stop that comes meanwhile would be overruled.
        if not self.front.closed and self.state not in (State.READY, State.STARTING) and self._claim():
            self._wanted = True
            if now:
                self._demand.ask()
            if self._life is None:
                self._set(State.WAITING, "")
            self.front.wake.set()
        await self._record.save_wish()

    async def stop(self, *, disable: bool = False) -> None:
        """A person wants it down.  Returns once asked for; `wait_until(RESTING)` for the end of the ladder."""
        reason = DISABLED_REASON if disable else OFF_REASON
        self._record.note(wish=history.DISABLED if disable else history.OFF, reason=reason)
        self._wanted = False
        self._ports.registry.release(self.plan.name)
        if self._life is not None:
            self._life.doom(Cause.ASKED, reason)
            self._demand.refuse(f"The plugin {self.plan.name} is being stopped ({reason}).")
        else:
            self._down()
        self.front.wake.set()
        await self._record.save_wish()

    def close(self, why: str = "homed is stopping") -> None:
        """No new life, and the ladder for this one.  Nothing of it is remembered."""
        self._wanted = False
        self.front.close(why)
        if self._life is not None:
            self._life.doom(Cause.ASKED, why)
        self.front.wake.set()

    # What the running plugin itself asks.

    def restart(self) -> None:
        """It wants to begin anew.  `Conflict` when it has wanted so too often within the policy's window."""
        now, most = self._ports.wall(), len(self._policy.delays)
        self._restarts = [at for at in self._restarts if 0 <= now - at < self._policy.window]
        if len(self._restarts) >= most:
            minutes = self._policy.window / 60
            raise Conflict(
                f"The plugin {self.plan.name} has started itself anew {most} times within {minutes:g} minutes.",
                hint="It runs on as it is; a person can start it again.",
            )
        if self._life is None or self._life.running is None or not self._wanted:
            raise Unavailable(f"The plugin {self.plan.name} is ending already.")
        self._restarts.append(now)
        self._demand.ask()
        self._life.doom(Cause.ASKED, "it asked to be started anew")

    def hold(self, lease: str, held: bool) -> None:
        """It is busy with something (a terminal, music), or no longer: it is not stopped as idle meanwhile."""
        if self._life is not None and self._life.fate is None:
            self._demand.hold(lease, held)

    def set_tools(self, tools: Sequence[ToolSpec]) -> None:
        """Its list of dynamic tools from here on.  Nothing changes with a `Conflict`, which names both."""
        self._ports.registry.set_tools(self.plan.name, (*self.plan.manifest.tools, *tools))
        self._tools = tuple(tools)
        self._ports.on_change(self.status())

    # The loop.

    async def run(self) -> None:
        """Supervise until `close`.  Cancelled, the launcher kills what runs before this returns."""
        try:
            while not self.front.closed:
                if self._wanted and self._may_start():
                    await self._judge(await self._live())
                else:
                    await self._sleep()
        finally:
            self.front.close(self.front.closed or "homed is stopping")
            self.ended.set()

    def _may_start(self) -> bool:
        """Whether a life begins now; else the state says what it waits for."""
        facilities, needs = self._ports.facilities, self.plan.manifest.needs
        if why := facilities.blocked(needs):
            self._set(State.WAITING, why)
        elif self.front.lazy and not self._demand.any:
            self._set(State.LAZY, self._note)
        elif missing := facilities.waiting(needs):
            self._set(State.WAITING, f"waiting for {', '.join(missing)}")
        else:
            return True
        return False

    async def _live(self) -> Ending:
        life = self._life = Life(self.plan, self._follow)
        self._retry_at, self._note = None, ""
        self.front.wake = trio.Event()  # a wish of before must not cut a later wait short
        self._set(State.STARTING, "")
        try:
            async with trio.open_nursery() as nursery:
                if self.front.lazy:
                    nursery.start_soon(self._watch_idle, life)
                ending = await self._launch(life)
                nursery.cancel_scope.cancel()
            return ending
        finally:
            self.front.running = None
            if not self.front.lazy:
                self._ports.registry.set_ready(self.plan.name, False)
            self._demand.ended()
            self._life = None

    async def _launch(self, life: Life) -> Ending:
        try:
            return await self._ports.launcher(life)
        except Exception as error:  # noqa: BLE001
            # A fault of ours in running one plugin is that plugin's crash: the others and the chat go on.
            _log.exception("running %s failed", self.plan.name)
            return Ending(None, None, f"homed failed to run it ({type(error).__name__})")

    async def _watch_idle(self, life: Life) -> None:
        """Stop a lazy plugin that nobody has used for a while.  A call that comes then waits for its next life."""
        limit = self.plan.manifest.idle_stop
        while life.fate is None:
            with trio.move_on_at(self._demand.idle_at(limit) if life.running else math.inf):
                await (life.doomed() if life.running else self.front.wait_change())
            if life.running is not None and self._demand.idle(limit):
                life.doom(Cause.ASKED, f"not used for {limit:g} s")

    def _follow(self) -> None:
        """The life changed: show it."""
        life = self._life
        if life is None:
            return
        self.front.running = life.running
        if life.fate is not None or life.silent:
            self._set(State.STOPPING, life.fate.reason if life.fate else "it closed its connection")
        elif life.running is not None:
            self._set(State.READY, "")
            self._demand.serve(life.running)

    async def _judge(self, ending: Ending) -> None:
        if ending.asked_for:
            if not self.front.closed and not self._wanted:
                self._down()
            return
        if ending.refused:
            _log.error("plugin %s: %s", self.plan.name, ending.reason)
            self._rest(f"needs attention: {ending.reason}")
            return
        now = self._ports.wall()
        _log.warning("plugin %s ended: %s", self.plan.name, ending.reason)
        await self._record.report(CrashReport(now, ending.code, ending.signal, ending.stderr, ending.pending))
        if not self._wanted:  # a person stopped it meanwhile
            if not self.front.closed:
                self._down()
            return
        match decide(self._policy, self._record.past.crashes, End(now, code=1 if ending.failed else 0)):
            case Again(wait, crashes):
                await self._back_off(wait, crashes, ending)
            case GiveUp(crashes):
                await self._give_up(crashes, ending)
            case Done() if self.front.lazy and self._policy.restart is not Restart.NEVER:
                # It comes back when it is called again, which is no restart; but nobody waits for one that leaves.
                self._note = f"ended by itself ({ending.reason})"
                self._demand.refuse(f"The plugin {self.plan.name} ended by itself before it could be called.")
            case Done():
                self._rest(f"ended by itself ({ending.reason}); restart is {self._policy.restart.value}")

    async def _back_off(self, wait: float, crashes: tuple[float, ...], ending: Ending) -> None:
        self._record.note(crashes=crashes)
        self._retry_at = self._ports.wall() + wait
        again = f"; can be started again in {wait:g} s" if self.front.lazy else f"; starts again in {wait:g} s"
        self._set(State.BACKOFF, ending.reason + again)
        with trio.move_on_after(wait):
            await self._record.save()
            await self._sleep()
        self._retry_at = None

    async def _give_up(self, crashes: tuple[float, ...], ending: Ending) -> None:
        minutes = self._policy.window / 60
        reason = f"needs attention: {len(crashes)} crashes within {minutes:g} minutes, the last: {ending.reason}"
        self._record.note(wish=history.ATTENTION, reason=reason, crashes=crashes)
        self._rest(reason)
        await self._record.save()

    def _rest(self, reason: str) -> None:
        self._wanted = False
        self._set(State.STOPPED, reason)

    def _down(self) -> None:
        """A person wants it down, and it is."""
        disabled = self._record.past.wish == history.DISABLED
        self._set(*((State.DISABLED, DISABLED_REASON) if disabled else (State.STOPPED, OFF_REASON)))

    async def _sleep(self) -> None:
        """Until somebody wakes it, or something that it needs is up, has failed or is mended."""
        facilities, needs = self._ports.facilities, self.plan.manifest.needs
        async with trio.open_nursery() as nursery:
            if facilities.blocked(needs):
                nursery.start_soon(self._hear_of, facilities.mended, needs)
            for name in facilities.waiting(needs):
                nursery.start_soon(self._hear_of, facilities.wait, (name,))
            await self.front.wake.wait()
            nursery.cancel_scope.cancel()
        self.front.wake = trio.Event()

    async def _hear_of(self, change: Callable[[Sequence[str]], Awaitable[object]], names: Sequence[str]) -> None:
        await change(names)
        self.front.wake.set()

    def _claim(self) -> bool:
        try:
            self._tools = claim(self._ports.registry, self.plan, self._tools)
        except Conflict as error:
            _log.error("plugin %s: %s", self.plan.name, error)
            self._rest(f"needs attention: {error}")
            return False
        return True

    def _set(self, state: State, reason: str) -> None:
        if self.front.set(state, reason):
            self._ports.on_change(self.status())


def claim(registry: Registry, plan: Plan, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Reserve a plugin's names, and those of the ``tools`` that it listed when it last ran; returns these.

    If one of them is taken by now it comes up without them, and lists them anew.  `Conflict` for one of the manifest's.
    """
    manifest = plan.manifest
    if tools:
        try:
            registry.claim(replace(manifest, tools=(*manifest.tools, *tools)), plan.trust)
        except Conflict as error:
            _log.warning("the tools that %s listed earlier are not offered: %s", plan.name, error)
        else:
            return tuple(tools)
    registry.claim(manifest, plan.trust)
    return ()
