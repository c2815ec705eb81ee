"""What an adapter script costs beside the native adapter of the same wire: a request, a long one, a token."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import trio

from benchmarks.figures import Figure
from homed.config.environment import child_environment
from homed.providers.adapters import native
from homed.providers.base import Assistant, ChatRequest, Message, Source, ToolCall, ToolResult, ToolSpec, User
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.lua.scripts import LuaPorts, Scripts
from tests.kit.fake_script import Reply
from tests.kit.fake_server import wire_named
from tests.kit.fake_wire import Exchange, Prompt

ROUNDS = 15
TOKENS = 500
WIRES = ("openai", "anthropic", "gemini", "ollama")


class _Instant(httpx2.AsyncBaseTransport):
    """Answers at once, each frame a chunk of its own: a token a chunk is the worst there is."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    async def handle_async_request(self, _: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=_Body(self._frames))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for frame in self._frames:
            await trio.lowlevel.checkpoint()
            yield frame

    async def aclose(self) -> None:
        pass


def measure() -> Iterator[Figure]:
    """For each wire: the script beside the native adapter, in turns, in one run."""
    yield from trio.run(_all)


async def _all() -> list[Figure]:
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        async with trio.open_nursery() as nursery:
            ports = LuaPorts(Path(folder) / "adapters", Path(folder) / "run", child_environment(), "bench")
            scripts = Scripts(ports, nursery.start_soon)
            for wire in WIRES:
                found += await _wire(wire, scripts)
            nursery.cancel_scope.cancel()
    return found


async def _wire(wire: str, scripts: Scripts) -> list[Figure]:
    short, long = ChatRequest((User("hi"),)), ChatRequest(_history(), _tools())
    figures = []
    for name, request, tokens in (
        ("a short request and answer", short, 1), ("a request of 100 KB and a short answer", long, 1),
        (f"a token, {TOKENS} of them a chunk each", short, TOKENS),
    ):  # fmt: skip
        transport = _Instant(_frames(wire, tokens))
        async with httpx2.AsyncClient(transport=transport) as client:
            source = Source("bench", "http://x/v1", "m", adapter=wire)
            ports = HttpPorts(client, lambda: "k")
            plain = HttpProvider(source, native(wire), ports)
            script = scripts.provider(Source("bench", "http://x/v1", "m", adapter=f"lua:{wire}"), ports)
            await _asked(script, request)  # it is started and loaded
            pairs = [(await _asked(plain, request), await _asked(script, request)) for _ in range(ROUNDS)]
        a, b = (statistics.median(column) * 1000 / tokens for column in zip(*pairs, strict=True))
        figures.append(Figure(f"lua:{wire}: {name}", b, a, "the native adapter"))
    return figures


async def _asked(provider: HttpProvider, request: ChatRequest) -> float:
    begun = time.perf_counter()
    async with provider.stream(request) as parts:
        async for _ in parts:
            pass
    return time.perf_counter() - begun


def _frames(wire: str, tokens: int) -> list[bytes]:
    made = wire_named(wire)
    reply = Reply(say="word" * tokens, chunk=4)
    exchange = Exchange(reply, {"model": "m", "stream": True}, 1, Prompt(20), made.contract(), query={"alt": "sse"})
    return list(made.frames(exchange))


def _history() -> tuple[Message, ...]:
    messages: list[Message] = []
    for n in range(100):
        call = ToolCall(f"call_{n}", "look", {"at": "a place", "n": n})
        messages += [
            User(f"question {n} " * 20), Assistant("", (call,)), ToolResult(call.id, "look", "what was seen " * 25),
            Assistant("an answer of some length " * 10),
        ]  # fmt: skip
    return tuple(messages)


def _tools() -> tuple[ToolSpec, ...]:
    schema = {"type": "object", "properties": {"at": {"type": "string", "description": "Where."}}, "required": ["at"]}
    return tuple(ToolSpec(f"tool_{n}", "Does something with a place. " * 5, schema) for n in range(30))
