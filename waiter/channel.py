"""The way to a homed, wherever it is: a stream of bytes for the length of a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from homed.errors import Unavailable
from homed.wire.blocking import connect

from .endpoint import Places, Target, there

UNIX_SECONDS = 5.0
"""A socket whose queue is full answers nobody."""


@asynccontextmanager
async def opened(target: Target) -> AsyncIterator[trio.abc.Stream]:
    """Raises Unavailable, or Denied and InvalidInput where trying again would not help."""
    if target.url:
        from .remote import connected  # who stays on this machine does not pay for importing it

        async with connected(target) as stream:
            yield stream
        return
    assert target.places is not None
    async with await _unix(target.places) as stream:
        yield stream


async def _unix(where: Places) -> trio.SocketStream:
    problem = ""
    for path in where.paths:
        if not where.named and not there(path):
            continue
        try:
            sock = await trio.to_thread.run_sync(partial(connect, path, timeout=UNIX_SECONDS))
        except OSError as error:
            problem = problem or f"{path}: {error.strerror or error}"
            continue
        return trio.SocketStream(trio.socket.from_stdlib_socket(sock))
    looked = ", ".join(map(str, where.paths))
    raise Unavailable(
        f"homed does not answer ({problem})." if problem else f"homed is not running (no socket at {looked}).",
        hint="Start it with `homed`, or name its socket with --socket or its folder with --data.",
    )
