"""A script that is changed is the new one for the next request, and the old one to the end of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from homed.providers.base import ChatRequest, ContentDelta, ProviderError, Source, User
from tests.homed.providers.kit import ask
from tests.homed.providers.lua.kit import HELLO, Lua, open_lua
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai


def marked(mark: str) -> str:
    """A script that begins every piece with a mark."""
    return (
        HELLO
        + f"""
        local chunk = transform_stream_chunk
        function transform_stream_chunk(text, state)
          local parts = chunk(text, state)
          for _, part in ipairs(parts) do
            if part.type == "content" then part.text = "{mark}" .. part.text end
          end
          return parts
        end"""
    )


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


@pytest.fixture
async def lua(tmp_path: Path) -> AsyncIterator[Lua]:
    async with open_lua(tmp_path) as opened:
        yield opened


def source_of(fake: FakeOpenAI) -> Source:
    return Source("test", fake.url, fake.model, adapter="lua:mine")


async def test_the_next_request_is_asked_by_the_new_one_in_the_same_process(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", marked("1"))
    provider = lua.provider(source_of(fake), fake.key)
    fake.say("ab", chunk=1)
    assert (await ask(provider)).text == "1a1b"
    pid = lua.scripts.pid("mine")
    lua.write("mine", marked("2"))
    fake.say("ab", chunk=1)
    assert (await ask(provider)).text == "2a2b"
    assert lua.scripts.pid("mine") == pid


async def test_an_answer_goes_on_with_the_one_that_asked_for_it(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", marked("1"))
    provider = lua.provider(source_of(fake), fake.key)
    fake.say("abcdef", chunk=1, delay=0.02)
    heard = ""
    async with provider.stream(ChatRequest((User("hi"),))) as parts:
        async for part in parts:
            if isinstance(part, ContentDelta):
                heard += part.text
                if heard == "1a":
                    lua.write("mine", marked("2"))
                    fake.say("z", chunk=1)
                    assert (await ask(provider)).text == "2z"
    assert heard == "1a1b1c1d1e1f"


async def test_an_error_at_load_is_told_with_its_line_until_it_is_mended(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    provider = lua.provider(source_of(fake), fake.key)
    await ask(provider)
    lua.write("mine", HELLO + "\nlocal x = = 1")
    for _ in range(2):
        with pytest.raises(ProviderError, match=r"mine\.lua failed: mine\.lua:13: unexpected symbol near '='"):
            await ask(provider)
    lua.write("mine", HELLO)
    assert (await ask(provider)).text


async def test_a_script_that_is_taken_away_is_missed_by_the_next_request(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    provider = lua.provider(source_of(fake), fake.key)
    await ask(provider)
    await trio.Path(lua.folder / "mine.lua").unlink()
    with pytest.raises(ProviderError, match="There is no adapter script"):
        await ask(provider)


async def test_versions_that_nobody_uses_are_forgotten(lua: Lua, fake: FakeOpenAI) -> None:
    provider = lua.provider(source_of(fake), fake.key)
    for n in range(5):
        lua.write("mine", marked(str(n)))
        await ask(provider)
    engine = lua.scripts._engines["mine"]
    assert engine._life is not None
    assert list(engine._life.loaded.values()) == [None]


async def test_the_list_tells_whose_they_are_and_what_is_wrong(lua: Lua) -> None:
    lua.write("mine", HELLO)
    lua.write("bad", "x = = 1")
    listed = {one.name: one for one in await lua.scripts.listed()}
    assert [(one.origin, one.error) for one in (listed["mine"], listed["gemini"])] == [("own", ""), ("bundled", "")]
    assert listed["bad"].error == "bad.lua:1: unexpected symbol near '='"
    assert len(listed) == 10
