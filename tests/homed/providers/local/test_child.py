"""The real child with the real model: what no stand-in shows."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio

from homed.agent import prompt
from homed.config.environment import child_environment
from homed.proc.spawn import Child, Command, spawn
from homed.providers.base import ChatRequest, ContentDelta, ErrorKind, Progress, ProviderError, Source, System, User
from homed.providers.local import frames
from homed.providers.local.engine import Engine, EnginePorts
from homed.providers.local.life import resident
from homed.providers.local.models import EMBEDDED
from homed.providers.local.provider import LocalProvider
from homed.providers.local.weights import in_wheel
from tests.homed.providers.kit import Said
from tests.homed.providers.local.kit import first, until
from tests.kit.processes import alive

pytestmark = [pytest.mark.model, pytest.mark.slow]

SYSTEM = prompt.system_text(
    prompt.load_texts().for_small(), at=datetime(2026, 11, 29, tzinfo=UTC).timestamp(), persona="", catalogue=()
)


def weights() -> Path:
    path = in_wheel()
    assert path is not None
    return path


@asynccontextmanager
async def running(folder: Path, source: Source = EMBEDDED) -> AsyncIterator[tuple[Engine, LocalProvider]]:
    """The built-in model, warm."""
    ports = EnginePorts(
        file=lambda _: weights(), opening=lambda: SYSTEM, folder=folder, family="test-model", env=child_environment()
    )
    async with trio.open_nursery() as nursery:
        engine = Engine(source, ports)
        nursery.start_soon(engine.run)
        engine.keep(True)
        await until(lambda: engine.state == "ready", within=120)
        yield engine, LocalProvider(engine)
        nursery.cancel_scope.cancel()


async def ask(provider: LocalProvider, text: str, max_tokens: int | None = None) -> Said:
    said = Said()
    async with provider.stream(ChatRequest((System(SYSTEM), User(text)), max_tokens=max_tokens)) as parts:
        async for part in parts:
            if not isinstance(part, Progress):
                said.take(part)
    return said


def pid_of(engine: Engine) -> int:
    assert engine._life is not None
    return engine._life._child.pid


def listening(pid: int) -> list[str]:
    """The process's sockets that wait for connections over TCP, told by their inodes; threads share descriptors."""
    own, found = set(), []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # the one this listing is read from
            own.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                found.append(line)
    return found


def test_the_search_for_listeners_finds_one() -> None:
    with socket.create_server(("127.0.0.1", 0)):
        assert len(listening(os.getpid())) == 1
    assert listening(os.getpid()) == []


async def test_it_answers_streams_is_warm_and_listens_nowhere(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, provider):
        pid = pid_of(engine)
        assert listening(pid) == []
        assert os.listdir(tmp_path) == [], "the Unix socket's name is gone"
        said = await ask(provider, "hi", max_tokens=24)
        assert said.text.strip()
        assert said.reason in ("stop", "length")
        # everything but the question itself and the mark of the answer was read beforehand
        assert said.usage.prompt - said.usage.cached < 12
        assert said.usage.cached > 20
        assert 0 < said.usage.completion <= 24
        assert listening(pid) == [], "nor after it has answered"
        long = "One two three four. " * 60
        async with provider.stream(ChatRequest((System(SYSTEM), User(long)), max_tokens=1)) as parts:
            told = [part async for part in parts if isinstance(part, Progress)]
        assert [part.what for part in told] == ["reading"] * len(told)
        assert len(told) >= 3
        assert [part.done for part in told] == sorted(part.done for part in told)
        assert told[-1].done == told[-1].total


async def test_the_beginning_of_every_prompt_is_short(tmp_path: Path) -> None:
    """At most 250 tokens, counted by the model's own tokenizer, with the marks of its template."""
    async with running(tmp_path) as (_, provider):
        usage = (await ask(provider, "", max_tokens=1)).usage
    assert 20 < usage.prompt <= 250


async def test_a_conversation_whose_beginning_slides_away_is_not_read_again(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, provider):
        turns = [f"Sentence {n} of a story: the river bent to the left and the boat went on." for n in range(10)]

        async def cached(texts: list[str]) -> float:
            said = await ask(provider, "\n".join(texts), max_tokens=1)
            return said.usage.cached / said.usage.prompt

        await cached(turns)
        assert await cached(turns[3:]) > 0.8


async def test_a_stop_while_it_reads_ends_the_process_and_the_next_is_warm(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, provider):
        pid, seen = pid_of(engine), trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, provider, "One two three four. " * 80, seen, Progress)
            await seen.wait()
            os.kill(pid, signal.SIGSTOP)  # it comes to no end of the reading: who waited for one would wait for ever
            nursery.cancel_scope.cancel()
        await until(lambda: not alive(pid))
        await until(lambda: engine.state == "ready", within=120)
        said = await ask(provider, "hi", max_tokens=4)
        assert said.usage.cached > 20
        assert pid_of(engine) != pid


async def test_a_stop_in_the_middle_of_an_answer_leaves_it_ready_for_the_next(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, provider):
        pid, seen = pid_of(engine), trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, provider, "Tell a very long story.", seen, ContentDelta)
            await seen.wait()
            os.kill(pid, signal.SIGSTOP)  # nothing comes from it until nobody waits for its answer any more
            nursery.cancel_scope.cancel()
        os.kill(pid, signal.SIGCONT)
        assert (await ask(provider, "hi", max_tokens=4)).text
        assert pid_of(engine) == pid


async def test_killed_in_the_middle_of_an_answer_it_is_told_and_comes_back(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, provider):

        async def kill_when(seen: trio.Event) -> None:
            await seen.wait()
            os.kill(pid_of(engine), signal.SIGKILL)

        seen, caught = trio.Event(), None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_when, seen)
            try:
                await first(provider, "Tell a very long story.", seen, ContentDelta)
            except ProviderError as error:
                caught = error
        assert caught is not None
        assert (caught.kind, caught.partial) == (ErrorKind.TRANSIENT, True)
        assert (await ask(provider, "hi", max_tokens=4)).text


async def test_a_prompt_longer_than_its_window_is_told_apart(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, provider):
        with pytest.raises(ProviderError) as caught:
            await ask(provider, "word " * 3000)
        assert caught.value.kind is ErrorKind.CONTEXT_FULL
        assert not caught.value.partial


async def test_a_file_cut_short_cannot_be_loaded_and_the_reason_is_llama_cpps(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with weights().open("rb") as file:
        cut.write_bytes(file.read(3_000_000))
    ports = EnginePorts(
        file=lambda _: cut, opening=lambda: "", folder=tmp_path, family="test-model", env=child_environment()
    )
    async with trio.open_nursery() as nursery:
        engine = Engine(Source("cut", "", "cut", adapter="local", path=str(cut)), ports)
        nursery.start_soon(engine.run)
        with pytest.raises(ProviderError, match=r"llama\.cpp cannot load it: .+") as caught:
            await ask(LocalProvider(engine), "hi")
        nursery.cancel_scope.cancel()
    assert "Failed to init server" not in caught.value.message, "llama.cpp's own words, not the wrapper's"


@asynccontextmanager
async def child(folder: Path) -> AsyncIterator[Child]:
    argv = (sys.executable, "-P", "-m", "homed.providers.local.child")
    async with spawn(Command(argv, folder, child_environment()), mark="test-model:x") as started:
        yield started


async def test_it_ends_with_its_stdin_also_while_it_loads(tmp_path: Path) -> None:
    """Loading holds the interpreter; the kernel ends the process then."""
    async with child(tmp_path) as started:
        await started.stdin.send_all(frames.encode("load", path=str(weights()), context=2048, threads=1, batch=64))
        await until(lambda: resident(started.pid) > 60_000_000)
        begun = trio.current_time()
        await started.stdin.aclose()
        ended = await started.wait()
        assert trio.current_time() - begun < 2
        assert ended.signal in (signal.SIGIO, 0)
    async with child(tmp_path) as started:
        await started.stdin.aclose()
        assert (await started.wait()).code == 0


async def test_in_a_folder_open_to_others_it_does_not_load(tmp_path: Path) -> None:
    await trio.Path(tmp_path).chmod(0o755)
    async with child(tmp_path) as started:
        await started.stdin.send_all(frames.encode("load", path=str(weights()), context=2048, threads=1, batch=64))
        line = await started.stdout.receive_some()
        assert b"open to others" in line
        await started.stdin.aclose()
