"""The bytes of a request, taken as they come: no route holds more than it may, and none waits for ever.

Quart's own body grows as fast as the network brings it.  This one makes the connection wait while enough lies here, and
once a request is answered it lets the rest go by, so that the server's queue never stands still.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio
from quart.wrappers import Request
from quart_trio.asgi import TrioASGIHTTPConnection
from quart_trio.wrappers.request import TrioBody, TrioRequest
from werkzeug.exceptions import RequestEntityTooLarge, RequestTimeout

if TYPE_CHECKING:
    from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable

MAX_BODY = 512 * 1024
"""Bytes of a request's body; a message fits with room to spare, and a line of the wire holds 1 MiB."""
HIGH_WATER = 256 * 1024
"""Bytes that wait here before the connection stops reading: a few reads ahead of whoever takes them."""
WHOLE_SECONDS = 30.0
"""A whole body has to be there by then: 17 kB/s for the longest."""
PIECE_SECONDS = 20.0
"""The next piece of a stream has to be there by then."""
CLOSING_SECONDS = 2.0
"""How long the end of an answer, and the closing of a line that ends with it, may take."""
LINGER_SECONDS = 2.0
"""How long the rest of a refused body is let go by, so that its sender reads the answer before the line ends."""


class Body(TrioBody):
    """A request's body.  Read it once: `whole`, or `pieces`."""

    def __init__(self, expected_content_length: int | None, max_content_length: int | None) -> None:  # noqa: ARG002
        super().__init__(None, None)  # the limit is the route's, and checked here
        self.declared = expected_content_length
        self._room = trio.Event()
        self._dropped = False

    @property
    def ended(self) -> bool:
        """Whether all of it has come."""
        return self._complete.is_set()

    async def put(self, data: bytes) -> None:
        """The connection brings more; waits while enough is here."""
        if self._dropped:
            return
        self.append(data)
        while len(self._data) >= HIGH_WATER and not self._dropped:
            self._room = trio.Event()
            await self._room.wait()

    def drop(self) -> None:
        """Nobody will read the rest."""
        self._dropped = True
        self._data.clear()
        self._room.set()

    async def wait_ended(self) -> None:
        """Until all of it has come."""
        await self._complete.wait()

    async def pieces(self, limit: int, *, patience: float = PIECE_SECONDS) -> AsyncIterator[bytes]:
        """What comes, as it comes.  Raises RequestEntityTooLarge beyond ``limit`` bytes, RequestTimeout."""
        if self.declared is not None and self.declared > limit:
            raise RequestEntityTooLarge
        total = 0
        while True:
            try:
                with trio.fail_after(patience):
                    piece = await anext(self)
            except StopAsyncIteration:
                return
            except trio.TooSlowError:
                raise RequestTimeout from None
            self._room.set()
            total += len(piece)
            if total > limit:
                raise RequestEntityTooLarge
            if piece:
                yield piece

    async def whole(self, limit: int, *, patience: float = WHOLE_SECONDS) -> bytes:
        """All of it.  Raises RequestEntityTooLarge beyond ``limit`` bytes, RequestTimeout beyond ``patience``."""
        got = bytearray()
        try:
            with trio.fail_after(patience):
                async for piece in self.pieces(limit, patience=patience):
                    got += piece
        except trio.TooSlowError:
            raise RequestTimeout from None
        return bytes(got)


class BoundedRequest(TrioRequest):
    """A request whose body is a `Body`."""

    body_class = Body
    body: Body

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.at_end: list[Callable[[], Awaitable[None]]] = []
        """What is to be done however this request ends; each has `CLOSING_SECONDS`, shielded."""


class BoundedConnection(TrioASGIHTTPConnection):
    """One request and its answer."""

    async def handle_messages(  # type: ignore[override]
        self, nursery: trio.Nursery, request: Request, receive: ASGIReceiveCallable
    ) -> None:
        """Bring the body as it comes, until the other side hangs up."""
        body = request.body
        assert isinstance(body, Body)
        while (message := await receive())["type"] != "http.disconnect":
            if message["type"] == "http.request":
                await body.put(message.get("body", b""))
                if not message.get("more_body", False):
                    body.set_complete()
        nursery.cancel_scope.cancel()

    async def handle_request(  # type: ignore[override]
        self, nursery: trio.Nursery, request: Request, send: ASGISendCallable
    ) -> None:
        """Answer; a body that nobody read goes by first, for a moment."""
        body = request.body
        assert isinstance(body, Body)

        async def sending(message: object) -> None:
            if not isinstance(message, dict) or message.get("more_body") is not False:
                await send(message)  # type: ignore[arg-type]
                return
            if not body.ended:
                with trio.move_on_after(LINGER_SECONDS):
                    await body.wait_ended()
            # the server says "disconnect" while it closes the line in here, and that would cancel its closing
            with trio.move_on_after(CLOSING_SECONDS, shield=True):
                await send(message)  # type: ignore[arg-type]

        try:
            await self._answer(request, body, sending)
        finally:
            assert isinstance(request, BoundedRequest)
            for end in request.at_end:
                with trio.move_on_after(CLOSING_SECONDS, shield=True):
                    await end()
        nursery.cancel_scope.cancel()

    async def _answer(self, request: Request, body: Body, sending: Callable[[object], Awaitable[None]]) -> None:
        response = await self.app.handle_request(request)
        body.drop()
        timeout = getattr(response, "timeout", ...)
        if timeout is ...:
            timeout = self.app.config["RESPONSE_TIMEOUT"]
        with trio.move_on_after(float("inf") if timeout is None else float(timeout)):
            await self._send_response(sending, response)
