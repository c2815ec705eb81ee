"""One supervisor through whatever may happen to it: hypothesis makes the stories, a model knows the rules.

A story is a list of steps on MockClock with lives that take time to come up and to go.  After each step the state, its
reason and what the registry lists must fit together; at the end every call has had its answer, and nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis.strategies as st
import trio
from hypothesis import HealthCheck, example, given, settings
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import Conflict, TimedOut, Unavailable
from homed.host.facilities import Facilities, Provider
from homed.host.history import Past
from homed.host.life import Cause, Ending, Life, Plan
from homed.host.registry import Registry
from homed.host.states import CrashReport, State, Trust
from homed.host.supervise import SupervisePorts, Supervisor
from homed.wire.manifest import Manifest, StageSpec, ToolSpec

IDLE = 20.0
BOOT, LADDER, WORK, LONG = 0.2, 1.0, 0.5, 2.5 * IDLE
ALIVE = {State.STARTING, State.READY, State.STOPPING}


class Kept:
    """History in memory."""

    def __init__(self) -> None:
        self.past = Past()

    async def load(self, plugin: str) -> Past:
        await trio.lowlevel.checkpoint()
        return self.past

    async def save(self, plugin: str, past: Past, *, at: float) -> None:
        await trio.lowlevel.checkpoint()
        self.past = past

    async def report(self, plugin: str, report: CrashReport) -> None:
        await trio.lowlevel.checkpoint()


class Lives:
    """A launcher whose lives crash, leave and fail to start when told to."""

    def __init__(self, facilities: Facilities) -> None:
        self.failed_starts = 0
        self.alive = self.launched = 0
        self.next_start = ""
        self.end = trio.Event()
        self.how = ""
        self.gone = trio.Event()
        self._facilities = facilities
        self.pid = 7
        self.address = None

    async def __call__(self, life: Life) -> Ending:
        assert self.alive == 0, "two lives at once"
        assert self._facilities.waiting(life.plan.manifest.needs) == []
        assert self._facilities.blocked(life.plan.manifest.needs) == ""
        self.alive, self.launched = 1, self.launched + 1
        self.end, self.gone = trio.Event(), trio.Event()
        try:
            return await self._live(life)
        finally:
            self.gone.set()
            self.alive = 0

    async def _live(self, life: Life) -> Ending:
        life.started(7)
        start, self.next_start = self.next_start, ""
        with trio.move_on_after(BOOT):
            await life.doomed()
        if life.fate is None:
            self.failed_starts += bool(start)
            if start == "refuse":
                return Ending(None, None, "The port is in use.", refused=True)
            if start == "crash":
                return Ending(1, None, "exit code 1")
            life.ready(self)
            self.end = trio.Event()  # one that is not up yet cannot be killed
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._die, life)
                await life.doomed()
                nursery.cancel_scope.cancel()
        self.gone.set()
        fate = await life.doomed()
        if fate.cause is Cause.EXITED:
            return (
                Ending(0, None, "exit code 0", failed=False) if self.how == "leave" else Ending(1, None, "exit code 1")
            )
        await trio.sleep(LADDER)
        return Ending(0, None, fate.reason, asked_for=True, failed=False)

    async def _die(self, life: Life) -> None:
        await self.end.wait()
        life.fell_silent()
        life.doom(Cause.EXITED, "exited")

    def kill(self, how: str) -> None:
        self.how = how
        self.end.set()

    async def call(self, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """As a session: the work takes a while, and fails when the process goes."""
        gone = self.gone
        with trio.move_on_after(LONG if method == "long" else WORK):
            await gone.wait()
            raise Unavailable("The plugin ended during the call.")
        return "done"

    def settings_changed(self, key: str, value: object) -> None:
        """Nothing."""


@dataclass
class Called:
    """One call and what came of it."""

    hopeful: bool
    troubles: int
    outcome: str = ""


@dataclass
class Story:
    """The supervisor, and what the model knows."""

    lazy: bool
    restart: str
    facilities: Facilities = field(init=False)
    calls: list[Called] = field(default_factory=list)
    troubles: int = 0
    """Things that may fail a call, counted."""

    def __post_init__(self) -> None:
        self.facilities = Facilities([Provider("scenes", "")])
        self.registry, self.lives, self.kept = Registry(), Lives(self.facilities), Kept()
        stages = () if self.lazy else (StageSpec("on_input", on_failure="closed"),)
        manifest = Manifest(
            "mole", "1", "x", needs=("scenes",), activation="lazy" if self.lazy else "eager", idle_stop=IDLE,
            restart=self.restart, tools=(ToolSpec("dig", "Digs.", {}),), stages=stages,
        )  # fmt: skip
        ports = SupervisePorts(
            self.lives, self.kept, self.registry, trio.current_time, lambda _: None, facilities=self.facilities
        )
        self.supervisor = Supervisor(Plan(manifest, Path("/"), Trust.PACKAGED, frozenset()), ports)

    # Steps.

    async def act(self, step: str, nursery: trio.Nursery) -> None:
        supervisor, state = self.supervisor, self.supervisor.state
        match step.split():
            case ["call"] | ["call", "twice"]:
                for _ in range(2 if step.endswith("twice") else 1):
                    nursery.start_soon(self.call, 60.0)
            case ["call", "briefly"]:
                nursery.start_soon(self.call, 0.1)
            case ["call", "long"]:
                nursery.start_soon(self.call, 60.0, "long")
            case ["sleep", seconds]:
                await trio.sleep(float(seconds))
            case ["start"]:
                await supervisor.start()
            case ["enable"]:
                await supervisor.start(now=False)
            case ["stop"]:
                self.troubles += 1
                await supervisor.stop()
            case ["disable"]:
                self.troubles += 1
                await supervisor.stop(disable=True)
            case ["crash" | "leave" as how]:
                self.troubles += 1
                self.lives.kill(how)
            case ["next", how]:
                self.lives.next_start = how
            case ["up"]:
                self.facilities.up("scenes")
            case ["fail"]:
                self.troubles += 1
                self.facilities.fail("scenes", "no model")
            case ["hold"]:
                supervisor.hold("music", True)
            case ["free"]:
                supervisor.hold("music", False)
            case ["restart"]:
                self.troubles += 1
                try:
                    supervisor.restart()
                except (Conflict, Unavailable):
                    assert state is not State.READY or len(supervisor._restarts) == 3

    async def call(self, timeout: float, method: str = "tool.invoke") -> None:
        """One call; it must be done if the plugin took calls when it came and nothing happened to it meanwhile."""
        hopeful = self.registry.ready("mole") and timeout > 10 and self.facilities.state("scenes") == "up"
        one = Called(hopeful, self.troubles + self.lives.failed_starts)
        self.calls.append(one)
        try:
            async with self.supervisor.front.serving(timeout) as (running, left):
                one.outcome = str(await running.call(method, {}, timeout=left))
        except (Unavailable, TimedOut) as error:
            one.outcome = f"{type(error).__name__}: {error}"
        if one.hopeful and one.troubles == self.troubles + self.lives.failed_starts:
            assert one.outcome == "done", f"a call was lost: {one.outcome}"

    # What must hold.

    def check(self) -> None:
        supervisor = self.supervisor
        state, reason = supervisor.state, supervisor.reason
        assert (self.lives.alive == 1) == (state in ALIVE), (state, reason)
        assert (supervisor.front.running is not None) == (state is State.READY)
        listed = set(self.registry.tools()) == {"dig"}
        if self.lazy:
            assert state is not State.LAZY or (self.lives.alive == 0 and not supervisor._demand.any)
            takes = state in ALIVE | {State.LAZY} or (state is State.WAITING and not reason.startswith("blocked"))
            assert listed == takes or state is State.STOPPING, (state, reason)
        else:
            assert state is not State.LAZY
            assert listed == (state is State.READY)
            closed = [entry.ready for entry in self.registry.stages("on_input")]
            assert closed == ([] if self.kept.past.wish in ("off", "disabled") else [state is State.READY])
        match state:
            case State.WAITING:
                assert reason in ("waiting for scenes", "blocked on scenes: no model")
                assert reason.startswith("blocked") == (self.facilities.state("scenes") == "failed")
            case State.BACKOFF:
                assert "again in" in reason
                assert supervisor.status().retry_at is not None
            case State.STOPPED:
                assert reason.startswith(("stopped by a person", "needs attention: ", "ended by itself"))
            case State.DISABLED:
                assert reason == "disabled until a person starts it"
        if state is State.READY and self.lazy and not supervisor._demand._busy:
            assert trio.current_time() <= supervisor._demand.idle_at(IDLE)

    async def run(self, steps: list[str]) -> None:
        await self.supervisor.load()
        async with trio.open_nursery() as calls:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.supervisor.run)
                for step in steps:
                    await self.act(step, calls)
                    await wait_all_tasks_blocked()
                    self.check()
                self.supervisor.close()
                self.troubles += 1
            assert self.lives.alive == 0
            assert self.supervisor.front.running is None
            calls.cancel_scope.deadline = trio.current_time() + 1  # none waits for a plugin that will not come
        assert all(one.outcome for one in self.calls)


STEPS = (
    "call", "call", "call twice", "call long", "call briefly", "sleep 0.1", "sleep 0.6", "sleep 2", f"sleep {IDLE}",
    f"sleep {IDLE - 0.5}", "sleep 301", "start", "enable", "stop", "disable", "crash", "crash", "leave", "next refuse",
    "next crash", "up", "fail", "hold", "free", "restart",
)  # fmt: skip


def told(lazy: bool, restart: str, steps: list[str]) -> None:
    """Run one story on a clock that does not wait."""

    async def main() -> None:
        await Story(lazy, restart).run(steps)

    trio.run(main, clock=MockClock(autojump_threshold=0))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.booleans(), st.sampled_from(["always", "on-failure", "never"]), st.booleans(),
    st.lists(st.sampled_from(STEPS), max_size=24),
)  # fmt: skip
@example(
    True, "on-failure", True, ["call", "sleep 0.6", f"sleep {IDLE - 0.5}", "sleep 0.6", "call", "sleep 2", "sleep 2"]
)
@example(True, "on-failure", True, ["call long", "sleep 2", f"sleep {IDLE}", f"sleep {IDLE}", "sleep 301", "call"])
@example(True, "on-failure", True, ["start", "sleep 0.6", f"sleep {IDLE}", "call", "call", "sleep 2"])
@example(True, "on-failure", True, ["next crash", "call twice", "sleep 0.6", "call", "sleep 2", "call", "sleep 2"])
@example(True, "always", False, ["call", "sleep 2", "fail", "sleep 0.1", "call", "up", "call", "sleep 2"])
@example(False, "never", True, ["sleep 2", "leave", "sleep 2", "start", "sleep 2", "restart", "sleep 2", "crash"])
def test_whatever_happens_the_state_is_true_and_no_call_is_lost(
    lazy: bool, restart: str, up: bool, steps: list[str]
) -> None:
    told(lazy, restart, (["up"] if up else []) + steps)
