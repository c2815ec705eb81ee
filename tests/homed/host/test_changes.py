"""Plugins that come, change and go while homed runs; with real children."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import ConfigError, Conflict, HomedError, NotFound, StorageError, Unavailable
from homed.host import launch
from homed.host.discover import Broken, Installed
from homed.host.host import Host
from homed.host.policy import Policy
from homed.host.states import State, Trust
from homed.proc.ladder import stop_ladder
from homed.wire.manifest import Manifest, parse_manifest
from tests.kit.hosting import LivingDispatcher, hosting, invoke, manifest
from tests.kit.processes import alive, with_mark

QUICK = Policy(delays=(0.01, 0.02, 0.03))


def installed(tmp_path: Path, name: str, mode: str = "good", **more: Any) -> Installed:
    """One that was put into its place just now."""
    folder = tmp_path / "data" / "plugins" / name
    folder.mkdir(parents=True, exist_ok=True)
    value = manifest(name, mode, **more)
    (folder / "plugin.json").write_text(json.dumps(value), "utf-8")
    found, errors = parse_manifest(value)
    assert found is not None, errors
    return Installed(found, folder, Trust.EXTERNAL)


class Defined:
    """The settings that are defined, by plugin."""

    def __init__(self) -> None:
        self.known: dict[str, Manifest] = {}
        self.refuse = False

    def define(self, manifest: Manifest) -> None:
        if self.refuse:
            raise ConfigError("HOMED_X: plugin.x.port must be a whole number.")
        self.known[manifest.name] = manifest

    def undefine(self, manifest: Manifest) -> None:
        self.known.pop(manifest.name, None)


@asynccontextmanager
async def changing(tmp_path: Path, *manifests: Any, **options: Any) -> AsyncIterator[tuple[Host, Defined]]:
    defined = Defined()
    ports = {"define": defined.define, "undefine": defined.undefine}
    async with hosting(
        tmp_path, *manifests, ports=ports, policy=QUICK, dispatcher=LivingDispatcher(), **options
    ) as host:  # fmt: skip
        yield host, defined


async def test_one_that_is_added_runs_and_one_that_is_removed_leaves_nothing(tmp_path: Path) -> None:
    async with changing(tmp_path, manifest("good")) as (host, defined):
        status = await host.add(installed(tmp_path, "new"))
        assert (status.state, status.trust, set(defined.known)) == (State.READY, Trust.EXTERNAL, {"new"})
        assert await invoke(host, "new", a=1) == {"a": 1}
        with pytest.raises(Conflict, match="a plugin new already"):
            await host.add(installed(tmp_path, "new"))
        await invoke(host, "new", do="call", method="core.schedule_set", params={"name": "poll", "every": 60.0})
        with suppress(HomedError):
            await invoke(host, "new", do="exit")
        await host.wait_ready("new")
        pid = host.status("new").pid
        assert pid is not None
        assert len(host.status("new").crashes) == 1
        await host.remove("new")
        assert not alive(pid)
        assert (set(host.registry.tools()), set(defined.known)) == ({"echo_good"}, set())
        for gone in (host.remove, host.start, host.wait_ready):
            with pytest.raises(NotFound):
                await gone("new")
        assert host._schedules.of("new") == []
        again = await host.add(installed(tmp_path, "new"))
        assert (again.state, again.crashes) == (State.READY, ())


async def test_a_lazy_one_is_added_without_being_run(tmp_path: Path) -> None:
    async with changing(tmp_path) as (host, _):
        status = await host.add(installed(tmp_path, "new", activation="lazy"))
        assert (status.state, status.pid) == (State.LAZY, None)
        assert await invoke(host, "new", a=1) == {"a": 1}


async def test_nothing_of_the_old_one_is_left_when_the_new_one_comes_and_its_calls_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "stop_ladder", partial(stop_ladder, grace=0.3, term=0.3))
    said: list[str] = []

    async def call(host: Host, **args: Any) -> None:
        try:
            await invoke(host, "mole", **args)
        except HomedError as error:
            said.append(error.message)

    async with changing(tmp_path) as (host, defined):
        await host.add(installed(tmp_path, "mole", "hang-on-stop"))
        old = host.status("mole").pid
        assert old is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(call, host, do="sleep"))
            await trio.testing.wait_all_tasks_blocked(0.05)
            found = installed(tmp_path, "mole", version="2.0", tools=[{"name": "echo_mole", "description": "New."}])
            nursery.start_soon(host.reload, "mole", found)
            with trio.fail_after(60):
                await host._roster.supervisor("mole").wait_until(frozenset({State.STOPPING}))
            assert (host.registry.tools(), host.status("mole").version, alive(old)) == ({}, "1.0", True)
            await call(host)
        assert said == [
            "The plugin mole takes no more calls: it is being replaced.",
            "The plugin mole ended during tool.invoke echo_mole; how much of it was done is not known.",
        ]
        assert not alive(old)
        status = host.status("mole")
        assert (status.state, status.version, status.crashes) == (State.READY, "2.0", ())
        assert (host.registry.tools()["echo_mole"].description, defined.known["mole"].version) == ("New.", "2.0")
        assert len(with_mark(host._family, group=True)) == 1


async def test_a_persons_wish_outlives_a_reload_and_giving_up_does_not(tmp_path: Path) -> None:
    async with changing(tmp_path) as (host, _):
        await host.add(installed(tmp_path, "mole"))
        await host.stop("mole")
        assert (await host.reload("mole", installed(tmp_path, "mole"))).state is State.STOPPED
        await host.add(installed(tmp_path, "bad", "exit1"))
        with trio.fail_after(60):
            await host._roster.supervisor("bad").wait_until(frozenset({State.STOPPED}))
        status = await host.reload("bad", installed(tmp_path, "bad"))
        assert (status.state, len(status.crashes)) == (State.READY, 4)


async def test_a_plugin_that_has_itself_reloaded_is_reloaded_though_it_does_not_see_it(tmp_path: Path) -> None:
    async with changing(tmp_path) as (host, _):
        await host.add(installed(tmp_path, "mole"))
        with trio.move_on_after(0) as asker:
            await host.reload("mole", installed(tmp_path, "mole", version="2.0"))
        assert asker.cancelled_caught
        with trio.fail_after(60):
            while host.status("mole").version != "2.0":  # noqa: ASYNC110 - nobody is told
                await trio.sleep(0.02)
        await host.wait_ready("mole")


async def test_settings_that_do_not_fit_and_names_that_are_taken_make_it_need_attention(tmp_path: Path) -> None:
    async with changing(tmp_path, manifest("good")) as (host, defined):
        await host.wait_ready("good")
        defined.refuse = True
        with pytest.raises(ConfigError, match="must be a whole number"):
            await host.add(installed(tmp_path, "new"))
        assert "must be a whole number" in host.status("new").reason
        assert isinstance(host.found("new"), Broken)
        with pytest.raises(Unavailable, match="cannot be used"):
            await host.start("new")
        defined.refuse = False
        assert (await host.reload("new", installed(tmp_path, "new"))).state is State.READY
        tool = {"name": "echo_good", "description": "Mine."}
        status = await host.add(installed(tmp_path, "thief", tools=[tool]))
        assert "tool echo_good of the plugin thief is taken by the plugin good" in status.reason
        assert host.registry.tools()["echo_good"].plugin == "good"
        await host.remove("good")
        assert (await host.start("thief")).state is State.STOPPED  # it registers another name than it says
        assert "echo_good stands in plugin.json but is not registered" in host.status("thief").reason


async def test_changes_come_one_after_another_and_none_once_homed_is_stopping(tmp_path: Path) -> None:
    async with changing(tmp_path) as (host, _):
        await host.add(installed(tmp_path, "mole"))
        async with trio.open_nursery() as nursery:
            for n in range(2, 6):
                nursery.start_soon(host.reload, "mole", installed(tmp_path, "mole", version=f"{n}.0"))
        assert host.status("mole").state is State.READY
        assert len(with_mark(host._family, group=True)) == 1
    with pytest.raises(Unavailable, match="homed is stopping"):
        await host.add(installed(tmp_path, "late"))


async def test_a_new_broken_one_gives_way_to_a_usable_one(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "plugins" / "mole"
    folder.mkdir(parents=True)
    (folder / "plugin.json").write_text("{")
    async with changing(tmp_path) as (host, _):
        assert host.status("mole").state is State.STOPPED
        assert (await host.add(installed(tmp_path, "mole"))).state is State.READY
        await host.remove("mole")
        with pytest.raises(NotFound):
            host.status("mole")


async def test_a_fault_of_ours_in_a_change_is_told_to_whoever_asked_and_takes_no_plugin_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def make() -> Installed:
        await trio.lowlevel.checkpoint()
        raise PermissionError(13, "the folder of plugins cannot be read")

    async with changing(tmp_path, manifest("good"), manifest("other")) as (host, _):
        for name in ("good", "other"):
            await host.wait_ready(name)
        pid = host.status("other").pid
        with pytest.raises(PermissionError):
            await host.replace("good", make)
        await host.wait_ready("good")
        assert await invoke(host, "good", a=1) == {"a": 1}
        assert host.status("other").pid == pid
    assert "a change of plugins failed" in caplog.text


async def test_on_a_full_disk_a_new_one_runs_all_the_same_and_one_that_cannot_be_forgotten_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with changing(tmp_path) as (host, _):
        await host.add(installed(tmp_path, "good"))

        async def full(_plugin: str) -> None:
            await trio.lowlevel.checkpoint()
            raise StorageError("No space is left.")

        monkeypatch.setattr(host._history, "pardon", full)
        assert (await host.reload("good", installed(tmp_path, "good", version="2.0"))).version == "2.0"
        with monkeypatch.context() as patched:
            patched.setattr(host._history, "forget", full)
            with pytest.raises(StorageError):
                await host.remove("good")
        with trio.fail_after(60):
            await host.wait_ready("good")
        assert await invoke(host, "good", a=1) == {"a": 1}
        await host.remove("good")
        assert host.statuses() == []


async def test_a_stop_that_comes_while_the_new_one_is_taken_on_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with changing(tmp_path, manifest("good")) as (host, _):
        await host.wait_ready("good")
        adopt = host._schedules.adopt

        async def slowly(manifest: Manifest) -> None:
            with trio.move_on_after(60):
                await host.stop("good")
            await adopt(manifest)

        monkeypatch.setattr(host._schedules, "adopt", slowly)
        status = await host.reload("good", installed(tmp_path, "good"))
        assert (status.state, status.pid) == (State.STOPPED, None)
        assert (await host.start("good")).state is State.READY
        assert set(host.registry.tools()) == {"echo_good"}
