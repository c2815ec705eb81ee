"""Adapter scripts asked over a real socket, in a real child."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homed.providers.base import Source
from tests.homed.providers.kit import TOOL, ask
from tests.homed.providers.lua.kit import HELLO, Lua, open_lua
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


@pytest.fixture
async def lua(tmp_path: Path) -> AsyncIterator[Lua]:
    async with open_lua(tmp_path) as opened:
        yield opened


def source_of(fake: FakeOpenAI, script: str, **options: object) -> Source:
    return Source("test", fake.url, fake.model, adapter=f"lua:{script}", options=options)


async def test_a_bundled_script_answers_streaming(lua: Lua, fake: FakeOpenAI) -> None:
    fake.say("你好🌍", think="hm", one_byte=True, cached=2)
    said = await ask(lua.provider(source_of(fake, "openai"), fake.key))
    assert (said.text, said.reasoning, said.reason) == ("你好🌍", "hm", "stop")
    assert said.usage.prompt > said.usage.cached == 2


async def test_a_script_of_ones_own_answers(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    fake.say("good")
    assert (await ask(lua.provider(source_of(fake, "mine"), fake.key), "hi")).text == "good"
    assert fake.chats[-1].body["messages"] == [{"role": "user", "content": "hi"}]


async def test_calls_come_whole_and_with_ids(lua: Lua, fake: FakeOpenAI) -> None:
    fake.call_tool("look", {"at": "你好"}, ids="missing")
    said = await ask(lua.provider(source_of(fake, "openai"), fake.key), tools=(TOOL,))
    assert said.calls == [("look", '{"at": "你好"}')]
    assert said.ids[0].startswith("call")
