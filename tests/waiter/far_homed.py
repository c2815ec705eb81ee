"""The page of a homed elsewhere as waiter sees it: a WebSocket that wants a key and speaks the wire, in Trio."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio
import trio_websocket

from homed.errors import NotFound
from homed.wire import rpc

KEY = "hk_" + "k" * 43


@dataclass
class Far:
    """What it was asked, and whom it lets in."""

    port: int = 0
    status: int = 0
    path: str = ""
    authorization: list[str] = field(default_factory=list)
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    answers: dict[str, Callable[[Mapping[str, Any]], object]] = field(default_factory=dict)
    joined: bool = False
    """Several lines in one message."""
    sockets: list[trio_websocket.WebSocketConnection] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, request: trio_websocket.WebSocketRequest) -> None:
        """One client."""
        self.path = request.path
        given = dict(request.headers).get(b"authorization", b"").decode()
        self.authorization.append(given)
        if self.status or given != f"Bearer {KEY}":
            await request.reject(self.status or 401, body=b"no")
            return
        socket = await request.accept()
        self.sockets.append(socket)
        peer = rpc.Peer()
        try:
            while True:
                message = await socket.get_message()
                raw = message.encode() if isinstance(message, str) else message
                assert raw.endswith(b"\n")
                replies = b"".join(self._answer(peer, one) for one in peer.feed(raw))
                if replies:
                    await socket.send_message(replies.decode())
        except trio_websocket.ConnectionClosed:
            return

    def _answer(self, peer: rpc.Peer, message: rpc.Incoming) -> bytes:
        assert isinstance(message, rpc.Request), message
        self.calls.append((message.method, message.params))
        if message.method in self.answers:
            return peer.reply(message.id, self.answers[message.method](message.params))
        known: dict[str, dict[str, Any]] = {
            "hello": {"protocol": 1, "core_version": "0", "peer": "webui:owner"},
            "subscribe": {},
            "chat": {"input": "in", "thread": "th", "state": "running", "duplicate": False, "outcome": None},
            "wait": {"input": "in", "thread": "th", "state": "answered",
                     "outcome": {"state": "answered", "text": "far hello", "error": "", "hint": "", "usage": {}}},
        }  # fmt: skip
        if message.method not in known:
            return peer.error(message.id, NotFound("no"))
        extra = peer.notify("event", {"type": "system", "data": {}}) if self.joined else b""
        return extra + peer.reply(message.id, known[message.method])


@asynccontextmanager
async def far_homed(context: ssl.SSLContext | None = None) -> AsyncIterator[Far]:
    """Listens on a port of this machine."""
    far = Far()
    async with trio.open_nursery() as nursery:
        server = await nursery.start(partial(trio_websocket.serve_websocket, far.serve, "127.0.0.1", 0, context))
        far.port = server.port
        yield far
        nursery.cancel_scope.cancel()
