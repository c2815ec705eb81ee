"""Lazy plugins with real children on the real clock: started by calls and schedules, stopped when idle."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import Conflict, HomedError, InvalidInput, TimedOut, Unavailable
from homed.host import host as host_module
from homed.host import launch
from homed.host.facilities import Facilities, Provider
from homed.host.host import Host
from homed.host.policy import Policy
from homed.host.states import State
from homed.proc.ladder import stop_ladder
from tests.kit.hosting import LivingDispatcher, hosting, invoke, manifest
from tests.kit.processes import until, until_gone, with_mark

QUICK = Policy(delays=(0.2, 0.2, 0.2))


def lazy(name: str, mode: str = "good", **more: Any) -> dict[str, Any]:
    return manifest(name, mode, activation="lazy", **{"idle_stop": 1, **more})


async def stands(host: Host, name: str, state: State) -> None:
    with trio.fail_after(60):
        await host._roster.supervisor(name).wait_until(frozenset({state}))


def rests_after(host: Host, name: str, crashes: int) -> bool:
    status = host.status(name)
    return status.state in (State.BACKOFF, State.LAZY, State.STOPPED) and len(status.crashes) == crashes


async def asks(host: Host, plugin: str, method: str, **params: object) -> Any:
    """Have the plugin call the kernel, from inside its tool."""
    return await invoke(host, plugin, do="call", method=method, params=params)


async def test_first_calls_start_it_once_idleness_stops_it_and_the_next_call_starts_it_again(
    tmp_path: Path,
) -> None:
    async with hosting(tmp_path, lazy("good", in_flight=8)) as host:
        await stands(host, "good", State.LAZY)
        await host.wait_ready("good")
        assert (host.status("good").pid, set(host.registry.tools())) == (None, {"echo_good"})
        answers: list[object] = []

        async def call(n: int) -> None:
            answers.append(await invoke(host, "good", n=n))

        async with trio.open_nursery() as nursery:
            for n in range(6):
                nursery.start_soon(call, n)
        assert sorted(answers, key=str) == [{"n": n} for n in range(6)]
        pid = host.status("good").pid
        assert pid is not None
        assert len(with_mark(host._family, group=True)) == 1
        await stands(host, "good", State.LAZY)
        await until_gone([pid], within=60)
        assert set(host.registry.tools()) == {"echo_good"}
        assert await invoke(host, "good", again=True) == {"again": True}
        status = host.status("good")
        assert (status.pid != pid, status.crashes, status.lazy) == (True, (), True)


async def test_a_call_that_comes_while_it_is_stopped_as_idle_waits_and_starts_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "stop_ladder", partial(stop_ladder, grace=0.3, term=0.3))
    async with hosting(tmp_path, lazy("slow", "hang-on-stop")) as host:
        await invoke(host, "slow")
        await stands(host, "slow", State.STOPPING)
        assert host.status("slow").reason == "not used for 1 s"
        assert await invoke(host, "slow", a=1) == {"a": 1}
        assert host.status("slow").crashes == ()


async def test_a_call_longer_than_the_idle_time_is_not_cut_off(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("good")) as host:
        await invoke(host, "good")  # so that none of the time is the start's
        with pytest.raises(TimedOut, match="and was stopped"):
            await invoke(host, "good", timeout=2.5, do="sleep")
        assert host.status("good").crashes == ()


@pytest.mark.parametrize(
    ("mode", "says"),
    [("config", "The port 8080 is in use"), ("exit1", "backoff (exit code 1"), ("exit0", "ended by itself"),
     ("no-tool", "The plugin bad does not register what its manifest says: tools: echo_bad stands in plugin.json")],
)  # fmt: skip
async def test_a_start_that_fails_tells_the_caller_why(tmp_path: Path, mode: str, says: str) -> None:
    async with hosting(tmp_path, lazy("bad", mode), policy=Policy(delays=(30.0,))) as host:
        with pytest.raises(Unavailable, match=re.escape(says)):
            await invoke(host, "bad")
        if mode == "exit1":
            with pytest.raises(Unavailable, match="can be started again in 30 s"):
                await invoke(host, "bad")


async def test_the_fourth_crash_within_the_window_stops_a_lazy_one_too_until_a_person_starts_it(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("bad"), policy=QUICK) as host:
        for crashes in range(1, 5):
            await host.wait_ready("bad")
            with pytest.raises(Unavailable, match="ended during"):
                await invoke(host, "bad", do="exit")
            with trio.fail_after(60):  # for the count of them, as a backoff may be over before it is seen
                await host._roster.supervisor("bad").front.wait(partial(rests_after, host, "bad", crashes))
        with pytest.raises(Unavailable, match="needs attention: 4 crashes") as caught:
            await invoke(host, "bad")
        assert "homed plugin start bad" in caught.value.hint
        assert host.registry.tools() == {}
        assert (await host.start("bad")).state is State.READY
        assert await invoke(host, "bad", a=1) == {"a": 1}


async def test_a_person_starts_stops_enables_and_disables_a_lazy_one(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("good")) as host:
        assert (await host.start("good")).state is State.READY
        await stands(host, "good", State.LAZY)
        assert (await host.stop("good")).state is State.STOPPED
        with pytest.raises(Unavailable, match="stopped by a person"):
            await invoke(host, "good")
        assert (await host.enable("good")).state is State.LAZY
        assert host.status("good").pid is None
        assert await invoke(host, "good", a=1) == {"a": 1}
        disabled = await host.disable("good")
        assert (disabled.state, disabled.pid) == (State.DISABLED, None)
        assert host.registry.tools() == {}
    async with hosting(tmp_path) as host:
        assert host.status("good").state is State.DISABLED
        assert (await host.enable("good")).state is State.LAZY


async def test_a_lease_keeps_it_running_and_shows(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("good"), dispatcher=LivingDispatcher()) as host:
        await asks(host, "good", "core.busy", lease="music", held=True)
        await trio.sleep(2.2)
        status = host.status("good")
        assert (status.state, status.busy) == (State.READY, ("music",))
        await asks(host, "good", "core.busy", lease="music", held=False)
        await stands(host, "good", State.LAZY)
        assert host.status("good").busy == ()


async def test_it_waits_for_its_facility_and_a_failed_one_is_said_to_callers(tmp_path: Path) -> None:
    facilities = Facilities([Provider("scenes", ""), Provider("index", "")])
    plugins = (lazy("slow", needs=["scenes"]), lazy("lost", needs=["index"]), manifest("eager", needs=["scenes"]))
    async with hosting(tmp_path, *plugins, manifest("free"), ports={"facilities": facilities}) as host:
        await host.wait_ready("free")
        assert (host.status("eager").state, host.status("eager").reason) == (State.WAITING, "waiting for scenes")
        with pytest.raises(TimedOut, match=r"not up within 0.3 s \(waiting \(waiting for scenes\)\)"):
            await invoke(host, "slow", timeout=0.3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(invoke, host, "slow", a=1))
            await trio.testing.wait_all_tasks_blocked(0.05)
            facilities.fail("index", "no disk")
            facilities.up("scenes")
        await host.wait_ready("eager")
        with pytest.raises(Unavailable, match="blocked on index: no disk"):
            await invoke(host, "lost")
        assert (await host.start("lost")).reason == "blocked on index: no disk"
        assert set(host.registry.tools()) == {"echo_slow", "echo_eager", "echo_free"}


async def test_killed_with_9_while_it_serves_the_call_says_so_and_the_next_one_starts_it(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("good"), policy=QUICK) as host:
        said: list[str] = []

        async def call() -> None:
            try:
                await invoke(host, "good", do="sleep")
            except HomedError as error:
                said.append(error.message)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await stands(host, "good", State.READY)
            pid = host.status("good").pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        assert said == ["The plugin good ended during tool.invoke echo_good; how much of it was done is not known."]
        await stands(host, "good", State.LAZY)
        assert await invoke(host, "good", a=1) == {"a": 1}


async def test_homed_ends_while_a_lazy_one_is_coming_up_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "SHUTDOWN", 300)
    monkeypatch.setattr(launch, "stop_ladder", partial(stop_ladder, term=300))
    said: list[str] = []
    async with trio.open_nursery() as calls, hosting(tmp_path, lazy("slow", "slow-handshake"), lazy("idle")) as host:
        family = host._family

        async def call() -> None:
            try:
                await invoke(host, "slow")
            except HomedError as error:
                said.append(error.message)

        calls.start_soon(call)
        await stands(host, "slow", State.STARTING)
        begun = trio.current_time()
    assert trio.current_time() - begun < 60
    assert said == ["The plugin slow takes no more calls: homed is stopping."]
    assert with_mark(family, group=True) == []


async def test_a_schedule_starts_it_survives_a_restart_and_is_told_once_for_what_was_missed(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("rss", schedules=[]), dispatcher=LivingDispatcher()) as host:
        await invoke(host, "rss")  # so that none of the time is the start's
        at = time.time() + 3
        told = await asks(host, "rss", "core.schedule_set", name="poll", at=at)
        assert told == {"result": {"at": at}}
        await host.stop("rss")
        await host.enable("rss")
        assert host.status("rss").pid is None
        await until(lambda: any("schedule {" in line for line in host.logs("rss", 50)), within=60)
        assert time.time() >= at
        await invoke(host, "rss")
        at = time.time() + 1
        await asks(host, "rss", "core.schedule_set", name="again", at=at, every=3600)
    await until(lambda: time.time() > at)
    async with hosting(tmp_path, dispatcher=LivingDispatcher()) as host:
        await until(lambda: any('"again"' in line for line in host.logs("rss", 50)), within=60)
        (line,) = (line for line in host.logs("rss", 50) if '"again"' in line)
        assert '"missed": 0' in line


TOOL = {"name": "mcp_find", "description": "Finds.", "class": "read"}


async def test_dynamic_tools_are_called_and_offered_at_the_next_start_before_it_runs(tmp_path: Path) -> None:
    plugin = lazy("mcp", dynamic_tools=True)
    async with hosting(tmp_path, plugin, manifest("other"), dispatcher=LivingDispatcher()) as host:
        await host.wait_ready("other")  # a tool's name is its plugin's once that is up
        assert await asks(host, "mcp", "core.tools_set", tools=[TOOL]) == {
            "result": {"tools": ["echo_mcp", "mcp_find"]}
        }
        assert set(host.registry.tools()) == {"echo_mcp", "mcp_find", "echo_other"}
        assert host.status("mcp").tools == ("echo_mcp", "mcp_find")
        taken = await asks(host, "mcp", "core.tools_set", tools=[{**TOOL, "name": "echo_other"}])
        assert "tool echo_other of the plugin mcp is taken by the plugin other" in taken["error"]["message"]
        wrong = await asks(host, "mcp", "core.tools_set", tools=[{"name": "1", "class": "odd"}])
        assert "tools[0].class" in wrong["error"]["message"]
        refused = await asks(host, "other", "core.tools_set", tools=[TOOL])
        assert "dynamic_tools" in refused["error"]["data"]["hint"]
        assert set(host.registry.tools()) == {"echo_mcp", "mcp_find", "echo_other"}
    async with hosting(tmp_path, dispatcher=LivingDispatcher()) as host:
        assert host.registry.tools()["mcp_find"].tool_class == "read"
        assert host.status("mcp").pid is None
    path = tmp_path / "packaged" / "mcp" / "plugin.json"
    path.write_text(path.read_text().replace('"1.0"', '"2.0"'))
    async with hosting(tmp_path, dispatcher=LivingDispatcher()) as host:
        assert "mcp_find" not in host.registry.tools()


async def test_it_may_begin_anew_three_times(tmp_path: Path) -> None:
    async with hosting(tmp_path, manifest("eager"), lazy("good"), dispatcher=LivingDispatcher()) as host:
        for name in ("eager", "good"):
            await host.wait_ready(name)
            for _ in range(3):
                await host.wait_ready(name)
                await invoke(host, name)
                pid = host.status(name).pid
                with suppress(Unavailable):  # the call in which it asks is ended with it, or answered just before
                    await asks(host, name, "core.restart")
                await until(lambda: host.status(name).pid not in (None, pid), within=60)  # noqa: B023
            await host.wait_ready(name)
            answer = await asks(host, name, "core.restart")
            assert "has started itself anew 3 times within 5 minutes" in answer["error"]["message"]
            assert host.status(name).crashes == ()


async def test_wishes_of_the_impossible_are_refused(tmp_path: Path) -> None:
    async with hosting(tmp_path, lazy("good", dynamic_tools=True)) as host:
        with pytest.raises(Unavailable):
            host.wishes.restart("good")
        for n in range(64):
            host.wishes.busy("good", f"l{n}", True)
        with pytest.raises(InvalidInput, match="echo_good stands in"):
            await host.wishes.set_tools("good", [{**TOOL, "name": "echo_good"}])
        await invoke(host, "good")
        for n in range(64):
            host.wishes.busy("good", f"l{n}", True)
        host.wishes.busy("good", "l0", True)
        with pytest.raises(Conflict, match="64 leases"):
            host.wishes.busy("good", "more", True)
