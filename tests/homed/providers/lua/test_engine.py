"""The script's process: when it is there, what it is given, and what becomes of a request when it goes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from homed.providers.base import ErrorKind, ProviderError, Source
from tests.homed.providers.kit import Said, ask
from tests.homed.providers.lua.kit import HELLO, Lua, open_lua
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai

KEY = "sk-canary-0123456789abcdefghij"
RUNAWAY = 'string.match(("a"):rep(40), ("a-"):rep(40) .. "b")'
"""One C function of Lua that no hook can stop."""


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai({"key": KEY}) as server:
        yield server


@pytest.fixture
async def lua(tmp_path: Path) -> AsyncIterator[Lua]:
    async with open_lua(tmp_path) as opened:
        yield opened


def source_of(fake: FakeOpenAI, name: str = "mine", **changes: object) -> Source:
    given: dict[str, object] = {"base_url": fake.url, "adapter": f"lua:{name}", **changes}
    return Source("test", model=fake.model, **given)  # type: ignore[arg-type]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def until(ready: object) -> None:
    """Wait for what a process or a task does behind our back."""
    assert callable(ready)
    with trio.fail_after(60):
        while not ready():  # noqa: ASYNC110 - another process
            await trio.sleep(0.01)


async def test_it_is_started_by_the_first_request_and_serves_the_next(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    provider = lua.provider(source_of(fake), KEY)
    assert lua.scripts.pid("mine") == 0
    await ask(provider)
    first = lua.scripts.pid("mine")
    await ask(provider)
    assert lua.scripts.pid("mine") == first > 0
    assert os.getsid(first) == first


async def test_it_ends_when_it_has_been_idle_and_comes_again(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with open_lua(tmp_path, idle=0.05) as lua:
        lua.write("mine", HELLO)
        await ask(lua.provider(source_of(fake), KEY))
        first = lua.scripts.pid("mine")
        await until(lambda: lua.scripts.pid("mine") == 0 and gone(first))
        assert (await ask(lua.provider(source_of(fake), KEY))).text
        assert lua.scripts.pid("mine") not in (0, first)


async def test_it_is_not_ended_in_the_middle_of_an_answer(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with open_lua(tmp_path, idle=0.05) as lua:
        lua.write("mine", HELLO)
        fake.say("abcdefgh", delay=0.1)
        assert (await ask(lua.provider(source_of(fake), KEY))).text == "abcdefgh"


async def test_it_ends_with_the_sources(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with open_lua(tmp_path) as lua:
        lua.write("mine", HELLO)
        await ask(lua.provider(source_of(fake), KEY))
        pid = lua.scripts.pid("mine")
    assert gone(pid)


@pytest.fixture
def in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMED_SECRET__LLM__TEST__API_KEY", KEY)


async def test_the_key_never_enters_it(in_environment: None, lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO + '\nfunction build_headers(s) return { Authorization = "Bearer {api_key}", X = "y" } end')
    source = source_of(fake, options={"headers": {"X-Own": KEY}})
    await ask(lua.provider(source, KEY))
    headers = {name.lower(): value for name, value in fake.chats[-1].headers.items()}
    assert (headers["authorization"], headers["x"], headers["x-own"]) == (f"Bearer {KEY}", "y", KEY)
    pid = lua.scripts.pid("mine")
    assert KEY.encode() not in memory_of(pid)


def memory_of(pid: int) -> bytes:
    """Everything that a process may write, as it is now."""
    held = bytearray(Path(f"/proc/{pid}/environ").read_bytes())
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            first, last = (int(one, 16) for one in where.split("-"))
            try:
                memory.seek(first)
                held += memory.read(last - first)
            except (OSError, ValueError, OverflowError):
                continue
    return bytes(held)


async def test_a_source_without_a_key_sends_no_header_for_one(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    with pytest.raises(ProviderError) as failed:
        await ask(lua.provider(source_of(fake), ""))
    assert failed.value.kind is ErrorKind.CREDENTIAL
    assert "authorization" not in {name.lower() for name in fake.requests[-1].headers}


async def test_an_error_of_the_script_fails_that_request_with_its_line(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO + "\nfunction transform_request(request, source)\n  return source.nothing.at.all\nend")
    with pytest.raises(ProviderError) as failed:
        await ask(lua.provider(source_of(fake), KEY))
    assert failed.value.kind is ErrorKind.BAD_REQUEST
    assert failed.value.message.startswith("The adapter script mine.lua failed: mine.lua:14: attempt to index")
    assert not fake.chats
    lua.write("mine", HELLO)
    assert (await ask(lua.provider(source_of(fake), KEY))).text


async def test_what_came_before_an_error_of_the_script_is_shown(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write(
        "mine",
        HELLO + "\nlocal chunk = transform_stream_chunk\nfunction transform_stream_chunk(text, state)\n"
        "  local parts = chunk(text, state)\n  if text:find('stop') then error('oh') end\n  return parts\nend",
    )
    fake.say("abcdefghstop", chunk=4)
    said = Said()
    with pytest.raises(ProviderError, match=r"mine\.lua:16: oh") as failed:
        await ask(lua.provider(source_of(fake), KEY), into=said)
    assert (said.text, failed.value.partial) == ("abcdefgh", True)


@pytest.mark.slow
async def test_a_script_that_cannot_be_stopped_is_ended_and_only_its_request_fails(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("wild", HELLO + f"\nfunction transform_request() {RUNAWAY} end")
    lua.write("mine", HELLO)
    await ask(lua.provider(source_of(fake), KEY))
    with pytest.raises(ProviderError, match=r"wild\.lua failed: it computed for more than 3 s") as failed:
        await ask(lua.provider(source_of(fake, "wild"), KEY))
    assert failed.value.kind is ErrorKind.BAD_REQUEST
    assert failed.value.message.endswith("in transform_request.")
    assert (await ask(lua.provider(source_of(fake), KEY))).text
    lua.write("wild", HELLO)
    assert (await ask(lua.provider(source_of(fake, "wild"), KEY))).text


async def test_a_process_that_is_killed_is_asked_again_when_nothing_was_shown(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    fake.say("good", first_delay=0.3)
    fake.say("better")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_kill_when_asked, lua, fake)
        said = await ask(lua.provider(source_of(fake), KEY))
    assert said.text == "better"
    assert "is gone" in said.retries[0].why


async def _kill_when_asked(lua: Lua, fake: FakeOpenAI) -> None:
    await until(lambda: fake.chats)
    os.kill(lua.scripts.pid("mine"), signal.SIGKILL)


async def test_answers_of_one_script_run_beside_each_other(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    provider = lua.provider(source_of(fake), KEY)
    texts = [f"answer {n} 你好🌍" * 5 for n in range(6)]
    for n, text in enumerate(texts):
        fake.when(f"question {n}.", {"say": text, "chunk": 2, "delay": 0.002})
    heard: dict[int, str] = {}

    async def one(n: int) -> None:
        heard[n] = (await ask(provider, f"question {n}.")).text

    async with trio.open_nursery() as nursery:
        for n in range(6):
            nursery.start_soon(one, n)
    assert [heard[n] for n in range(6)] == texts


async def test_a_cancelled_answer_leaves_the_process_fit(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write("mine", HELLO)
    provider = lua.provider(source_of(fake), KEY)
    await ask(provider)
    pid = lua.scripts.pid("mine")
    fake.when("stop", {"say": "abcdefgh" * 10, "delay": 0.001})
    for n in range(20):
        with trio.move_on_after(0.002 * n):
            await ask(provider, "stop")
    fake.say("whole")
    assert (await ask(provider)).text == "whole"
    assert lua.scripts.pid("mine") == pid


async def test_what_a_stopped_request_held_while_it_waited_is_let_go(lua: Lua, fake: FakeOpenAI) -> None:
    """Else each stop keeps a whole request in the script, until there is no room and other answers break off."""
    lua.write(
        "mine",
        HELLO + "\nlocal usual = transform_request\nfunction transform_request(r, s)\n"
        "  local kept = ('x'):rep(4000000)\n"
        "  if r.messages[1].text == 'wait' then http_get(s.base_url .. '/token') end\n"
        "  local made = usual(r, s)\n  made.body.user = #kept .. ''\n  return made\nend",
    )
    (deaf,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    waiting = lua.provider(source_of(fake, base_url=f"http://127.0.0.1:{deaf.socket.getsockname()[1]}"), KEY)

    async def stopped() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, waiting, "wait")
                await (await deaf.accept()).aclose()
                nursery.cancel_scope.cancel()

    async with deaf:
        await stopped()
        pid = lua.scripts.pid("mine")
        for _ in range(40):
            await stopped()
    fake.say("whole")
    assert (await ask(lua.provider(source_of(fake), KEY))).text == "whole"
    assert lua.scripts.pid("mine") == pid


async def test_a_state_that_is_full_is_made_anew(lua: Lua, fake: FakeOpenAI) -> None:
    lua.write(
        "mine",
        HELLO + "\nkept = {}\nlocal usual = transform_request\nfunction transform_request(r, s)\n"
        "  if r.messages[1].text == 'fill' then for i = 1, 1e9 do kept[i] = ('x'):rep(1000) .. i end end\n"
        "  return usual(r, s)\nend",
    )
    provider = lua.provider(source_of(fake), KEY)
    with pytest.raises(ProviderError, match=r"mine\.lua:16: (not enough memory|it ran more)"):
        await ask(provider, "fill")
    assert (await ask(provider, "go on")).text


async def test_an_answer_whose_state_is_lost_breaks_off_and_does_not_go_on_without(lua: Lua, fake: FakeOpenAI) -> None:
    """Else a call may be made of it whose arguments are gone (A15)."""
    lua.write(
        "mine",
        HELLO + "\nlocal usual = transform_request\nfunction transform_request(r, s)\n"
        "  local kept = {}\n"
        "  if r.messages[1].text == 'fill' then for i = 1, 1e9 do kept[i] = ('x'):rep(100000) .. i end end\n"
        "  return usual(r, s)\nend",
    )
    provider, said = lua.provider(source_of(fake), KEY), Said()
    fake.when("slow", {"say": "abcdefgh" * 20, "delay": 0.05})

    async def fill() -> None:
        await until(lambda: said.text)
        with pytest.raises(ProviderError, match="not enough memory"):
            await ask(provider, "fill")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fill)
        with pytest.raises(ProviderError, match="is lost: it ran out of memory") as failed:
            await ask(provider, "slow", into=said)
    assert (failed.value.kind, failed.value.partial) == (ErrorKind.TRANSIENT, True)
    assert (await ask(provider, "go on")).text


async def test_a_folder_that_cannot_be_made_fails_the_request_and_nothing_else(
    tmp_path: Path, lua: Lua, fake: FakeOpenAI
) -> None:
    (tmp_path / "run").write_text("in the way")
    lua.write("mine", HELLO)
    with pytest.raises(ProviderError, match=r"run cannot be made: File exists"):
        await ask(lua.provider(source_of(fake), KEY))
    (tmp_path / "run").unlink()
    assert (await ask(lua.provider(source_of(fake), KEY))).text


async def test_a_missing_script_is_told_with_its_place(lua: Lua, fake: FakeOpenAI) -> None:
    with pytest.raises(ProviderError, match=r"There is no adapter script .*adapters/none\.lua") as failed:
        await ask(lua.provider(source_of(fake, "none"), KEY))
    assert failed.value.hint
