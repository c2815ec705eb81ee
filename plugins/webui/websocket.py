"""The terminal socket's JSON-RPC lines over a WebSocket: for a terminal on another machine.

A message holds one or more whole lines.  What a client may ask, what it hears and what a key's scopes let pass is the
SDK's (`homed.sdk.clients`); here are the line itself, its pace, and a look now and then at whether its person still is
who they were.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio
from quart import Response, websocket

from homed.errors import Denied, HomedError
from homed.sdk.clients import Clients, Person
from homed.wire.version import MAX_LINE

from .context import Site, Who, problem, who

PACE, BURST = 20.0, 100.0
"""Messages a second that a client is read at, and how many it may be ahead: an upload of 20 MiB is 54."""
RECHECK = 30.0
"""Seconds between two looks at the session or key of an open line."""
PING = 20.0
"""Seconds between two pings; a line whose other end takes nothing for as long again is given up by the socket."""
LARGEST = MAX_LINE
"""Bytes of one message; a longer one ends the line (close code 1009)."""
POLICY = 1008
"""The close code for who may no more, or says what is no message."""

log = logging.getLogger(__name__)


class Line(trio.abc.Stream):
    """A WebSocket as a stream of bytes, for `homed.wire.stream`."""

    def __init__(
        self, receive: Callable[[], Awaitable[str | bytes]], send: Callable[[str], Awaitable[None]], pace: float = PACE
    ) -> None:
        self._receive, self._send, self._pace = receive, send, pace
        self._left, self._at = BURST, 0.0
        self._rest = b""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """The next bytes; a message that does not end its line is ended here.  Reads no faster than the pace."""
        while not self._rest:
            await self._wait_turn()
            message = await self._receive()
            data = message.encode("utf-8", "replace") if isinstance(message, str) else bytes(message)
            self._rest = data if not data or data.endswith(b"\n") else data + b"\n"
        size = len(self._rest) if max_bytes is None else max_bytes
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """One message."""
        await self._send(bytes(data).decode("utf-8", "replace"))

    async def wait_send_all_might_not_block(self) -> None:
        """Known only by trying."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """The server closes it when the route ends."""
        await trio.lowlevel.checkpoint()

    async def _wait_turn(self) -> None:
        now = trio.current_time()
        self._left = min(BURST, self._left + (now - self._at) * self._pace)
        self._at = now
        if self._left < 1:
            await trio.sleep((1 - self._left) / self._pace)
        self._left -= 1


class SocketApi:
    """``socket``; holds everybody who is connected, and hands them the notices."""

    def __init__(self, site: Site, clients: Clients) -> None:
        self._site = site
        self._clients = clients

    async def upgrade(self) -> Response:
        """A plain request where a WebSocket belongs."""
        await trio.lowlevel.checkpoint()
        response = problem(426, "invalid", "This is a WebSocket.", "Ask with Upgrade: websocket.")
        response.headers["Upgrade"] = "websocket"
        return response

    async def serve(self) -> None:
        """Serve one client until it goes (Quart cancels this then), or its person may no more."""
        person = who()
        known = Person(person.peer, owner=person.hears_daemon, scopes=person.scopes)
        with self._clients.join(known) as client:  # raises where there are too many, while it can still be answered
            await websocket.accept()
            line = Line(websocket.receive, websocket.send)
            async with trio.open_nursery() as nursery:

                async def conversing() -> None:
                    await client.converse(line)  # ends where a client writes nonsense only
                    nursery.cancel_scope.cancel()

                nursery.start_soon(conversing)
                await self._until_denied(person)
                nursery.cancel_scope.cancel()
        await websocket.close(POLICY)

    async def _until_denied(self, person: Who) -> None:
        """Until the session is over or the key is removed."""
        while True:
            await trio.sleep(RECHECK)
            try:
                await self._site.known(person.session, person.key)
            except Denied:
                return
            except HomedError as error:
                log.warning("whether %s may still be connected is not known: %s", person.account, error.message)
