"""The tools of settings: short answers, nothing secret, one change for several keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from homed.errors import ConfigError, Denied, HomedError
from homed.sdk.testing import Harness, harness
from homed.wire.manifest import load_manifest
from plugins.settings.plugin import DUMPED, LISTED, SHORT, by_plugin, matches, plugin, shortened, whole
from tests.homed.config.test_definitions import ROOT


def setting(key: str = "core.agent.max_tool_turns", value: object = 10, **more: Any) -> dict[str, Any]:
    """One as ``admin.config_get`` shows it."""
    return {
        "key": key, "value": value, "source": "default", "place": "", "type": "int", "default": 10, "name": "Steps",
        "description": "Model calls in one turn.", "category": "Conversation", "options": [], "minimum": 1,
        "maximum": 100, "restart": False, "hidden": False, "masked": False, **more,
    }  # fmt: skip


SECRET = setting("plugin.mail.password", "••••••••", type="password", default="", masked=True, source="stored")


@asynccontextmanager
async def asking(*settings: Mapping[str, Any]) -> AsyncIterator[Harness]:
    async with harness(plugin) as kernel:
        kernel.reply("settings.get", settings[0] if settings else setting())
        kernel.reply("settings.list", {"settings": list(settings)})
        kernel.reply("settings.change", {"applied": "now", "note": ""})
        yield kernel


def asked(kernel: Harness, method: str) -> list[Mapping[str, Any]]:
    return [call.params for call in kernel.calls if call.method == method]


async def test_one_is_shown_with_all_that_is_needed_to_change_it_and_no_more() -> None:
    async with asking(setting(restart=True, place="homed.toml line 3")) as kernel:
        shown = (await kernel.invoke("config_get", key="core.agent.max_tool_turns")).content
    assert shown == {
        "key": "core.agent.max_tool_turns", "value": 10, "default": 10, "type": "int", "minimum": 1, "maximum": 100,
        "about": "Model calls in one turn.", "given_by": "homed.toml line 3",
        "takes_effect": "at the next start of homed",
    }  # fmt: skip


async def test_of_a_password_is_told_whether_it_is_set() -> None:
    assert whole(SECRET)["value"] == "set"
    assert whole({**SECRET, "value": ""})["value"] == "not set"
    assert "A person sets it" in str(whole(SECRET)["note"])


async def test_a_change_says_what_it_was_and_when_it_holds() -> None:
    async with asking() as kernel:
        done = (await kernel.invoke("config_set", key="core.agent.max_tool_turns", value=6)).content
        (given,) = asked(kernel, "settings.change")
    assert given["changes"] == {"core.agent.max_tool_turns": 6}
    assert given["call"] == "call_test"  # with the rights of whoever the turn is of
    assert done["changed"] == {"core.agent.max_tool_turns": {"was": 10, "is": 10}}
    assert done["takes_effect"] == "now"


async def test_several_are_one_change_and_null_takes_out() -> None:
    changes = {"core.agent.max_tool_turns": 6, "core.log.level": None}
    async with asking() as kernel:
        await kernel.invoke("config_batch_set", changes=changes)
        (given,) = asked(kernel, "settings.change")
    assert given["changes"] == changes


@pytest.mark.parametrize(
    "refused",
    [
        Denied("core.web.password is a password: a plugin does not set it."),
        ConfigError("core.agent.max_tool_turns must be between 1 and 100."),
    ],
)
async def test_what_the_kernel_refuses_is_refused_in_its_words(refused: HomedError) -> None:
    async with asking() as kernel:
        kernel.reply("settings.change", refused)
        told = await kernel.invoke("config_set", key="core.web.password", value="hunter22")
    assert told.is_error
    assert refused.message in str(told.content)


async def test_a_long_list_is_cut_and_says_so() -> None:
    many = [setting(f"core.x.k{number}") for number in range(LISTED + 7)]
    async with asking(*many) as kernel:
        listed = (await kernel.invoke("config_list_keys", prefix="core.x")).content
    assert (len(listed["settings"]), listed["more"]) == (LISTED, 7)


async def test_search_looks_at_key_name_and_description() -> None:
    assert matches(setting(), "TURN model")
    assert matches(setting(), "steps")
    assert matches(setting(), "")
    assert not matches(setting(), "turn backup")


async def test_a_dump_leaves_out_defaults_and_passwords_and_ends_in_time() -> None:
    long = [setting(f"core.x.k{n}", "x" * 10_000, type="text", source="stored") for n in range(9)]
    async with asking(setting(), setting("core.log.level", "debug", source="file"), SECRET, *long) as kernel:
        dumped = (await kernel.invoke("config_dump")).content
        everything = (await kernel.invoke("config_dump", all=True)).content
    assert dumped["values"]["core.log.level"] == "debug"
    assert "core.agent.max_tool_turns" not in dumped["values"]
    assert "core.agent.max_tool_turns" in everything["values"]
    assert "plugin.mail.password" not in str(everything)
    assert len(str(dumped)) < DUMPED + 1000
    assert dumped["more"] == 10 - len(dumped["values"])


async def test_plugins_are_counted() -> None:
    found = [setting("plugin.b.x"), setting("plugin.a.y", source="stored"), setting("plugin.b.z", source="env")]
    assert by_plugin(found) == [
        {"name": "a", "settings": 1, "changed": 1}, {"name": "b", "settings": 2, "changed": 1},
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["x" * 1000, ["y" * 500, "z" * 500]])
def test_long_values_say_that_they_are_cut(value: object) -> None:
    short = str(shortened(value, SHORT))
    assert len(short) < SHORT + 40
    assert "characters)" in short


def test_whatever_changes_a_setting_is_always_asked_for_and_nothing_is_for_guests() -> None:
    """No rule of the owner's can make it silent: a setting may open the page to others, or spend money."""
    tools = {tool.name: tool for tool in load_manifest(ROOT / "plugins" / "settings").tools}
    assert {name for name, tool in tools.items() if tool.confirm} == {"config_set", "config_batch_set"}
    assert {tool.tool_class for tool in tools.values() if not tool.confirm} == {"read"}
    assert not any(tool.guest for tool in tools.values())


def test_it_runs_only_when_it_is_called() -> None:
    assert load_manifest(ROOT / "plugins" / "settings").activation == "lazy"
