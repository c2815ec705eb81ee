"""The scripts in docs/adapters.md do what is said of them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homed.agent.model import decode
from homed.providers.base import Assistant, Source, ToolCall, ToolResult, User
from tests.homed.providers.kit import TOOL, ask
from tests.homed.providers.lua.kit import Lua, open_lua
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai

PAGE = (Path(__file__).parents[4] / "docs" / "adapters.md").read_text(encoding="utf-8")
SCRIPTS = dict(re.findall(r"```lua\n-- (\w+)\.lua[^\n]*\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


@pytest.fixture
async def lua(tmp_path: Path) -> AsyncIterator[Lua]:
    async with open_lua(tmp_path) as opened:
        for name, text in SCRIPTS.items():
            opened.write(name, text)
        yield opened


def test_there_are_two() -> None:
    assert sorted(SCRIPTS) == ["mine", "whole"]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
async def test_it_streams_and_calls_tools(lua: Lua, fake: FakeOpenAI, name: str) -> None:
    provider = lua.provider(Source("test", fake.url, fake.model, adapter=f"lua:{name}"), fake.key)
    fake.say("你好🌍", think="hm", one_byte=True)
    said = await ask(provider, "hi")
    assert (said.text, said.reasoning, said.reason) == ("你好🌍", "hm", "stop")
    fake.call_tool("look", {"at": "there"}, then="seen")
    said = await ask(provider, "look", tools=(TOOL,))
    assert (said.calls, said.reason) == ([("look", '{"at": "there"}')], "tool_calls")
    call = ToolCall(said.ids[0], "look", decode(said.calls[0][1]))
    result = ToolResult(call.id, "look", "a thing")
    assert (await ask(provider, User("look"), Assistant("", (call,)), result, tools=(TOOL,))).text == "seen"


@pytest.mark.parametrize("name", sorted(SCRIPTS))
async def test_it_reads_a_whole_answer(lua: Lua, fake: FakeOpenAI, name: str) -> None:
    fake.say("whole", sse=False)
    provider = lua.provider(Source("test", fake.url, fake.model, adapter=f"lua:{name}"), fake.key)
    assert (await ask(provider)).text == "whole"


async def test_the_small_one_sends_what_it_says(lua: Lua, fake: FakeOpenAI) -> None:
    source = Source("test", fake.url, fake.model, adapter="lua:mine", options={"named": "garden"})
    await ask(lua.provider(source, fake.key))
    assert fake.chats[-1].body["user"] == "garden"


def test_every_function_that_scripts_have_is_told() -> None:
    folder = Path(__file__).parents[4] / "homed" / "providers" / "lua"
    for library in ("json", "util", "openai"):
        text = (folder / f"{library}.lua").read_text(encoding="utf-8")
        for name in re.findall(rf"^function {library}\.(\w+)", text, re.MULTILINE):
            assert re.search(rf"\b{name}\b", PAGE), f"{library}.{name} is not in docs/adapters.md"
