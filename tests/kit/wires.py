"""Both ends of a conversation in memory, one of them saying exactly what a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from homed.wire.rpc import Peer
from homed.wire.stream import Connection, Limits, NoHandler

LIMITS = Limits()


@dataclass
class Far:
    """A far side that answers with functions by method and notes what it is told."""

    answers: dict[str, Callable[[Mapping[str, Any]], Awaitable[object]]] = field(default_factory=dict)
    heard: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        return await self.answers[method](params)

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append((method, params))


@asynccontextmanager
async def running(*ends: Connection, within: float = 30) -> AsyncIterator[trio.Nursery]:
    """These ends run; what waits in vain for one of them fails after ``within`` seconds instead of hanging."""
    with trio.fail_after(within):
        async with trio.open_nursery() as nursery:
            for end in ends:
                await nursery.start(end.run)
            yield nursery
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def connected(far: Far) -> AsyncIterator[tuple[Connection, Connection]]:
    """Our end and the far end of one conversation."""
    a, b = trio.testing.memory_stream_pair()
    ours, theirs = Connection(a, a, NoHandler()), Connection(b, b, far)
    async with running(ours, theirs):
        yield ours, theirs


class Raw:
    """A far side that says exactly what the test says, and no more."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.peer = Peer()
        self.got: list[Any] = []

    async def next(self) -> Any:
        while not self.got:
            self.got += self.peer.feed(bytes(await self.stream.receive_some()))
        return self.got.pop(0)


@asynccontextmanager
async def raw(
    handler: Far | None = None,
    *,
    limits: Limits = LIMITS,
    on_broken: Callable[[str], None] | None = None,
    on_unanswered: Callable[[str], None] | None = None,
    within: float = 30,
) -> AsyncIterator[tuple[Connection, Raw]]:
    a, b = trio.testing.memory_stream_pair()
    ours = Connection(a, a, handler or NoHandler(), limits=limits, on_broken=on_broken, on_unanswered=on_unanswered)
    async with running(ours, within=within):
        yield ours, Raw(b)


def shut(stream: trio.StapledStream[Any, Any]) -> trio.Event:
    """Let nothing out of this stream until the event is set: a far side that reads nothing yet."""
    gate, deliver = trio.Event(), stream.send_stream.send_all_hook

    async def wait() -> None:
        await gate.wait()
        await deliver()

    stream.send_stream.send_all_hook = wait
    return gate


async def echo(params: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return params


async def forever(params: Mapping[str, Any]) -> object:
    await trio.sleep_forever()
