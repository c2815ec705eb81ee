"""What an adapter script costs beside the native adapter of the same wire: a request, a long one, a token.

Tokens over a socket are those of a source that is faster than both: what comes while the script works is one batch.
"""

from __future__ import annotations

import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import trio

from benchmarks.figures import Figure
from homed.config.environment import child_environment
from homed.net import open_http
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


@contextmanager
def _server(frames: list[bytes]) -> Iterator[str]:
    """A server in a thread that sends each frame by itself, as fast as it can; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _read(client)
                client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
                for frame in frames:
                    client.sendall(frame)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        over.set()
        thread.join()
        listener.close()


def _read(client: socket.socket) -> None:
    """One request, to its end."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += client.recv(1 << 16)


def measure() -> Iterator[Figure]:
    """For each wire: the script beside the native adapter, in turns, in one run."""
    yield from trio.run(_all)


async def _all() -> list[Figure]:
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_http() as client, trio.open_nursery() as nursery:
            ports = LuaPorts(Path(folder) / "adapters", Path(folder) / "run", child_environment(), "bench")
            scripts = Scripts(ports, nursery.start_soon)
            for wire in WIRES:
                found += await _wire(wire, scripts, client)
            nursery.cancel_scope.cancel()
    return found


async def _wire(wire: str, scripts: Scripts, client: httpx2.AsyncClient) -> list[Figure]:
    short, long = ChatRequest((User("hi"),)), ChatRequest(_history(), _tools())
    figures = []
    for name, request, tokens in (
        ("a short request and answer", short, 1), ("a request of 100 KB and a short answer", long, 1),
        (f"a token, {TOKENS} of them as fast as may be", short, TOKENS),
    ):  # fmt: skip
        with _server(_frames(wire, tokens)) as url:
            ports = HttpPorts(client, lambda: "k")
            plain = HttpProvider(Source("bench", url, "m", adapter=wire), native(wire), ports)
            script = scripts.provider(Source("bench", url, "m", adapter=f"lua:{wire}"), ports)
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
