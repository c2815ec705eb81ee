"""Installing, replacing and removing while a real host runs real children."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.config.secrets import Secrets
from homed.errors import Conflict, Denied, HomedError, InvalidInput, NotFound, StorageError
from homed.events import PLUGIN_STATE, Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.host import grants
from homed.host.discover import discover
from homed.host.host import Host, HostPorts
from homed.host.packages import PackagePorts, Packages
from homed.host.shelf import Shelf
from homed.host.states import PluginStatus, Trust
from homed.identity.permissions import Decision, Rule
from homed.identity.rules import Rules
from homed.settings.plugin import define_plugin, settings_of, undefine_plugin
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store, open_store
from homed.wire.package import write_package
from tests.kit.failpoints import RaiseAt
from tests.kit.hosting import RecordingDispatcher, install, invoke, manifest


@dataclass(frozen=True)
class Place:
    """A host, its packages, and where packages are made."""

    host: Host
    packages: Packages
    store: Store
    settings: Settings
    data: Path
    folder: Path
    bus: Bus

    def package(self, name: str = "hello", version: str = "1.0", **more: object) -> Path:
        """A package of the raw child."""
        source = self.folder / f"{name}-{version}"
        source.mkdir()
        (source / "plugin.json").write_text(json.dumps({**manifest(name), "version": version, **more}))
        (source / f"v{version}.txt").write_text("x")
        return write_package(source, self.folder / f"{name}-{version}.hmap").archive.path

    async def install(self, path: Path, *grant: str) -> PluginStatus:
        """Review and install it."""
        found = await self.packages.review(path)
        return await self.packages.install(path, found.package.sha256, grant, "a test")

    async def granted(self, name: str = "hello") -> frozenset[str]:
        return await self.store.read(lambda tx: grants.granted(tx, name))


@asynccontextmanager
async def placed(tmp_path: Path, failpoints: Failpoints | None = None) -> AsyncIterator[Place]:
    """A running host with one packaged plugin, ``shell``."""
    packaged, data = tmp_path / "packaged", tmp_path / "data"
    if not packaged.exists():
        install(packaged, manifest("shell"))
    (data / "plugins").mkdir(parents=True, exist_ok=True)
    points = failpoints or NoFailpoints()
    shelf = Shelf(data / "plugins", points)
    shelf.recover()
    async with open_store(data / "homed.db") as store, open_settings(store, {}, Secrets(data / "s.json")) as settings:
        ports = HostPorts(
            store=store, bus=Bus(), dispatcher=RecordingDispatcher(), data=data,
            config_for=lambda name: settings_of(settings, name),
            define=partial(define_plugin, settings), undefine=partial(undefine_plugin, settings),
            child_env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )  # fmt: skip
        host = Host(discover(packaged, data / "plugins"), ports)
        packages = Packages(
            PackagePorts(
                plugins=host, settings=settings, store=store, shelf=shelf, failpoints=points,
                data_of=lambda name: [data / "plugin-data" / name, data / "logs" / f"{name}.log"],
            )
        )  # fmt: skip
        async with trio.open_nursery() as nursery:
            await nursery.start(host.run)
            yield Place(host, packages, store, settings, data, tmp_path, ports.bus)
            nursery.cancel_scope.cancel()


async def test_what_is_installed_runs_at_once_and_is_gone_when_it_is_removed(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        status = await place.install(place.package(capabilities=["io"]), "io")
        assert (status.state.value, status.trust) == ("ready", Trust.EXTERNAL)
        assert await invoke(place.host, "hello", text="hi") is not None
        assert await place.granted() == {"io"}
        came = await place.packages.provenance("hello")
        assert came is not None
        assert (came.version, came.source) == ("1.0", "a test")
        await place.packages.remove("hello", keep_data=True)
        assert [s.name for s in place.host.statuses()] == ["shell"]
        assert not (place.data / "plugins" / "hello").exists()
        assert await place.granted() == frozenset()
        assert await place.packages.provenance("hello") is None
        with pytest.raises(NotFound):
            await place.packages.remove("hello", keep_data=True)


async def test_only_the_reviewed_file_is_installed(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        first, second = place.package(), place.package(version="2.0", capabilities=["io"])
        found = await place.packages.review(first)
        os.replace(second, first)
        with pytest.raises(InvalidInput, match="not the file that was reviewed"):
            await place.packages.install(first, found.package.sha256, [], "")
        assert [s.name for s in place.host.statuses()] == ["shell"]


@pytest.mark.parametrize(
    ("wanted", "grant", "error", "why"),
    [
        (["admin"], ["admin"], Denied, "from outside can be granted admin"),
        (["io"], ["events.notices"], InvalidInput, "does not ask for events.notices"),
        ([], ["io"], InvalidInput, "does not ask for io"),
        (["plugin_mgr", "io"], ["io", "plugin_mgr"], Denied, "plugin_mgr"),
    ],
)
async def test_nothing_is_granted_that_was_not_asked_for_or_that_none_may_have(
    tmp_path: Path, wanted: list[str], grant: list[str], error: type[HomedError], why: str
) -> None:
    async with placed(tmp_path) as place:
        with pytest.raises(error, match=why):
            await place.install(place.package(capabilities=wanted), *grant)
        assert await place.granted() == frozenset()
        assert [s.name for s in place.host.statuses()] == ["shell"]
        assert [p for p in (place.data / "plugins").rglob("*") if p.is_file()] == []


async def test_the_name_of_a_packaged_plugin_is_refused(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        path = place.package("shell")
        assert "comes with homed" in (await place.packages.review(path)).refused
        with pytest.raises(Conflict, match="comes with homed"):
            await place.install(path)
        with pytest.raises(Denied, match="came with homed"):
            await place.packages.remove("shell", keep_data=True)


@pytest.mark.parametrize(
    ("field", "why"), [({"platforms": ["plan9"]}, "runs on plan9"), ({"min_version": "99"}, "needs homed 99")]
)
async def test_what_cannot_run_here_is_told_before_it_is_installed(
    tmp_path: Path, field: dict[str, Any], why: str
) -> None:
    async with placed(tmp_path) as place:
        path = place.package(**field)
        assert why in (await place.packages.review(path)).refused
        with pytest.raises(Conflict, match=why):
            await place.install(path)


async def test_replacing_keeps_settings_data_and_a_persons_wish(tmp_path: Path) -> None:
    setting = {"key": "city", "type": "string", "default": "Paris"}
    secret = {"key": "token", "type": "password"}
    async with placed(tmp_path) as place:
        await place.install(place.package(settings=[setting, secret], capabilities=["io", "events.notices"]), "io")
        await place.settings.set("plugin.hello.city", "Rome")
        await place.settings.set("plugin.hello.token", "s3cret-token")
        (place.data / "plugin-data" / "hello" / "kept").write_text("x")
        await place.host.disable("hello")
        path = place.package(version="2.0", settings=[setting], capabilities=["io"])
        status = await place.install(path, "io")
        assert (status.version, status.state.value) == ("2.0", "disabled")
        assert place.settings.get("plugin.hello.city") == "Rome"
        with pytest.raises(NotFound):
            place.settings.get("plugin.hello.token")  # the new one has none
        assert (place.data / "plugin-data" / "hello" / "kept").exists()
        assert not (place.data / "plugins" / "hello" / "v1.0.txt").exists()
        assert await place.granted() == {"io"}
        assert (await place.host.enable("hello")).state.value == "ready"


async def test_a_downgrade_and_what_is_new_are_said(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(version="2.0", capabilities=["io"]), "io")
        found = (await place.packages.review(place.package(capabilities=["io", "events.notices"]))).wire()
        assert found["replaces"] == {"version": "2.0", "how": "older"}
        assert "This is older than what is installed: 1.0 instead of 2.0." in str(found["warnings"])
        capabilities = found["capabilities"]
        assert isinstance(capabilities, list)
        assert [(c["name"], c["granted"]) for c in capabilities] == [("io", True), ("events.notices", False)]


async def test_without_its_data_nothing_of_it_is_left(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(settings=[{"key": "token", "type": "password"}, {"key": "a", "type": "int"}]))
        await place.settings.set("plugin.hello.token", "s3cret-token")
        await place.settings.set("plugin.hello.a", 3)
        await Rules(place.store).add(Rule(Decision.ALLOW, tool="echo_hello"))
        await Rules(place.store).add(Rule(Decision.DENY, tool="echo_hello", peer="qq:1"))
        await place.packages.remove("hello", keep_data=False)
        left = [p for p in place.data.rglob("*") if "hello" in p.name]
        assert left == []
        assert "s3cret" not in (place.data / "s.json").read_text()
        stored = await place.store.read(lambda tx: tx.all("SELECT key FROM settings"))
        assert [key for (key,) in stored if "hello" in key] == []
        # what a person had allowed was this plugin's tool, not whoever's takes the name next
        assert [rule.decision for rule in await Rules(place.store).list_()] == [Decision.DENY]
        await place.install(place.package(version="3.0", settings=[{"key": "a", "type": "int", "default": 1}]))
        assert place.settings.get("plugin.hello.a") == 1


async def test_reload_takes_what_stands_in_the_folder_now(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package())
        file = place.data / "plugins" / "hello" / "plugin.json"
        file.write_text(json.dumps({**manifest("hello"), "version": "1.1"}))
        assert (await place.packages.reload("hello")).version == "1.1"
        file.write_text("{")
        with pytest.raises(HomedError, match="line 1"):
            await place.packages.reload("hello")
        assert place.host.status("hello").state.value == "ready"  # the one before goes on
        file.write_text(json.dumps({**manifest("another")}))
        with pytest.raises(Conflict, match="now holds a plugin called another"):
            await place.packages.reload("hello")


async def test_a_broken_one_is_mended_by_a_reload_or_replaced_or_removed(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / "data" / "plugins" / name).mkdir(parents=True)
        (tmp_path / "data" / "plugins" / name / "plugin.json").write_text("{")
    async with placed(tmp_path) as place:
        (place.data / "plugins" / "one" / "plugin.json").write_text(json.dumps(manifest("other")))
        assert (await place.packages.reload("one")).name == "other"
        assert (await place.install(place.package("two"))).state.value == "ready"
        await place.packages.remove("three", keep_data=False)
        assert sorted(s.name for s in place.host.statuses()) == ["other", "shell", "two"]


async def test_what_is_taken_back_is_refused_from_then_on(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(capabilities=["io"]), "io")
        await place.packages.grant("hello", [])
        assert await place.granted() == frozenset()
        with pytest.raises(InvalidInput, match="does not ask for"):
            await place.packages.grant("hello", ["events.notices"])
        with pytest.raises(Denied):
            await place.packages.grant("shell", [])


async def test_a_failure_brings_the_old_one_back_with_what_it_had(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(capabilities=["io"]), "io")
    points = RaiseAt("package.moved_out", StorageError("the disk is on fire"))
    async with placed(tmp_path, points) as place:
        with pytest.raises(StorageError, match="on fire"):
            await place.install(place.package(version="2.0"))
        await place.host.wait_ready("hello")
        assert place.host.status("hello").version == "1.0"
        assert await invoke(place.host, "hello", text="hi") is not None
        assert await place.granted() == {"io"}


async def test_a_new_one_does_not_get_what_the_old_one_had_because_the_end_failed(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(capabilities=["io"]), "io")
    points = RaiseAt("package.moved_in", StorageError("the disk is on fire"))
    async with placed(tmp_path, points) as place:
        with pytest.raises(StorageError, match="on fire"):
            await place.install(place.package(version="2.0", capabilities=["io"]))
        assert (place.host.status("hello").version, await place.granted()) == ("1.0", frozenset({"io"}))
        assert (place.data / "plugins" / "hello" / "v1.0.txt").exists()
    async with placed(tmp_path) as place:
        (place.data / "plugins" / ".packages" / "removed").write_text("in the way of deleting the old one")
        await place.install(place.package(version="3.0", capabilities=["io"]))
        assert (place.host.status("hello").version, await place.granted()) == ("3.0", frozenset())
        assert (place.data / "plugins" / "hello" / "v3.0.txt").exists()


async def test_a_kill_while_one_is_removed_leaves_no_grants_for_the_next_of_that_name(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package(capabilities=["io"]), "io")
    async with placed(tmp_path, RaiseAt("package.moved_away", StorageError("killed here"))) as place:
        with pytest.raises(StorageError, match="killed here"):
            await place.packages.remove("hello", keep_data=True)
        assert not (place.data / "plugins" / "hello").exists()
        assert await place.granted() == frozenset()


async def test_whoever_asked_may_go_away_in_the_middle(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package())
        path = place.package(version="2.0")
        found = await place.packages.review(path)
        async with trio.open_nursery() as nursery:
            with place.bus.subscribe(frozenset({PLUGIN_STATE})) as notices:
                nursery.start_soon(place.packages.install, path, found.package.sha256, [], "")
                async for notice in notices:  # of others too: shell may be starting yet
                    if (notice.data["plugin"], notice.data["state"]) == ("hello", "stopping"):
                        break
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                    async for notice in notices:
                        if (notice.data["plugin"], notice.data["state"]) == ("hello", "ready"):
                            break
        assert place.host.status("hello").version == "2.0"


async def test_two_at_once_take_turns(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await place.host.wait_ready("shell")  # which nobody waits for here
        async with trio.open_nursery() as nursery:
            for name in ("aa", "bb", "cc"):
                nursery.start_soon(place.install, place.package(name))
        assert sorted(s.name for s in place.host.statuses()) == ["aa", "bb", "cc", "shell"]
        assert {s.state.value for s in place.host.statuses()} == {"ready"}


async def test_a_path_is_absolute_and_a_plain_file(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        for path in (Path("a.hmap"), tmp_path / "nothing.hmap", tmp_path):
            with pytest.raises(InvalidInput):
                await place.packages.review(path)
            with pytest.raises(InvalidInput):
                await place.packages.install(path, "0" * 64, [], "")


async def test_a_skill_is_pointed_to_where_skills_go(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        path = place.package(entry="SKILL.md", tools=[])
        with pytest.raises(Conflict, match="skill_install"):
            await place.install(path)


async def test_one_that_crashes_says_so(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        status = await place.install(place.package(entry="python -c 'raise SystemExit(3)'"))
        assert status.state.value in ("backoff", "stopped")
        assert "3" in status.reason


async def test_a_removal_takes_the_folder_of_the_one_that_was_meant(tmp_path: Path) -> None:
    """Two by hand of one name: the one that is broken goes by its folder's."""
    for folder, text in (("aaa", "{broken"), ("bbb", json.dumps(manifest("aaa")))):
        (tmp_path / "data" / "plugins" / folder).mkdir(parents=True)
        (tmp_path / "data" / "plugins" / folder / "plugin.json").write_text(text)
    async with placed(tmp_path) as place:
        await place.packages.remove("aaa", keep_data=True)
        assert [path.name for path in (place.data / "plugins").iterdir() if path.name[0] != "."] == ["bbb"]
        (place.data / "plugins" / "bbb" / "plugin.json").unlink()
        (place.data / "plugins" / "bbb").rmdir()
        await place.packages.remove("bbb@external", keep_data=True)  # gone already, and no error for that
        assert [s.name for s in place.host.statuses()] == ["shell"]


@pytest.mark.parametrize(
    ("tool", "kept"),
    [
        ({"name": "echo_hello", "description": "Otherwise.", "class": "read"}, True),
        ({"name": "echo_hello", "description": "d", "class": "dangerous"}, False),
        ({"name": "other", "description": "d", "class": "read"}, False),
    ],
)
async def test_a_standing_yes_is_not_for_a_tool_of_another_kind_in_a_new_version(
    tmp_path: Path, tool: dict[str, object], kept: bool
) -> None:
    async with placed(tmp_path) as place:
        await place.install(place.package())
        await Rules(place.store).add(Rule(Decision.ALLOW, tool="echo_hello"))
        await Rules(place.store).add(Rule(Decision.DENY, tool="echo_hello", peer="qq:1"))
        await place.install(place.package(version="2.0", tools=[tool]))
        left = [rule.decision for rule in await Rules(place.store).list_()]
        assert left == [Decision.ALLOW, Decision.DENY] if kept else left == [Decision.DENY]
