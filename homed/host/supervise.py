"""Keep one plugin as it should be: up, or down, or coming back.

What happens after an end is `policy.decide`'s word; this is the loop that acts on it.  It knows no processes: a
launcher runs a life to its end, so that the whole of it is tested with fakes and a clock that does not wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import trio

from homed.clock import WallClock
from homed.errors import Conflict, HomedError
from homed.host import history
from homed.host.history import KEPT_REPORTS, History, Past
from homed.host.life import Cause, Ending, Launcher, Life, Plan
from homed.host.policy import Again, Done, End, GiveUp, Policy, Restart, decide
from homed.host.registry import Registry
from homed.host.states import RESTING, CrashReport, PluginStatus, State

_log = logging.getLogger(__name__)

OFF_REASON = "stopped by a person"
_SAVE_LIMIT = 5.0
"""Seconds for a person's wish to be stored, shielded."""
SETTLED = RESTING | {State.READY, State.BACKOFF}
"""Where a start has led somewhere."""


@dataclass(frozen=True, slots=True)
class SupervisePorts:
    """What supervision works with.  ``on_change`` hears of every new state; it must not wait."""

    launcher: Launcher
    history: History
    registry: Registry
    wall: WallClock
    on_change: Callable[[PluginStatus], None]
    policy: Policy = field(default_factory=Policy)


class Supervisor:
    """One plugin's fate over the life of the daemon.  `load`, then `run`; the rest may be called at any time."""

    def __init__(self, plan: Plan, ports: SupervisePorts) -> None:
        self.plan = plan
        self._ports = ports
        self._policy = replace(ports.policy, restart=Restart(plan.manifest.restart))
        self._past = Past()
        self._wanted = False
        self._closing = False
        self._life: Life | None = None
        self._state, self._reason, self._since = State.ABSENT, "", ports.wall()
        self._retry_at: float | None = None
        self._wake = trio.Event()
        self._changed = trio.Event()

    # What others ask.

    @property
    def life(self) -> Life | None:
        """The life that is on, if any."""
        return self._life

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._state

    @property
    def reason(self) -> str:
        """Why, in a sentence; may be empty."""
        return self._reason

    def status(self) -> PluginStatus:
        """Everything a person wants to know."""
        manifest, life = self.plan.manifest, self._life
        return PluginStatus(
            name=manifest.name, name_zh=manifest.name_zh, version=manifest.version, description=manifest.description,
            state=self._state, reason=self._reason, since=self._since, pid=life.pid if life else None,
            tools=tuple(t.name for t in manifest.tools), trust=self.plan.trust, crashes=self._past.reports,
            retry_at=self._retry_at, address=life.running.address if life and life.running else None,
        )  # fmt: skip

    async def wait_until(self, states: frozenset[State]) -> State:
        """Wait until it stands in one of these."""
        while self._state not in states:
            await self._changed.wait()
        return self._state

    async def load(self) -> None:
        """Remember the past, and reserve the plugin's names if it is to run; in one fixed order for all plugins."""
        self._past = await self._ports.history.load(self.plan.name)
        wish = self._past.wish
        self._wanted = wish == history.RUN or (not wish and self.plan.manifest.enabled)
        if self._wanted:
            self._claim()
        elif wish == history.ATTENTION:
            self._claim()
            self._wanted = False
            self._set(State.STOPPED, self._past.reason)
        else:
            self._set(*((State.STOPPED, OFF_REASON) if wish else (State.DISABLED, "disabled until a person starts it")))

    async def start(self) -> None:
        """A person wants it up: forget the crashes and start now, whatever it was waiting for."""
        self._past = replace(self._past, wish=history.RUN, reason="", crashes=())
        # All of it before the first wait, or a stop that comes meanwhile would be overruled.
        if not self._closing and self._state not in (State.READY, State.STARTING) and self._claim():
            self._wanted = True
            if self._life is None:
                self._set(State.WAITING, "")
            self._wake.set()
        await self._save_wish()

    async def stop(self) -> None:
        """A person wants it down.  Returns once asked for; `wait_until(RESTING)` for the end of the ladder."""
        self._past = replace(self._past, wish=history.OFF, reason=OFF_REASON)
        self._wanted = False
        self._ports.registry.release(self.plan.name)
        if self._life is not None:
            self._life.doom(Cause.ASKED, OFF_REASON)
        else:
            self._set(State.STOPPED, OFF_REASON)
        self._wake.set()
        await self._save_wish()

    def close(self) -> None:
        """The daemon ends: no new life, and the ladder for this one.  Nothing of it is remembered."""
        self._closing = True
        self._wanted = False
        if self._life is not None:
            self._life.doom(Cause.ASKED, "homed is stopping")
        self._wake.set()

    # The loop.

    async def run(self) -> None:
        """Supervise until `close`.  Cancelled, the launcher kills what runs before this returns."""
        while not self._closing:
            if self._wanted:
                await self._judge(await self._live())
            else:
                await self._sleep()

    async def _live(self) -> Ending:
        life = self._life = Life(self.plan, self._follow)
        self._retry_at = None
        self._wake = trio.Event()  # a wish of before must not cut a later wait short
        self._set(State.STARTING, "")
        try:
            return await self._ports.launcher(life)
        except Exception as error:  # noqa: BLE001
            # A fault of ours in running one plugin is that plugin's crash: the others and the chat go on.
            _log.exception("running %s failed", self.plan.name)
            return Ending(None, None, f"homed failed to run it ({type(error).__name__})")
        finally:
            self._ports.registry.set_ready(self.plan.name, False)
            self._life = None

    def _follow(self) -> None:
        """The life changed: show it."""
        life = self._life
        if life is None:
            return
        if life.fate is not None or life.silent:
            self._ports.registry.set_ready(self.plan.name, False)
            self._set(State.STOPPING, life.fate.reason if life.fate else "it closed its connection")
        elif life.running is not None:
            self._ports.registry.set_ready(self.plan.name, True)
            self._set(State.READY, "")

    async def _judge(self, ending: Ending) -> None:
        if ending.asked_for:
            if not self._closing and not self._wanted:
                self._set(State.STOPPED, OFF_REASON)
            return
        if ending.refused:
            _log.error("plugin %s: %s", self.plan.name, ending.reason)
            self._rest(f"needs attention: {ending.reason}")
            return
        now = self._ports.wall()
        _log.warning("plugin %s ended: %s", self.plan.name, ending.reason)
        await self._report(CrashReport(now, ending.code, ending.signal, ending.stderr, ending.pending))
        if not self._wanted:  # a person stopped it meanwhile
            self._set(State.STOPPED, OFF_REASON)
            return
        match decide(self._policy, self._past.crashes, End(now, code=1 if ending.failed else 0)):
            case Again(wait, crashes):
                await self._back_off(wait, crashes, ending)
            case GiveUp(crashes):
                await self._give_up(crashes, ending)
            case Done():
                self._rest(f"ended by itself ({ending.reason}); restart is {self._policy.restart.value}")

    async def _back_off(self, wait: float, crashes: tuple[float, ...], ending: Ending) -> None:
        self._past = replace(self._past, crashes=crashes)
        self._retry_at = self._ports.wall() + wait
        self._set(State.BACKOFF, f"{ending.reason}; starts again in {wait:g} s")
        with trio.move_on_after(wait):
            await self._save()
            await self._sleep()
        self._retry_at = None

    async def _give_up(self, crashes: tuple[float, ...], ending: Ending) -> None:
        minutes = self._policy.window / 60
        reason = f"needs attention: {len(crashes)} crashes within {minutes:g} minutes, the last: {ending.reason}"
        self._past = replace(self._past, wish=history.ATTENTION, reason=reason, crashes=crashes)
        self._rest(reason)
        await self._save()

    def _rest(self, reason: str) -> None:
        self._wanted = False
        self._set(State.STOPPED, reason)

    async def _sleep(self) -> None:
        await self._wake.wait()
        self._wake = trio.Event()

    def _claim(self) -> bool:
        try:
            self._ports.registry.claim(self.plan.manifest, self.plan.trust)
        except Conflict as error:
            _log.error("plugin %s: %s", self.plan.name, error)
            self._rest(f"needs attention: {error}")
            return False
        return True

    def _set(self, state: State, reason: str) -> None:
        if (state, reason) == (self._state, self._reason):
            return
        if state is not self._state:
            self._since = self._ports.wall()
        self._state, self._reason = state, reason
        self._changed.set()
        self._changed = trio.Event()
        self._ports.on_change(self.status())

    async def _report(self, report: CrashReport) -> None:
        self._past = replace(self._past, reports=(*self._past.reports, report)[-KEPT_REPORTS:])
        await self._remember(self._ports.history.report(self.plan.name, report))

    async def _save(self) -> None:
        await self._remember(self._ports.history.save(self.plan.name, self._past, at=self._ports.wall()))

    async def _save_wish(self) -> None:
        """Also when whoever asked is gone: a page or a terminal asks for its own end, and is cancelled by it."""
        with trio.move_on_after(_SAVE_LIMIT, shield=True):
            await self._save()

    async def _remember(self, writing: Coroutine[Any, Any, None]) -> None:
        """A store that refuses must not take the plugin down with it: what is in memory still holds."""
        try:
            await writing
        except HomedError as error:
            _log.error("the state of %s could not be stored: %s", self.plan.name, error)
