"""``plugin_mgr.*`` passes on what an owner wants and says truthfully what it came to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homed.api.plugin_mgr import METHODS, note
from homed.errors import Conflict, Denied, InvalidInput
from homed.host.states import PluginStatus, State, Trust
from homed.wire import methods
from tests.homed.api.fakes import FakeCaller, House, open_house

OWNER = {"peer": "webui:owner"}
SHA = "0" * 64


async def ask(house: House, method: str, caller: FakeCaller | None = None, **params: object) -> Any:
    return await house.api.dispatch(caller or FakeCaller(), method, {**OWNER, **params})


async def test_what_is_asked_reaches_the_packages(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        install: dict[str, Any] = {"path": "/x/a.hmap", "sha256": SHA, "grant": ["io"]}
        answer = await ask(house, "plugin_mgr.install", **install)
        await ask(house, "plugin_mgr.install", **install, source="https://example.org/a.hmap")
        await ask(house, "plugin_mgr.remove", name="shell", keep_data=True)
        await ask(house, "plugin_mgr.reload", name="shell")
        await ask(house, "plugin_mgr.grant", name="shell", capabilities=["io"])
        assert house.packages.calls == [
            ("install", Path("/x/a.hmap"), SHA, ["io"], "a.hmap"),
            ("install", Path("/x/a.hmap"), SHA, ["io"], "https://example.org/a.hmap"),
            ("remove", "shell", True),
            ("reload", "shell"),
            ("grant", "shell", ["io"]),
        ]
        assert answer["note"] == "shell 1.0.0 runs. What it offers can be used from now on."


async def test_enable_and_disable_are_the_hosts(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert (await ask(house, "plugin_mgr.disable", name="shell"))["state"] == "disabled"
        assert (await ask(house, "plugin_mgr.enable", name="shell"))["state"] == "ready"
        assert [p["name"] for p in (await ask(house, "plugin_mgr.list"))["plugins"]] == ["shell"]


async def test_info_shows_manifest_rights_and_where_it_came_from(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        found = await ask(house, "plugin_mgr.info", name="shell")
        assert found["license"] == "MIT"
        assert found["state"] == "ready"
        assert found["removable"] is False
        assert found["package"] is None


@pytest.mark.parametrize("method", [m for m in METHODS if not m.endswith((".list", ".review"))])
async def test_only_owners_manage_plugins(tmp_path: Path, method: str) -> None:
    given = {"name": "shell", "keep_data": True, "capabilities": [], "path": "/x", "sha256": SHA, "grant": []}
    wanted = METHODS[method].params.model_fields
    async with open_house(tmp_path) as house:
        params = {key: value for key, value in given.items() if key in wanted}
        with pytest.raises(Denied, match="for owners"):
            await house.api.dispatch(FakeCaller("qq"), method, {"peer": "qq:1", **params})
        assert house.packages.calls == []


@pytest.mark.parametrize("method", ["plugin_mgr.reload", "plugin_mgr.disable"])
async def test_a_plugin_does_not_end_itself_in_the_middle_of_asking(tmp_path: Path, method: str) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(Conflict, match=r"cannot .* itself"):
            await ask(house, method, name="webui")


@pytest.mark.parametrize("sha256", ["", "0" * 63, "Z" * 64, "0" * 64 + "\n"])
async def test_nothing_is_installed_without_a_hash(tmp_path: Path, sha256: str) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(InvalidInput):
            await ask(house, "plugin_mgr.install", path="/x", sha256=sha256, grant=[])


def test_no_external_plugin_can_manage_plugins() -> None:
    assert methods.PLUGIN_MGR in methods.PACKAGED_ONLY


@pytest.mark.parametrize(
    ("state", "reason", "said"),
    [
        (State.READY, "", "runs. What it offers can be used from now on"),
        (State.DISABLED, "", "stays so until it is enabled"),
        (State.WAITING, "waiting for llm", "not up yet: waiting for llm"),
        (State.STOPPED, "needs attention: exit code 1", "does not run: needs attention: exit code 1"),
        (State.BACKOFF, "exit code 1", "does not run: exit code 1"),
    ],
)
def test_what_is_said_is_what_is(state: State, reason: str, said: str) -> None:
    status = PluginStatus("x", "", "1.0", "", State.READY, "", 0.0, None, (), Trust.EXTERNAL)
    text = note(replace(status, state=state, reason=reason))
    assert said in text
    assert "restart" not in text
