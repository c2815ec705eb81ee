"""The connection to the daemon: a Unix socket, JSON-RPC lines, blocking.

Standard library and the sans-io peer only: a question from a shell must not pay for importing an event loop.
"""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from homed.errors import ProtocolError, TimedOut, Unavailable
from homed.wire import rpc
from homed.wire.blocking import connect
from homed.wire.version import CORE, PROTOCOL

from .endpoint import Places, there

CALL_SECONDS = 20.0
_READ = 1 << 16


class Lost(Unavailable):
    """The connection went away; dialling again may help."""


class Link:
    """One connection.  ``inbox`` holds notifications that came while a reply was awaited."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._peer = rpc.Peer()
        self.inbox: deque[rpc.Incoming] = deque()

    def fileno(self) -> int:
        """For ``select``."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def send(self, method: str, params: Mapping[str, object]) -> int:
        """Send a request and return its id; the reply comes through ``receive``."""
        id_, line = self._peer.request(method, params)
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise Lost("The connection to homed ended.") from error
        return id_

    def receive(self) -> list[rpc.Incoming]:
        """What has come; blocks until something has.  Raises Lost at the end of the connection."""
        if self.inbox:
            waiting = list(self.inbox)
            self.inbox.clear()
            return waiting
        try:
            data = self._socket.recv(_READ)
        except OSError as error:
            raise Lost("The connection to homed ended.") from error
        if not data:
            raise Lost("The connection to homed ended.")
        return self._peer.feed(data)

    def call(self, method: str, params: Mapping[str, object], *, timeout: float = CALL_SECONDS) -> dict[str, Any]:
        """Send a request and wait for its reply; what else comes goes to ``inbox``.  Raises what homed answered."""
        id_ = self.send(method, params)
        deadline = time.monotonic() + timeout
        kept = list(self.inbox)
        self.inbox.clear()
        answer: rpc.Response | None = None
        while answer is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                raise TimedOut(f"homed did not answer {method} within {timeout:g} s.", hint="See `homed status`.")
            for message in self.receive():
                if isinstance(message, rpc.Response) and message.id == id_:
                    answer = message
                else:
                    kept.append(message)
        self.inbox.extend(kept)
        return result(answer)


def result(response: rpc.Response) -> dict[str, Any]:
    """The result of a reply, or its error raised."""
    if response.error is not None:
        raise response.error.as_error()
    if not isinstance(response.result, dict):
        raise ProtocolError("homed answered with something that is no object.")
    return response.result


def dial(where: Places) -> Link:
    """Connect to the first place that answers.  Raises Unavailable saying what to do when none does."""
    problem = ""
    for path in where.paths:
        if not where.named and not there(path):
            continue
        try:
            return greet(connect(path))
        except OSError as error:
            problem = problem or f"{path}: {error.strerror or error}"
    looked = ", ".join(map(str, where.paths))
    raise Unavailable(
        f"homed does not answer ({problem})." if problem else f"homed is not running (no socket at {looked}).",
        hint="Start it with `homed`, or name its socket with --socket or its folder with --data.",
    )


def greet(sock: socket.socket) -> Link:
    """A link over a connected socket.  Raises ProtocolError when homed speaks another protocol."""
    link = Link(sock)
    try:
        answer = link.call("hello", {"client": f"waiter/{CORE}", "protocol": PROTOCOL})
    except BaseException:
        link.close()
        raise
    if answer.get("protocol") != PROTOCOL:
        link.close()
        raise ProtocolError(
            f"homed speaks protocol {answer.get('protocol')}, this waiter {PROTOCOL}.",
            hint="Install the same version of both.",
        )
    return link


def retry_waits() -> itertools.chain[float]:
    """Seconds between attempts to dial again: quick at first, then every second."""
    return itertools.chain((0.05, 0.1, 0.2, 0.4), itertools.repeat(1.0))
