"""What a plugin says about its own life, through the SDK: schedules, leases, dynamic tools."""

from __future__ import annotations

import pytest
import trio

from homed import sdk
from homed.errors import NotFound, PluginFailed, Unavailable
from homed.sdk.testing import harness


def build() -> tuple[sdk.Plugin, list[sdk.Due]]:
    plugin, told = sdk.Plugin("mole"), list[sdk.Due]()

    @plugin.schedule("poll")
    async def poll(kernel: sdk.Kernel, due: sdk.Due) -> None:
        told.append(due)
        if due.missed > 5:
            raise ValueError("too late")

    @plugin.dynamic_tools
    async def dynamic(ctx: sdk.Context, name: str, args: dict[str, object]) -> object:
        if name == "bad":
            raise sdk.ToolError("It is bad.")
        return {"tool": name, "args": args, "peer": ctx.peer}

    return plugin, told


async def test_a_schedule_calls_its_function_and_an_unknown_one_is_refused() -> None:
    plugin, told = build()
    async with harness(plugin) as kernel:
        assert kernel.registered["schedules"] == ["poll"]
        await kernel.due("poll", at=7.0, missed=2)
        with pytest.raises(NotFound, match="does nothing at 'other'"):
            await kernel.due("other")
        with pytest.raises((PluginFailed, sdk.HomedError), match="ValueError"):
            await kernel.due("poll", missed=6)
    assert told[0] == sdk.Due("poll", 7.0, 2)


async def test_dynamic_tools_have_one_function_and_fail_as_others_do() -> None:
    async with harness(build()[0]) as kernel:
        done = await kernel.invoke("find", text="x")
        assert done.content == {"tool": "find", "args": {"text": "x"}, "peer": "test:local"}
        failed = await kernel.invoke("bad")
        assert (failed.is_error, failed.content) == (True, "It is bad.")
    async with harness(sdk.Plugin("mole")) as kernel:
        with pytest.raises(NotFound, match="no tool 'find'"):
            await kernel.invoke("find")


async def test_leases_schedules_and_tools_are_asked_for_as_the_wire_says() -> None:
    plugin = build()[0]
    asked = trio.Event()

    @plugin.main
    async def main(kernel: sdk.Kernel) -> None:
        async with kernel.busy("music"), kernel.busy("music"):
            await kernel.schedule("poll", every=60)
            await kernel.set_tools([{"name": "find", "description": "Finds."}])
        await kernel.unschedule("poll")
        await kernel.restart()
        asked.set()
        await trio.sleep_forever()

    async with harness(plugin) as kernel:
        with trio.fail_after(60):
            await asked.wait()
        said = [(call.method, dict(call.params)) for call in kernel.calls]
    leases = [params for method, params in said if method == "core.busy"]
    assert [lease["held"] for lease in leases] == [True, True, False, False]
    assert len({lease["lease"] for lease in leases}) == 2
    assert [one for one in said if one[0] != "core.busy"] == [
        ("core.schedule_set", {"name": "poll", "every": 60}),
        ("core.tools_set", {"tools": [{"name": "find", "description": "Finds."}]}),
        ("core.schedule_clear", {"name": "poll"}),
        ("core.restart", {}),
    ]


async def test_a_lease_whose_kernel_is_gone_ends_quietly() -> None:
    plugin = build()[0]
    done = trio.Event()

    @plugin.main
    async def main(kernel: sdk.Kernel) -> None:
        async with kernel.busy("x" * 99):
            await kernel.log("info", "in")
        done.set()

    async with harness(plugin, start=False) as kernel:
        kernel.reply("core.busy", lambda params: {} if params["held"] else Unavailable("homed is stopping."))
        await kernel.start({}, plugin.folder)
        with trio.fail_after(60):
            await done.wait()
        (first, *_) = (call.params["lease"] for call in kernel.calls if call.method == "core.busy")
        assert len(first) <= 64


def test_names_that_make_no_sense_are_refused_at_the_authors_desk() -> None:
    plugin = build()[0]
    with pytest.raises(ValueError, match="a schedule's name"):
        plugin.schedule("Poll it")
    with pytest.raises(ValueError, match="twice"):
        plugin.schedule("poll")(print)
    with pytest.raises(ValueError, match="one function"):
        plugin.dynamic_tools(print)
