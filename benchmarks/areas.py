"""8 MiB from a plugin's process to the kernel's: by the arena, beside the bare copy and beside JSON; and small calls.

Everything in one run, turn and turn about, over real processes and pipes.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from benchmarks.figures import Figure, median_ms
from homed.host.host import Host
from homed.wire.stream import Connection, NoHandler
from tests.kit.bulk import bulk
from tests.kit.hosting import hosting

SIZE = 8 << 20
ROUNDS = 30
CALLS = 1_500
_PEERS = Path(__file__).with_name("areas_peer.py")


def measure() -> Iterator[Figure]:
    """Medians.  The goals: at most twice the kept mapping, at least 20 times faster than JSON; calls at most 1.3 times
    the bare pair and 3 times the raw pipe."""
    yield from trio.run(_bulk)
    yield from trio.run(_calls)


async def _bulk() -> list[Figure]:
    async with _host() as host, _peer("copy") as copied:
        arena, kept = _samples(await _turns(ROUNDS, lambda: _call(host, "mule_large", {}), copied))
    # Apart: what JSON leaves of the allocator makes the very next copy slow, whichever it is.
    async with _host() as host, _peer("json") as jsoned:
        again, base64 = _samples(await _turns(ROUNDS // 2, lambda: _call(host, "mule_large", {}), jsoned))
    return [
        Figure("8 MiB result through the arena", arena, kept, "a copy through a mapping that is kept (goal 2)"),
        Figure("8 MiB result as base64 JSON in a line", base64, again, "the arena in turns with it (goal: 20 up)"),
        Figure("the same, neither disturbed by the other", base64, arena, "the arena by itself (goal: 20 up)"),
    ]


async def _calls() -> list[Figure]:
    async with _host() as host, _peer("ndjson") as pair, _peer("raw") as raw:
        tool, bare, pipe = _samples(
            await _turns(CALLS, lambda: _call(host, "mule_echo", {"value": "x" * 200}), pair, raw)
        )
    return [
        Figure("tool call and result, host and SDK", tool, bare, "the bare NDJSON pair in Trio (goal 1.3)"),
        Figure("tool call and result, host and SDK", tool, pipe, "a line echoed over a pipe in Trio (goal 3)"),
    ]


def _samples(taken: list[list[float]]) -> list[float]:
    return [median_ms(samples) for samples in taken]


async def _turns(rounds: int, *ways: Callable[[], Awaitable[object]]) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, samples in zip(ways, taken, strict=True):
            start = time.perf_counter()
            await way()
            samples.append(time.perf_counter() - start)
    return [samples[len(samples) // 10 :] for samples in taken]  # the first ones make pages and fill caches


async def _call(host: Host, tool: str, args: dict[str, object]) -> None:
    params = {"tool": tool, "args": args, "call": "t", "timeout": 60, "context": {}}
    result = await host.call("mule", "tool.invoke", params, timeout=60)
    assert isinstance(result, dict)
    assert not result["is_error"]


@asynccontextmanager
async def _host() -> AsyncIterator[Host]:
    with tempfile.TemporaryDirectory() as folder:
        async with hosting(Path(folder), bulk("mule")) as host:
            await host.wait_ready("mule")
            yield host


@asynccontextmanager
async def _peer(way: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """A bare process on the other side of two pipes, and what asks it once."""
    memory = os.memfd_create("peer")
    os.ftruncate(memory, SIZE)
    with mmap.mmap(memory, SIZE) as mapping:
        argv = [sys.executable, str(_PEERS), way, str(memory)]
        process = await trio.lowlevel.open_process(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(memory,)
        )
        os.close(memory)
        assert process.stdin is not None
        assert process.stdout is not None
        async with trio.open_nursery() as nursery:
            yield await _asking(way, process.stdin, process.stdout, mapping, nursery)
            nursery.cancel_scope.cancel()
        process.kill()
        await process.wait()


async def _asking(
    way: str, to: trio.abc.SendStream, back: trio.abc.ReceiveStream, mapping: mmap.mmap, nursery: trio.Nursery
) -> Callable[[], Awaitable[object]]:
    line = b"x" * 330 + b"\n"

    async def copy() -> object:
        await to.send_all(b"?")
        await back.receive_some(1)
        return bytes(memoryview(mapping)[:])

    async def raw() -> object:
        await to.send_all(line)
        got = 0
        while got < len(line):
            got += len(await back.receive_some(65536))
        return got

    async def json_line() -> object:
        import base64
        import json

        await to.send_all(b"?\n")
        data = bytearray()
        while not data.endswith(b"\n"):
            data += await back.receive_some(1 << 20)
        return base64.b64decode(json.loads(data)["result"])

    if way == "ndjson":
        connection = Connection(back, to, NoHandler())
        await nursery.start(connection.run)
        params = {"tool": "mule_echo", "args": {"value": "x" * 200}, "call": "t", "timeout": 60, "context": {}}
        return lambda: connection.request("tool.invoke", params)
    return {"copy": copy, "raw": raw, "json": json_line}[way]
