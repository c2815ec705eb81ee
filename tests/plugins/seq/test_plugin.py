"""The tools through the SDK: create, list, run, delete; who sees what; what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed.errors import ConfigError
from homed.sdk.testing import Harness, Result, harness
from homed.wire.manifest import load_manifest
from plugins.seq import plugin as seq_plugin
from plugins.seq.plugin import MAX_SEQUENCES, build

SCHEMA = {"type": "object", "properties": {"text": {}}, "required": ["text"], "additionalProperties": False}
TOOLS = [
    {"name": "say", "parallel_safe": True, "parameters": SCHEMA},
    {"name": "write", "parallel_safe": False, "parameters": SCHEMA},
]


def say(text: str, as_: str = "", tool: str = "say") -> dict[str, Any]:
    return {"tool": tool, "args": {"text": text}, **({"as": as_} if as_ else {})}


GROUPS = [
    {"name": "ask", "in": {"who": "string"}, "out": {"hello": "string"},
     "tools": [say("Hello ${args.who}", "hello"), say("bye")]},
    {"name": "tell", "in": {"hello": "string"}, "parallel": False, "tools": [say("$args.hello", tool="write")]},
]  # fmt: skip


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Harness]:
    async with harness(build(), data_dir=folder) as kernel:
        kernel.reply("tools.list", {"tools": TOOLS})
        kernel.reply("tools.call", answer)
        yield kernel


def answer(params: Mapping[str, Any]) -> dict[str, Any]:
    assert params["call"] == "call_test", "every step is on behalf of the call it is made in"
    text = params["args"]["text"]
    return {
        "content": text,
        "is_error": text == "bad",
        "status": "error" if text == "bad" else "ok",
        "untrusted": False,
    }


async def good(kernel: Harness, tool: str, /, **args: Any) -> dict[str, Any]:
    result = await kernel.invoke(tool, **args)
    assert not result.is_error, result
    content: dict[str, Any] = result.content
    return content


async def bad(kernel: Harness, tool: str, /, **args: Any) -> str:
    result: Result = await kernel.invoke(tool, **args)
    assert result.is_error, result
    return str(result.content)


def steps(kernel: Harness) -> list[tuple[str, Any]]:
    return [(call.params["tool"], call.params["args"]["text"]) for call in kernel.calls if call.method == "tools.call"]


async def test_created_it_is_listed_runs_survives_a_restart_and_is_deleted(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        made = await good(kernel, "seq_create", name="greet", groups=GROUPS, description="Greets")
        assert made == {"created": "greet", "takes": {"who": "string"}, "gives": {"hello": "string"}}
    async with running(tmp_path) as kernel:
        listed = await good(kernel, "seq_list")
        assert listed["sequences"] == [
            {"name": "greet", "description": "Greets", "takes": {"who": "string"}, "gives": {"hello": "string"},
             "groups": ["ask", "tell"]}
        ]  # fmt: skip
        assert (await good(kernel, "seq_list", name="greet"))["groups"] == GROUPS
        ran = await good(kernel, "seq_run", name="greet", args={"who": "Ada"})
        assert (ran["status"], ran["out"]) == ("ok", {"hello": "Hello Ada"})
        assert sorted(steps(kernel)[:2]) == [("say", "Hello Ada"), ("say", "bye")]
        assert steps(kernel)[2:] == [("write", "Hello Ada")]
        assert (await good(kernel, "seq_call", name="greet", group="tell", args={"hello": "x"}))["status"] == "ok"
        assert await good(kernel, "seq_delete", name="greet") == {"deleted": "greet"}
        assert "no sequence 'greet'" in await bad(kernel, "seq_run", name="greet")
    assert json.loads((tmp_path / "sequences.json").read_text("utf-8"))["sequences"] == []


async def test_a_wrong_one_is_refused_with_every_mistake_and_nothing_is_stored(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        groups = [{"name": "g", "tools": [say("$nope"), say("x", "r"), {"tool": "say", "args": {"txt": 1}, "as": "r"}]}]
        said = await bad(kernel, "seq_create", name="s", groups=groups)
        assert said.startswith("The sequence s has 2 errors:\n- groups[0].tools[2].as: ")
        assert "- groups[0].tools[0].args.text: $nope" in said
        groups = [{"name": "g", "tools": [say("x", tool="write"), say("x", tool="sya"), {"tool": "say"}]}]
        said = await bad(kernel, "seq_create", name="s", groups=groups)
        assert "3 errors" in said
        assert "write may not run beside others" in said
        assert "no tool 'sya'. Did you mean say?" in said
        assert "say needs text" in said
        assert (await good(kernel, "seq_list"))["sequences"] == []
        assert not (tmp_path / "sequences.json").exists()
        assert "larger than" in await bad(
            kernel, "seq_create", name="s", groups=[{"name": "g", "tools": [say("x" * 70_000)]}]
        )
        assert not steps(kernel), "nothing was run"


async def test_a_failed_run_is_an_error_that_says_what_had_been_done(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        groups = [{"name": "g", "parallel": False, "tools": [say("one"), say("bad"), say("two")]}]
        await good(kernel, "seq_create", name="s", groups=groups)
        head, _, report = (await bad(kernel, "seq_run", name="s")).partition("\n")
        assert head == "s did not get to its end: g: say: bad"
        assert [step["status"] for step in json.loads(report)["groups"][0]["steps"]] == ["ok", "error", "not_run"]


async def test_a_tool_that_changed_since_is_found_before_anything_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        await good(kernel, "seq_create", name="s", groups=[{"name": "g", "tools": [say("a"), say("b")]}])
        kernel.reply("tools.list", {"tools": [{**TOOLS[0], "parallel_safe": False}]})
        assert "may not run beside others" in await bad(kernel, "seq_run", name="s")
        assert not steps(kernel)


async def test_when_call(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        await good(
            kernel, "seq_create", name="s", groups=[{"name": "g", "in": {"n": "integer"}, "tools": [say("${args.n}")]}]
        )
        skipped = await good(kernel, "seq_when_call", when="$args.n > 3", name="s", args={"n": 3})
        assert skipped["status"] == "skipped"
        assert not steps(kernel)
        await good(kernel, "seq_when_call", when="$args.n > 3", name="s", group="g", args={"n": 4})
        assert steps(kernel) == [("say", "4")]
        assert "ends too early" in await bad(kernel, "seq_when_call", when="$args.n >", name="s", args={"n": 4})
        assert "only $args.KEY" in await bad(kernel, "seq_when_call", when="$x", name="s", args={"n": 4})


async def test_replacing_and_deleting_break_no_other(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel:
        await good(kernel, "seq_create", name="low", groups=[{"name": "g", "in": {"n": "any"}, "tools": [say("x")]}])
        run = {"tool": "seq_run", "args": {"name": "low", "args": {"n": 1}}}
        await good(kernel, "seq_create", name="high", groups=[{"name": "g", "tools": [run]}])
        other = [{"name": "g", "tools": [say("x")]}]
        assert "already" in await bad(kernel, "seq_create", name="low", groups=other)
        said = await bad(kernel, "seq_create", name="low", groups=other, replace=True)
        assert "high, which calls it: groups[0].tools[0].args.args.n: low does not take it" in said
        circle = [{"name": "g", "in": {"n": "any"}, "tools": [{"tool": "seq_run", "args": {"name": "high"}}]}]
        said = await bad(kernel, "seq_create", name="low", groups=circle, replace=True)
        assert "it would never end: low.g → high.g → low.g" in said
        assert "called by high" in await bad(kernel, "seq_delete", name="low")
        await good(kernel, "seq_delete", name="high")
        await good(kernel, "seq_create", name="low", groups=other, replace=True)


async def test_everybody_has_their_own_and_guests_what_the_owner_offers_them(tmp_path: Path) -> None:
    group = [{"name": "g", "tools": [say("x")]}]
    async with running(tmp_path) as kernel:
        await good(kernel, "seq_create", name="private", groups=group)
        await good(kernel, "seq_create", name="open", groups=group, guests=True)
        kernel.context |= {"role": "guest", "scope": "guest:x", "peer": "qq:1"}
        assert [one["name"] for one in (await good(kernel, "seq_list"))["sequences"]] == ["open"]
        for tool in ("seq_list", "seq_run"):
            assert "no sequence 'private'" in await bad(kernel, tool, name="private")
        assert (await good(kernel, "seq_run", name="open"))["status"] == "ok"
        assert "no sequence 'open' of yours" in await bad(kernel, "seq_delete", name="open")
        kernel.context |= {"role": "trusted", "scope": "trusted:y"}
        assert "Only the owner" in await bad(kernel, "seq_create", name="mine", groups=group, guests=True)
        await good(kernel, "seq_create", name="private", groups=group, description="another")
        kernel.context |= {"role": "owner", "scope": "owner"}
        assert "description" not in await good(kernel, "seq_list", name="private")


async def test_in_a_group_nobody_runs_what_somebody_with_fewer_rights_wrote(tmp_path: Path) -> None:
    trusted = {"role": "trusted", "scope": "group:qq:1", "peer": "qq:1"}
    owner = {"role": "owner", "scope": "group:qq:1", "peer": "qq:2"}
    group = [{"name": "g", "tools": [say("x")]}]
    outer = [{"name": "g", "parallel": False, "tools": [{"tool": "seq_run", "args": {"name": "low"}}]}]
    async with running(tmp_path) as kernel:
        kernel.context |= trusted
        await good(kernel, "seq_create", name="low", groups=group)
        kernel.context |= owner
        await good(kernel, "seq_create", name="high", groups=group)
        await good(kernel, "seq_create", name="outer", groups=outer)
        for name in ("low", "outer"):
            assert "low: made by somebody with fewer rights" in await bad(kernel, "seq_run", name=name)
        assert "fewer rights" in await bad(kernel, "seq_call", name="low", group="g")
        assert "fewer rights" in await bad(kernel, "seq_when_call", when="true", name="low")
        assert not steps(kernel)
        kernel.context |= trusted
        for name in ("low", "high", "outer"):
            assert (await good(kernel, "seq_run", name=name))["status"] == "ok", "their own rights are at work here"
        assert "somebody who is owner" in await bad(kernel, "seq_create", name="high", groups=group, replace=True)
        assert "somebody who is owner" in await bad(kernel, "seq_delete", name="outer")
    async with running(tmp_path) as kernel:  # who wrote what is remembered
        kernel.context |= owner
        assert "fewer rights" in await bad(kernel, "seq_run", name="low")
        await good(kernel, "seq_create", name="low", groups=group, replace=True)
        assert (await good(kernel, "seq_run", name="outer"))["status"] == "ok"


async def test_there_are_not_more_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SEQUENCES == 100
    monkeypatch.setattr(seq_plugin, "MAX_SEQUENCES", 2)
    group = [{"name": "g", "tools": [say("x")]}]
    async with running(tmp_path) as kernel:
        for name in "ab":
            await good(kernel, "seq_create", name=name, groups=group)
        assert "2 sequences already" in await bad(kernel, "seq_create", name="c", groups=group)
        await good(kernel, "seq_create", name="b", groups=group, replace=True)


async def test_cancelling_a_run_cancels_the_step_that_runs(tmp_path: Path) -> None:
    begun, stopped = trio.Event(), trio.Event()

    async def wait(_: Mapping[str, Any]) -> object:
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            stopped.set()

    async with running(tmp_path) as kernel:
        kernel.reply("tools.call", wait)
        await good(kernel, "seq_create", name="s", groups=[{"name": "g", "tools": [say("x")]}])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: kernel.invoke("seq_run", name="s"))
            await begun.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(60):
            await stopped.wait()


async def test_waiting_for_a_yes_is_no_time_of_the_group(tmp_path: Path) -> None:
    released = trio.Event()

    async def asked(params: Mapping[str, Any]) -> object:
        await kernel.emit("approval", turn="turn_test", approval="ap1", status="asked")
        await released.wait()
        await kernel.emit("approval", turn="turn_test", approval="ap1", status="allowed")
        return answer(params)

    async with running(tmp_path) as kernel:
        kernel.reply("tools.call", asked)
        await good(kernel, "seq_create", name="s", groups=[{"name": "g", "timeout": 1, "tools": [say("x")]}])
        async with trio.open_nursery() as nursery:

            async def release() -> None:
                await trio.sleep(1.3)
                released.set()

            nursery.start_soon(release)
            assert (await good(kernel, "seq_run", name="s"))["status"] == "ok"
        await wait_all_tasks_blocked()


async def test_a_file_that_cannot_be_read_stops_it_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "sequences.json").write_text("{", "utf-8")
    async with harness(build(), data_dir=tmp_path, start=False) as kernel:
        with pytest.raises(ConfigError, match="Move the file away"):
            await kernel.start({}, tmp_path)


def test_the_manifest_says_who_may_what() -> None:
    manifest = load_manifest(seq_plugin.plugin.folder)
    about = {tool.name: tool for tool in manifest.tools}
    assert {name for name, tool in about.items() if tool.guest} == {"seq_list", "seq_run", "seq_call", "seq_when_call"}
    assert {name for name, tool in about.items() if tool.tool_class == "write"} == {"seq_create", "seq_delete"}
    assert not about["seq_run"].parallel_safe
    assert manifest.activation == "lazy"
