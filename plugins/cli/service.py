"""What a client of the socket may ask, and how it becomes a call of the kernel with that client's peer filled in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

import trio

from homed.errors import Denied, HomedError, NotFound, ProtocolError, Unavailable
from homed.wire.methods import ADMIN, IO, TO_KERNEL
from homed.wire.stream import Connection, Limits, unknown_method
from homed.wire.version import CORE, PROTOCOL

from .feed import Feed
from .peers import OWNER, peer_of, uid_of

SHORT = {
    "chat": "io.inject",
    "wait": "io.wait",
    "stop": "io.stop",
    "threads": "io.threads",
    "history": "io.history",
    "approvals": "io.approvals",
    "approve": "io.approve",
}
"""Names on the socket → methods of the kernel."""

PASSED = frozenset(method for method, capability in TO_KERNEL.items() if capability in (ADMIN, IO))
"""Methods of the kernel that may be asked for by their own name."""

HIDDEN = frozenset({"peer", "call"})
"""Parameters no client can set: who it is, and on whose behalf."""

CLIENTS = 64
"""Connections at once; one more is hung up on."""

LIMITS = Limits(in_flight=32)
"""Calls of one client at once: a few questions beside the messages it waits for."""

log = logging.getLogger(__name__)


class Kernel(Protocol):
    """The part of ``sdk.Kernel`` that is used here."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call the kernel."""


class Client:
    """One connected client: answers its calls and feeds it the notices it may see."""

    def __init__(self, kernel: Kernel, peer: str) -> None:
        self._kernel = kernel
        self._peer = peer
        self._subscribed = trio.Event()
        self._feed = Feed(self._visible, owner=peer == OWNER)

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer a call.  Raises what the kernel answers, NotFound for an unknown method."""
        if method == "hello":
            return {"protocol": PROTOCOL, "core_version": CORE, "peer": self._peer}
        if method == "subscribe":
            self._subscribed.set()
            return {}
        target = SHORT.get(method, method)
        if target not in PASSED:
            raise unknown_method(method)
        answer = await self._ask(target, params)
        if target == "io.inject" and isinstance(answer, Mapping):
            self._feed.may_see(str(answer.get("thread", "")))
        return answer

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Clients have nothing to notify of."""

    def offer(self, notice: Mapping[str, Any]) -> None:
        """Queue a notice for it if it subscribed; never waits."""
        if self._subscribed.is_set():
            self._feed.offer(notice)

    def lose(self, count: int) -> None:
        """Count notices that never came here."""
        if self._subscribed.is_set():
            self._feed.lose(count)

    async def converse(self, stream: trio.abc.Stream) -> None:
        """Serve until the client goes.  Cancelled, calls in progress are cancelled in the kernel too."""
        connection = Connection(stream, stream, self, limits=LIMITS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._feed_once_subscribed, connection)
            try:
                await connection.run()
            except ProtocolError as error:
                log.warning("a client of %s was hung up on: %s", self._peer, error.message)
            nursery.cancel_scope.cancel()

    async def _feed_once_subscribed(self, connection: Connection) -> None:
        await self._subscribed.wait()
        with suppress(Unavailable):  # it went away
            await self._feed.run(connection.notify)

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        kept = {key: value for key, value in params.items() if key not in HIDDEN}
        return await self._kernel.call(method, {**kept, "peer": self._peer})

    async def _visible(self, thread: str) -> bool | None:
        try:
            await self._ask("io.history", {"thread": thread, "limit": 1})
        except (NotFound, Denied):
            return False
        except HomedError as error:
            log.warning("whether %s sees %s is not known: %s", self._peer, thread, error.message)
            return None
        return True


class Service:
    """Everybody who is connected."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._clients: set[Client] = set()

    async def serve(self, listener: trio.SocketListener) -> None:
        """Serve clients for ever."""
        await trio.serve_listeners(self._serve_one, [listener])

    def offer(self, notice: Mapping[str, Any]) -> None:
        """Hand a notice to every client; never waits for one."""
        for client in self._clients:
            client.offer(notice)

    def lose(self, count: int) -> None:
        """Tell every client that ``count`` notices were lost on the way here."""
        for client in self._clients:
            client.lose(count)

    async def _serve_one(self, stream: trio.SocketStream) -> None:
        if len(self._clients) >= CLIENTS:
            log.warning("more than %d clients; one was hung up on", CLIENTS)
            return
        client = Client(self._kernel, peer_of(uid_of(stream.socket)))
        self._clients.add(client)
        try:
            await client.converse(stream)
        finally:
            self._clients.discard(client)
