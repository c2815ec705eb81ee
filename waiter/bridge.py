"""A blocking `Link` to a homed elsewhere: a thread of its own carries the lines between a socket pair and the page.

So that ``-chat`` and line mode, which must not import an event loop for the homed on this machine, work with any.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
from functools import partial

import trio

from homed.errors import HomedError
from homed.wire.stream import homed_error

from .channel import opened
from .endpoint import Target
from .link import Link, greet

log = logging.getLogger(__name__)


def dial_remote(target: Target) -> Link:
    """Connect.  Raises what `remote.connected` raises, and what the greeting does."""
    near, far = socket.socketpair()
    ready: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
    threading.Thread(target=_carry, args=(target, far, ready), daemon=True, name="waiter-remote").start()
    problem = ready.get()
    if problem is not None:
        near.close()
        raise problem
    return greet(near)


def _carry(target: Target, far: socket.socket, ready: queue.SimpleQueue[Exception | None]) -> None:
    """Runs until either side hangs up; what went wrong at the start is told through ``ready``."""
    try:
        trio.run(_run, target, far, ready)
    except Exception as error:
        log.debug("the connection failed", exc_info=True)
        ready.put(homed_error(error) or HomedError(f"The connection failed: {type(error).__name__}."))
    finally:
        far.close()


async def _run(target: Target, far: socket.socket, ready: queue.SimpleQueue[Exception | None]) -> None:
    async with opened(target) as stream, trio.SocketStream(trio.socket.from_stdlib_socket(far)) as local:
        ready.put(None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(_pump, local, stream, nursery.cancel_scope, lines=True))
            nursery.start_soon(partial(_pump, stream, local, nursery.cancel_scope, lines=False))


async def _pump(
    source: trio.abc.ReceiveStream, sink: trio.abc.SendStream, scope: trio.CancelScope, *, lines: bool
) -> None:
    """Carry one way until its end; ``lines``: whole lines only, since they become messages."""
    held = b""
    try:
        async for data in source:
            whole, held = _whole(held + data) if lines else (bytes(data), b"")
            if whole:
                await sink.send_all(whole)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        scope.cancel()
    scope.cancel()


def _whole(data: bytes) -> tuple[bytes, bytes]:
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]
