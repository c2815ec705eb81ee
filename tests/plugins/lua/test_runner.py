"""A folder with a main.lua as a plugin: tools, stages, events, settings, hot reload."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed import sdk
from homed.errors import ConfigError, HomedError
from homed.sdk.testing import Harness, harness
from plugins.lua.runner import Runner, limits
from plugins.lua.state import State

SAY = """
function start(sdk)
  sdk.register_tool{name = "say", description = "Says it.", class = "read", handler = function(args, ctx)
    if args.wait then sdk.call("core.log", {level = "info", message = "waits"}) sdk.sleep(args.wait) end
    if args.fail then error("as told") end
    return "%s " .. tostring(args.text) .. " " .. ctx.role
  end}
end
function stop() print("%s stops") end
"""


def write(folder: Path, main: str, **manifest: Any) -> Path:
    """A plugin folder."""
    folder.mkdir(exist_ok=True)
    (folder / "main.lua").write_text(main)
    base = {"name": "lua_test", "version": "1", "entry": "main.lua", "description": "d"}
    base["tools"] = [{"name": "say", "description": "Says it.", "class": "read"}]  # type: ignore[assignment]
    (folder / "plugin.json").write_text(json.dumps({**base, **manifest}))
    return folder


def change(folder: Path, main: str, name: str = "main.lua") -> None:
    """Replace a file as an editor does."""
    (folder / "new").write_text(main)
    (folder / "new").replace(folder / name)


@asynccontextmanager
async def running(folder: Path, **options: Any) -> AsyncIterator[Harness]:
    more = {"poll": 0.01, **options.pop("runner", {})}
    async with harness(Runner(folder, **more).plugin, **options) as kernel:
        yield kernel


class Log(logging.Handler):
    """The plugin's log; ``wait`` for words in it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._more = trio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage() + "\n"
        try:
            trio.lowlevel.current_task()
        except RuntimeError:
            return  # Lua's own print, in its thread
        self._more.set()

    async def wait(self, words: str) -> None:
        with trio.fail_after(60):
            while words not in self.text:
                self._more = trio.Event()
                await self._more.wait()


@pytest.fixture
def log() -> Iterator[Log]:
    logger, handler = logging.getLogger("lua"), Log()
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)
    logger.propagate = True


async def test_a_tool_answers_and_fails_as_it_should(tmp_path: Path) -> None:
    async with running(write(tmp_path / "p", SAY.replace("%s", "one"))) as kernel:
        result = await kernel.invoke("say", text="你好")
        assert (result.content, result.is_error) == ("one 你好 owner", False)
        result = await kernel.invoke("say", fail=True)
        assert result.is_error
        assert result.content == "main.lua:5: as told"


async def test_two_calls_run_while_one_waits(tmp_path: Path) -> None:
    async with running(write(tmp_path / "p", SAY)) as kernel, trio.open_nursery() as nursery:
        with trio.CancelScope() as waiting:
            nursery.start_soon(lambda: kernel.invoke("say", wait=600))
            assert not (await kernel.invoke("say", text="x")).is_error
            waiting.cancel()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("main", "manifest", "said"),
    [
        ("function start(sdk", {}, r"main\.lua:1"),
        ("error('at the top')", {}, r"main\.lua:1: at the top"),
        ("function start(sdk) end", {}, "the tool say stands in plugin.json and main.lua does not register it"),
        (SAY, {"tools": []}, "main.lua registers the tool say, which is not in plugin.json"),
        (SAY, {"stages": [{"stage": "on_input"}]}, "the stage"),
        ("while true do end", {}, "more instructions|computed for more"),
        (SAY.replace('class = "read"', 'class = "nice"'), {"tools": [], "dynamic_tools": True}, "must be one of"),
        ("local x = require('gone')", {}, "there is no gone.lua"),
    ],
)
async def test_what_is_wrong_at_the_start_is_said(
    tmp_path: Path, main: str, manifest: dict[str, Any], said: str
) -> None:
    folder = write(
        tmp_path / "p", main, settings=[{"key": "lua_instructions", "type": "int", "default": 1}], **manifest
    )
    async with running(folder, start=False) as kernel:
        with pytest.raises(ConfigError, match=said):
            await kernel.start({"lua_instructions": 1}, tmp_path)


@pytest.mark.parametrize(
    "manifest",
    [
        {"outputs": [{"name": "chat"}]},
        {"settings": [{"key": "http_private", "type": "bool", "default": True}]},
    ],
)
def test_what_no_lua_plugin_can_be_is_refused(tmp_path: Path, manifest: dict[str, Any]) -> None:
    with pytest.raises(sdk.ConfigError):
        Runner(write(tmp_path / "p", SAY, **manifest))


async def test_stages_and_events_and_settings(tmp_path: Path) -> None:
    main = """
    local heard = sdk_heard or {}
    function start(sdk)
      sdk.register_stage{stage = "on_input", order = 5, on_failure = "closed", handler = function(fields, ctx)
        if fields.raw_message == "bad" then error("no") end
        return {raw_message = fields.raw_message:gsub("secret", "***") .. sdk.settings.tail}
      end}
      sdk.on("turn", function(n) heard[#heard + 1] = n.data.phase end)
      sdk.on("settings", function(s)
        heard[#heard + 1] = s.key .. "=" .. tostring(s.value)
        sdk.call("core.log", {level = "info", message = "heard"})
      end)
      sdk.register_tool{name = "heard", description = "d", handler = function() return heard end}
    end
    """
    folder = write(
        tmp_path / "p", main, capabilities=["events.notices"],
        tools=[{"name": "heard", "description": "d"}],
        stages=[{"stage": "on_input", "order": 5, "on_failure": "closed"}],
        settings=[{"key": "tail", "type": "string", "default": "."}],
    )  # fmt: skip
    async with running(folder) as kernel:
        assert await kernel.stage("on_input", {"raw_message": "a secret"}) == {"raw_message": "a ***."}
        with pytest.raises(HomedError, match="no"):
            await kernel.stage("on_input", {"raw_message": "bad"})
        assert [call.params["types"] for call in kernel.calls if call.method == "events.subscribe"] == [["turn"]]
        await kernel.emit("turn", phase="end")
        await kernel.emit("other", phase="x")
        await kernel.set("tail", "!")
        await kernel.wait_call("core.log")
        assert (await kernel.invoke("heard")).content == ["end", "tail=!"]
        assert await kernel.stage("on_input", {"raw_message": ""}) == {"raw_message": "!"}


# Hot reload


async def test_a_changed_file_is_loaded_and_the_old_code_told_to_stop(tmp_path: Path, log: Log) -> None:
    folder = write(tmp_path / "p", SAY.replace("%s", "one"))
    async with running(folder) as kernel:
        assert (await kernel.invoke("say", text="x")).content == "one x owner"
        change(folder, SAY.replace("%s", "two"))
        await log.wait("loaded anew")
        assert (await kernel.invoke("say", text="x")).content == "two x owner"
        assert "one stops" in log.text
        assert "two stops" not in log.text
    assert "two stops" in log.text


@pytest.mark.parametrize(
    "broken",
    [
        "function start(", "error('here')", "function start() end", "\n\nlocal x = nil + 1",
        SAY + "s = start; function start(sdk) s(sdk) sdk.register_stage{stage = 'x', scope = {}, handler = print} end",
    ],
)  # fmt: skip
async def test_a_broken_file_leaves_the_old_code_running(tmp_path: Path, log: Log, broken: str) -> None:
    folder = write(tmp_path / "p", SAY.replace("%s", "one"))
    async with running(folder) as kernel:
        change(folder, broken)
        await log.wait("the code before it goes on")
        assert "main.lua" in log.text
        assert (await kernel.invoke("say", text="x")).content == "one x owner"
        assert log.text.count("the code before it goes on") == 1
        change(folder, SAY.replace("%s", "two"))
        await log.wait("loaded anew")
        assert (await kernel.invoke("say", text="x")).content == "two x owner"


async def test_a_setting_that_changes_while_it_is_loaded_anew_reaches_the_new_code(tmp_path: Path, log: Log) -> None:
    main = """
    local sdk
    function start(s)
      sdk = s
      %s
      sdk.register_tool{name = "say", description = "Says it.", class = "read", handler = function()
        return sdk.settings.tail
      end}
    end
    """
    folder = write(tmp_path / "p", main % "", settings=[{"key": "tail", "type": "string", "default": "old"}])
    async with running(folder) as kernel:
        waits = 'sdk.call("core.log", {level = "info", message = "loads"}) sdk.sleep(0.3)'
        change(folder, main % waits)
        await kernel.wait_call("core.log")
        await kernel.set("tail", "new")
        await log.wait("loaded anew")
        assert (await kernel.invoke("say")).content == "new"


async def test_a_module_is_watched_too_also_one_that_could_not_be_loaded(tmp_path: Path, log: Log) -> None:
    main = SAY.replace("%s", "one").replace("function start(sdk)", "local m = require('m')\nfunction start(sdk)", 1)
    folder = write(tmp_path / "p", main.replace('"one "', "m"))
    (folder / "m.lua").write_text("return 'm1 '")
    async with running(folder) as kernel:
        assert (await kernel.invoke("say", text="x")).content == "m1 x owner"
        change(folder, "return", "m.lua")
        change(folder, "return 'm2 ' .. require('other')", "m.lua")
        await log.wait("there is no other.lua")
        change(folder, "return ''", "other.lua")
        await log.wait("loaded anew")
        assert (await kernel.invoke("say", text="x")).content == "m2 x owner"


async def test_calls_under_way_end_on_the_code_that_began_them(tmp_path: Path, log: Log) -> None:
    folder = write(tmp_path / "p", SAY.replace("%s", "one"))
    async with running(folder) as kernel:
        answers: list[Any] = []

        async def call() -> None:
            answers.append(await kernel.invoke("say", text="x", wait=0.3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await kernel.wait_call("core.log")
            change(folder, SAY.replace("%s", "two"))
            await log.wait("loaded anew")
        assert answers[0].content == "one x owner"
        assert (await kernel.invoke("say", text="x")).content == "two x owner"


async def test_a_call_that_does_not_end_is_ended_and_told_the_truth(tmp_path: Path, log: Log) -> None:
    folder = write(tmp_path / "p", SAY.replace("%s", "one"))
    async with running(folder, runner={"drain": 0.05}) as kernel:
        answers: list[Any] = []

        async def call() -> None:
            answers.append(await kernel.invoke("say", wait=600))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await kernel.wait_call("core.log")
            change(folder, SAY.replace("%s", "two"))
            await log.wait("loaded anew")
        assert answers[0].is_error
        assert "replaced while this ran" in answers[0].content


async def test_dynamic_tools_are_told_to_the_kernel_and_replaced(tmp_path: Path, log: Log) -> None:
    folder = write(tmp_path / "p", SAY, tools=[], dynamic_tools=True)
    async with running(folder, start=False) as kernel:
        kernel.reply("core.tools_set", {"tools": []})
        await kernel.start({}, tmp_path)
        change(folder, SAY.replace('"say"', '"shout"'))
        await log.wait("loaded anew")
        told = [[tool["name"] for tool in c.params["tools"]] for c in kernel.calls if c.method == "core.tools_set"]
        assert told == [["say"], ["shout"]]
        assert not (await kernel.invoke("shout", text="x")).is_error
        with pytest.raises(HomedError, match="no tool 'say'"):
            await kernel.invoke("say", text="x")


def watched(kept: list[weakref.ref[State]], state: State) -> State:
    kept.append(weakref.ref(state))
    return state


async def test_loading_anew_again_and_again_leaves_nothing_behind(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "p", SAY)
    async with running(folder) as kernel:
        before = 0
        gone: list[weakref.ref[State]] = []
        monkeypatch.setattr("plugins.lua.runner.State", lambda *args, **named: watched(gone, State(*args, **named)))
        for number in range(8):
            log.text = ""
            change(folder, SAY.replace("%s", str(number)))
            await log.wait("loaded anew")
            assert (await kernel.invoke("say", text="x")).content == f"{number} x owner"
            before = before or threading.active_count()
        assert threading.active_count() <= before
        assert sum(state() is not None for state in gone) == 1, "the one at work"


# Describing


async def test_a_description_is_the_same_every_time(tmp_path: Path) -> None:
    main = SAY.replace(
        'class = "read",', 'parameters = {type = "object", properties = {b = {type = "string"}, a = {}}},'
    )
    folder = write(tmp_path / "p", main)
    described = [await Runner(folder).describe() for _ in range(3)]
    assert described[0] == described[1]
    assert json.dumps(described[0]) == json.dumps(described[2])
    assert described[0]["tools"][0]["class"] == "write"
    assert list(described[0]["tools"][0]) == ["name", "description", "parameters", "class", "timeout"]


@pytest.mark.parametrize(
    "main",
    [
        "x x",
        "function start(sdk) sdk.http.get('http://x') end",
        "function start(sdk) sdk.register_tool{name='?', handler=print} end",
    ],
)
async def test_what_cannot_be_described_says_why(tmp_path: Path, main: str) -> None:
    with pytest.raises(ConfigError):
        await Runner(write(tmp_path / "p", main)).describe()


def test_limits_keep_within_bounds() -> None:
    assert limits({}).memory == 64 << 20
    assert limits({"lua_memory": 10**9}).memory == 512 << 20
    assert limits({"lua_memory": -1, "lua_instructions": True}).memory == 8 << 20
    assert limits({"lua_memory": "x", "lua_instructions": 1000}).seconds == 20
