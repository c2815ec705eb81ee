"""The states of one plugin under MockClock, with lives that follow a script.  Faults C1, C15."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from homed.errors import StorageError
from homed.host import history
from homed.host.front import SETTLED
from homed.host.history import Past
from homed.host.life import Plan
from homed.host.policy import Policy
from homed.host.registry import Registry
from homed.host.states import RESTING, CrashReport, PluginStatus, State, Trust
from homed.host.supervise import SupervisePorts, Supervisor
from homed.wire.manifest import Manifest, StageSpec, ToolSpec
from tests.kit.fake_child import Crash, Explodes, FakeLauncher, Leaves, Refuses, Runs


class MemoryHistory:
    """History in a dict; ``broken`` refuses every write, ``slow`` holds them up until it is set."""

    def __init__(self, **past: Past) -> None:
        self.past = dict(past)
        self.broken = False
        self.slow: trio.Event | None = None
        self._order = trio.StrictFIFOLock()

    async def load(self, plugin: str) -> Past:
        await trio.lowlevel.checkpoint()
        return self.past.get(plugin, Past())

    async def save(self, plugin: str, past: Past, *, at: float) -> None:
        await self._write()
        self.past[plugin] = Past(past.wish, past.reason, past.crashes, self.past.get(plugin, Past()).reports)

    async def report(self, plugin: str, report: CrashReport) -> None:
        await self._write()
        old = self.past.get(plugin, Past())
        self.past[plugin] = Past(old.wish, old.reason, old.crashes, (*old.reports, report))

    async def _write(self) -> None:
        await trio.lowlevel.checkpoint()
        async with self._order:
            if self.slow is not None:
                await self.slow.wait()
        if self.broken:
            raise StorageError("The disk is full.")


class World:
    """One supervisor with everything around it."""

    def __init__(self, *script: Any, past: MemoryHistory | None = None, registry: Registry | None = None,
                 **manifest: Any) -> None:  # fmt: skip
        self.launcher = FakeLauncher(*script)
        self.history = past or MemoryHistory()
        self.registry = registry or Registry()
        self.shown: list[tuple[State, str]] = []
        values = {"version": "1", "entry": "x", "tools": (ToolSpec("dig", "Digs.", {}),), **manifest}
        plan = Plan(Manifest(name=values.pop("name", "mole"), **values), Path("/"), Trust.PACKAGED, frozenset())
        ports = SupervisePorts(
            self.launcher, self.history, self.registry, trio.current_time, self._on_change, Policy()
        )  # fmt: skip
        self.supervisor = Supervisor(plan, ports)

    def _on_change(self, status: PluginStatus) -> None:
        self.shown.append((status.state, status.reason))

    def states(self) -> list[str]:
        return [state.value for state, _ in self.shown]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Supervisor]:
        await self.supervisor.load()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.supervisor.run)
            yield self.supervisor
            self.supervisor.close()


async def reach(supervisor: Supervisor, state: State) -> None:
    await supervisor.wait_until(frozenset({state}))


async def test_it_comes_up_and_its_tools_with_it(autojump_clock: MockClock) -> None:
    world = World()
    async with world.running() as supervisor:
        assert world.registry.tools() == {}
        await reach(supervisor, State.READY)
        assert list(world.registry.tools()) == ["dig"]
    assert world.launcher.alive == 0
    assert world.registry.tools() == {}


async def test_c1_backs_off_one_two_three_seconds_then_waits_for_a_person(autojump_clock: MockClock) -> None:
    world = World(Crash(1), Crash(1), Crash(1), Crash(1))
    async with world.running() as supervisor:
        begun = trio.current_time()
        await reach(supervisor, State.STOPPED)
        assert [at - begun for at in world.launcher.launches] == [0, 2, 5, 9]
        assert supervisor.reason.startswith("needs attention: 4 crashes within 5 minutes, the last: exit code 1")
        await trio.sleep(3600)
        assert len(world.launcher.launches) == 4
        await supervisor.start()
        assert await supervisor.wait_until(SETTLED) is State.READY
    assert world.history.past["mole"].crashes == ()


async def test_the_backoff_says_until_when_on_the_wall_clock(autojump_clock: MockClock) -> None:
    world = World(Crash(1))
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        status = supervisor.status()
        assert status.retry_at == trio.current_time() + 1
        assert status.reason == "exit code 1; starts again in 1 s"
        await reach(supervisor, State.READY)
        assert supervisor.status().retry_at is None


async def test_a_crash_report_keeps_exit_stderr_and_pending_calls_of_the_last_ten(autojump_clock: MockClock) -> None:
    world = World(*(Crash(400, code=n) for n in range(1, 14)))
    async with world.running() as supervisor:
        await trio.sleep(13 * 401.5)
        await reach(supervisor, State.READY)
        reports = supervisor.status().crashes
        assert [r.code for r in reports] == list(range(4, 14))
        assert (reports[-1].stderr, reports[-1].pending) == ("the last words", ("tool.invoke echo",))


async def test_crashes_and_the_stopped_state_survive_a_restart_of_homed(autojump_clock: MockClock) -> None:
    past = MemoryHistory()
    first = World(Crash(1), Crash(1), past=past)
    async with first.running() as supervisor:
        await trio.sleep(2.5)
        await reach(supervisor, State.BACKOFF)
    second = World(Crash(1), Crash(1), past=past)
    async with second.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        assert supervisor.reason.endswith("starts again in 3 s")
        await reach(supervisor, State.STOPPED)
    third = World(past=past)
    async with third.running() as supervisor:
        await trio.sleep(60)
        assert supervisor.state is State.STOPPED
        assert "4 crashes" in supervisor.reason
        assert third.launcher.launches == []
        assert len(supervisor.status().crashes) == 4


async def test_a_plugin_that_a_person_stopped_stays_stopped_after_a_restart_and_gives_its_names_back(
    autojump_clock: MockClock,
) -> None:
    past = MemoryHistory()
    world = World(past=past, stages=(StageSpec("on_input", on_failure="closed"),))
    async with world.running() as supervisor:
        await reach(supervisor, State.READY)
        await supervisor.stop()
        assert await supervisor.wait_until(RESTING) is State.STOPPED
        assert supervisor.reason == "stopped by a person"
        assert world.registry.stages("on_input") == []
    again = World(past=past)
    async with again.running() as supervisor:
        await trio.sleep(60)
        assert (supervisor.state, supervisor.reason) == (State.STOPPED, "stopped by a person")
        await supervisor.start()
        await reach(supervisor, State.READY)
    assert past.past["mole"].wish == history.RUN


async def test_the_end_of_the_daemon_is_not_remembered_as_a_stop(autojump_clock: MockClock) -> None:
    world = World()
    async with world.running() as supervisor:
        await reach(supervisor, State.READY)
    assert world.history.past == {}


async def test_a_plugin_that_is_off_by_default_waits_for_a_person(autojump_clock: MockClock) -> None:
    world = World(enabled=False)
    async with world.running() as supervisor:
        await trio.sleep(60)
        assert supervisor.state is State.DISABLED
        await supervisor.start()
        await reach(supervisor, State.READY)
    async with World(enabled=False, past=world.history).running() as supervisor:
        await reach(supervisor, State.READY)


async def test_a_configuration_error_is_shown_and_never_retried(autojump_clock: MockClock) -> None:
    world = World(Refuses("The port 8080 is in use."))
    async with world.running() as supervisor:
        await reach(supervisor, State.STOPPED)
        await trio.sleep(600)
        assert supervisor.reason == "needs attention: The port 8080 is in use."
        assert len(world.launcher.launches) == 1
        assert supervisor.status().crashes == ()
        await supervisor.start()
        await reach(supervisor, State.READY)
    assert world.history.past["mole"].wish == history.RUN


async def test_the_next_start_of_homed_tries_a_configuration_error_again(autojump_clock: MockClock) -> None:
    past = MemoryHistory()
    async with World(Refuses(), past=past).running() as supervisor:
        await reach(supervisor, State.STOPPED)
    async with World(past=past).running() as supervisor:
        await reach(supervisor, State.READY)


async def test_a_clean_end_that_nobody_asked_for_is_reported_and_follows_restart(autojump_clock: MockClock) -> None:
    world = World(Leaves(1))
    async with world.running() as supervisor:
        await reach(supervisor, State.STOPPED)
        assert supervisor.reason == "ended by itself (exit code 0); restart is on-failure"
        assert supervisor.status().crashes[0].code == 0
    world = World(Leaves(1), restart="always")
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        await reach(supervisor, State.READY)
    world = World(Crash(1), restart="never")
    async with world.running() as supervisor:
        await reach(supervisor, State.STOPPED)
        assert len(world.launcher.launches) == 1


async def test_stopping_during_the_backoff_stays_down_and_starting_goes_at_once(autojump_clock: MockClock) -> None:
    world = World(Crash(1), Crash(1), Crash(1))
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        await supervisor.stop()
        await trio.sleep(60)
        assert (supervisor.state, len(world.launcher.launches)) == (State.STOPPED, 1)
        await supervisor.start()
        await reach(supervisor, State.BACKOFF)
        before = trio.current_time()
        await supervisor.start()
        await reach(supervisor, State.READY)
        assert trio.current_time() == before


async def test_a_start_during_the_ladder_comes_up_again_and_shortens_no_later_backoff(
    autojump_clock: MockClock,
) -> None:
    world = World(Runs(ladder=3), Crash(1))
    async with world.running() as supervisor:
        await reach(supervisor, State.READY)
        await supervisor.stop()
        await supervisor.start()
        assert supervisor.state is State.STOPPING
        await reach(supervisor, State.BACKOFF)
        crashed = trio.current_time()
        await reach(supervisor, State.READY)
        assert trio.current_time() - crashed == 1


async def test_a_stop_that_comes_while_the_plugin_crashes_wins(autojump_clock: MockClock) -> None:
    world = World(Crash(1))
    async with world.running() as supervisor:
        await reach(supervisor, State.READY)
        await trio.sleep(1)
        await supervisor.stop()
        await trio.sleep(60)
        assert (supervisor.state, len(world.launcher.launches)) == (State.STOPPED, 1)


async def test_fail_closed_stages_hold_while_it_is_down_but_not_when_a_person_stopped_it(
    autojump_clock: MockClock,
) -> None:
    """E 21: a stage whose handler is dead ends as its on_failure says."""
    stages = (StageSpec("on_input", on_failure="closed"), StageSpec("on_tool", on_failure="open"))
    world = World(Crash(1), Crash(1), Crash(1), Crash(1), stages=stages)
    async with world.running() as supervisor:
        await reach(supervisor, State.READY)
        assert [s.ready for s in world.registry.stages("on_input")] == [True]
        await reach(supervisor, State.BACKOFF)
        assert [s.ready for s in world.registry.stages("on_input")] == [False]
        assert world.registry.stages("on_tool") == []
        await reach(supervisor, State.STOPPED)
        assert [s.ready for s in world.registry.stages("on_input")] == [False]
        await supervisor.stop()
        assert world.registry.stages("on_input") == []


async def test_a_tool_name_that_is_taken_stops_the_second_plugin_and_names_both(autojump_clock: MockClock) -> None:
    registry = Registry()
    first, second = World(registry=registry), World(registry=registry, name="vole")
    async with first.running() as mole, second.running() as vole:
        await reach(mole, State.READY)
        assert vole.state is State.STOPPED
        assert "tool dig of the plugin vole is taken by the plugin mole" in vole.reason
        await vole.start()
        assert vole.state is State.STOPPED
        await mole.stop()
        await vole.start()
        await reach(vole, State.READY)
        assert registry.tools()["dig"].plugin == "vole"


async def test_a_fault_of_ours_in_running_one_plugin_is_that_plugins_crash(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(Explodes())
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        await reach(supervisor, State.READY)
        assert world.supervisor.status().crashes[0].code is None
    assert "a fault of ours" in caplog.text


async def test_a_full_disk_takes_no_plugin_down(autojump_clock: MockClock) -> None:
    past = MemoryHistory()
    past.broken = True
    world = World(Crash(1), past=past)
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        await reach(supervisor, State.READY)
        await supervisor.stop()
        await reach(supervisor, State.STOPPED)


async def test_every_state_is_shown_once_as_it_comes(autojump_clock: MockClock) -> None:
    world = World(Crash(1), Runs(ladder=1))
    async with world.running() as supervisor:
        await reach(supervisor, State.BACKOFF)
        await reach(supervisor, State.READY)
        await supervisor.stop()
        await reach(supervisor, State.STOPPED)
    assert world.states() == ["starting", "ready", "stopping", "backoff", "starting", "ready", "stopping", "stopped"]


async def test_a_stop_that_comes_while_a_start_is_being_stored_has_the_last_word(autojump_clock: MockClock) -> None:
    world = World(past=MemoryHistory(mole=Past(history.OFF)))
    async with world.running() as supervisor, trio.open_nursery() as nursery:
        world.history.slow = trio.Event()
        nursery.start_soon(supervisor.start)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(supervisor.stop)
        await trio.testing.wait_all_tasks_blocked()
        world.history.slow.set()
        await trio.testing.wait_all_tasks_blocked()
        assert supervisor.state is State.STOPPED
        assert world.history.past["mole"].wish == history.OFF
        assert world.launcher.alive == 0


async def test_a_wish_is_stored_though_the_plugin_that_asked_is_ended_by_it(autojump_clock: MockClock) -> None:
    world = World()
    async with world.running() as supervisor, trio.open_nursery() as nursery:
        await reach(supervisor, State.READY)
        world.history.slow = trio.Event()
        nursery.start_soon(supervisor.stop)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        world.history.slow.set()
    assert world.history.past["mole"].wish == history.OFF
