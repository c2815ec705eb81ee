"""Plugins in Lua under a real daemon: each a process of its own, loaded anew while it runs, ended when it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homed.sdk.scaffold import difference, update_manifest
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

MAIN = """
local words = require("words")
function start(sdk)
  sdk.register_tool{
    name = "lua_greet", description = "Greets.", class = "read",
    parameters = {type = "object", properties = {who = {type = "string"}}, required = {"who"}},
    handler = function(args, ctx) return words.greeting .. ", " .. args.who .. " (" .. ctx.role .. ")" end,
  }
  sdk.register_tool{
    name = "lua_hang", description = "Hangs.", class = "read", timeout = 1,
    handler = function() return string.find(("a"):rep(1000000), ".-b") end,
  }
  sdk.register_tool{
    name = "lua_loop", description = "Loops.", class = "read", timeout = 30,
    handler = function() while true do pcall(function() while true do end end) end end,
  }
  sdk.register_tool{
    name = "lua_inside", description = "Asks this machine.", class = "read",
    handler = function() return sdk.http.get("http://127.0.0.1:80/").body end,
  }
end
"""
TOOLS = ("lua_greet", "lua_hang", "lua_loop", "lua_inside")


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "main.lua").write_text(MAIN)
    (folder / "words.lua").write_text('return {greeting = "Hello"}')
    (folder / "trio.py").write_text("raise SystemExit('a file of the plugin stood in for a module')")
    about = {"name": "greeter", "version": "1", "description": "Greets.", "entry": "main.lua"}
    settings = [{"key": "lua_instructions", "type": "int", "default": 20}]
    (folder / "plugin.json").write_text(json.dumps({**about, "settings": settings}))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    import trio

    data = tmp_path_factory.mktemp("lua") / "data"
    write(data / "plugins" / "greeter")
    trio.run(update_manifest, data / "plugins" / "greeter")
    assert trio.run(difference, data / "plugins" / "greeter") == []
    with house(data, Plan(allow=TOOLS, vectors=False)) as built:
        yield built


def result(home: House, tool: str, **args: Any) -> str:
    """What the model's call of a tool came to."""
    text = f"call {tool} {json.dumps(args)}"
    home.fake.when(text, {"calls": [{"name": tool, "args": args}]}, {"say": "done"})
    answered = home.chat(text)
    [event] = [event for event in home.history(answered["thread"]) if event["kind"] == "tool"]
    return str(event["text"])


def pid(home: House) -> int:
    return int(home.plugin("greeter")["pid"])


def test_the_model_calls_a_tool_in_lua(home: House) -> None:
    assert home.plugin("greeter")["state"] == "ready"
    assert result(home, "lua_greet", who="Ada 你好") == "Hello, Ada 你好 (owner)"


def test_this_machine_is_out_of_reach(home: House) -> None:
    assert "may not go" in result(home, "lua_inside")


def test_a_loop_is_stopped_and_the_process_lives(home: House) -> None:
    before = pid(home)
    assert "more instructions than it may" in result(home, "lua_loop")
    assert pid(home) == before
    assert result(home, "lua_greet", who="x") == "Hello, x (owner)"


def test_a_changed_file_is_loaded_and_a_broken_one_told(home: House) -> None:
    folder, before = home.data / "plugins" / "greeter", pid(home)

    def change(text: str) -> None:
        (folder / "new").write_text(text)
        (folder / "new").replace(folder / "words.lua")

    change("return {greeting =")
    until(lambda: "words.lua:1:" in home.daemon.run("plugin", "logs", "greeter").out, what="the error with its line")
    assert result(home, "lua_greet", who="y") == "Hello, y (owner)"
    change('return {greeting = "Good day"}')
    until(lambda: "loaded anew" in home.daemon.run("plugin", "logs", "greeter").out, what="the new code")
    assert result(home, "lua_greet", who="z") == "Good day, z (owner)"
    assert pid(home) == before, "without a new process"


def test_what_no_hook_reaches_ends_the_process_which_comes_back(home: House) -> None:
    before = pid(home)
    said = result(home, "lua_hang")
    assert "1 s" in said, said
    until(lambda: home.plugin("greeter")["state"] == "ready" and pid(home) != before, what="a new process")
    assert result(home, "lua_greet", who="again") == "Good day, again (owner)"
