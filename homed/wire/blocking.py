"""The blocking driver of the JSON-RPC peer over a Unix socket: for commands that ask one thing and leave.

Standard library only, so that a one-shot command does not pay for importing Trio.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from homed.errors import HomedError, ProtocolError, TimedOut, Unavailable
from homed.wire import rpc

_READ_SIZE = 1 << 16
_PATH_BYTES = 100
"""A socket address holds 107 bytes; a longer path is reached through its folder's descriptor."""


def connect(path: Path, *, timeout: float | None = None) -> socket.socket:
    """A stream to the Unix socket at ``path``, however long that is; ``timeout`` in seconds.  Raises ``OSError``."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        sock.settimeout(timeout)
        if len(os.fsencode(path)) <= _PATH_BYTES:
            sock.connect(str(path))
            return sock
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sock.connect(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
        return sock
    except BaseException:
        sock.close()
        raise


class BlockingClient:
    """A conversation over one Unix socket, one call at a time.  Use it as a context manager."""

    def __init__(self, path: Path, *, timeout: float = 10.0) -> None:
        """Connect.  Raises ``Unavailable`` when nobody listens at ``path``."""
        self._peer = rpc.Peer()
        try:
            self._socket = connect(path, timeout=timeout)
        except OSError as error:
            raise Unavailable(f"Nobody answers at {path}: {error.strerror or error}.") from error

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def call(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        *,
        on_notice: Callable[[str, Mapping[str, Any]], None] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The result of one call; notifications that come meanwhile go to ``on_notice``.

        ``timeout`` is seconds without a word from the other side; None waits as long as it takes.  Raises the error
        that was answered, ``Unavailable`` when the other side goes, ``TimedOut``, ``ProtocolError``.
        """
        id_, line = self._peer.request(method, params or {})
        self._socket.settimeout(timeout)
        try:
            self._socket.sendall(line)
            while True:
                for message in self._receive(method):
                    if isinstance(message, rpc.Response) and message.id == id_:
                        if message.error is not None:
                            raise message.error.as_error()
                        return message.result
                    self._other(message, on_notice)
        except TimeoutError as error:
            raise TimedOut(f"{method} was not answered within {timeout:g} s; it may still be running.") from error
        except OSError as error:
            raise Unavailable(f"The connection ended before {method} was answered.") from error

    def _receive(self, method: str) -> list[rpc.Incoming]:
        data = self._socket.recv(_READ_SIZE)
        if not data:
            raise Unavailable(f"The connection ended before {method} was answered.")
        return self._peer.feed(data)

    def _other(self, message: rpc.Incoming, on_notice: Callable[[str, Mapping[str, Any]], None] | None) -> None:
        if isinstance(message, rpc.Notification) and on_notice is not None:
            on_notice(message.method, message.params)
        elif isinstance(message, rpc.Broken):
            raise ProtocolError(f"What came back is no answer: {message.reason}.")
        elif isinstance(message, rpc.Request):
            self._socket.sendall(self._peer.error(message.id, HomedError("This client takes no calls.")))
