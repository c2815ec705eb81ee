"""A call over the wire, both ends in Trio, beside a bare line echoed over the same kind of pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import trio
from trio.testing import memory_stream_pair

from benchmarks.figures import Figure, median_ms
from homed.wire.stream import Connection, NoHandler

ROUNDS = 2_000


class _Echo(NoHandler):
    async def request(self, method: str, params: Mapping[str, Any]) -> object:  # noqa: ARG002
        return params


def measure() -> Iterator[Figure]:
    """Median of ``ROUNDS`` sequential round trips each."""
    calls, echoes = trio.run(_both)
    yield Figure("JSON-RPC call and reply, in memory", median_ms(calls), median_ms(echoes), "a bare line and its echo")


async def _both() -> tuple[list[float], list[float]]:
    return await _calls(), await _echoes()


async def _calls() -> list[float]:
    ours, theirs = memory_stream_pair()
    taken = []
    async with trio.open_nursery() as nursery:
        client, server = Connection(ours, ours, NoHandler()), Connection(theirs, theirs, _Echo())
        await nursery.start(client.run)
        await nursery.start(server.run)
        for n in range(ROUNDS):
            start = time.perf_counter()
            await client.request("tool.invoke", {"n": n, "text": "x" * 200})
            taken.append(time.perf_counter() - start)
        nursery.cancel_scope.cancel()
    return taken


async def _echoes() -> list[float]:
    ours, theirs = memory_stream_pair()
    line, taken = b"x" * 280 + b"\n", []

    async def echo() -> None:
        async for data in theirs:
            await theirs.send_all(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(echo)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            await ours.send_all(line)
            await ours.receive_some()
            taken.append(time.perf_counter() - start)
        nursery.cancel_scope.cancel()
    return taken
