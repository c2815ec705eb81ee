"""The application on a real socket, for what no test client shows: bodies that trickle, WebSockets, TLS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import trio

from homed.sdk.clients import Clients
from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.limits import Limits
from plugins.webui.listen import Address, Certificate, open_socket
from plugins.webui.server import serve_until_cancelled
from plugins.webui.web import create_app

from .standin import StandIn


class Served:
    """A page at work: ``port``, its kernel, and the clients of its WebSocket."""

    def __init__(self, site: Site, kernel: StandIn, clients: Clients, port: int) -> None:
        self.site, self.kernel, self.clients, self.port = site, kernel, clients, port

    @property
    def cookie(self) -> str:
        return f"{self.site.cookie}=session-1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    async def send_head(self, stream: trio.abc.SendStream, line: str, **headers: str) -> None:
        """The head of a request of somebody who is logged in.  Header names with ``_`` for ``-``."""
        given = {"Host": self.host, "Cookie": self.cookie, "Origin": f"http://{self.host}", **headers}
        lines = [f"{line} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in given.items()), "", ""]
        await stream.send_all("\r\n".join(lines).encode("latin-1"))

    async def status_of(self, stream: trio.abc.ReceiveStream) -> int:
        """The status of the answer that comes next."""
        got = b""
        with trio.fail_after(60):
            while b"\r\n\r\n" not in got:
                more = await stream.receive_some()
                assert more, f"ended after {got!r}"
                got += more
        return int(got.split(b" ", 2)[1])


@asynccontextmanager
async def serving(
    kernel: StandIn | None = None, *, limits: Limits | None = None, certificate: Certificate | None = None
) -> AsyncIterator[Served]:
    """Serve for the length of the block."""
    kernel = kernel or StandIn()
    listening = open_socket(Address("127.0.0.1", 0))
    port = listening.getsockname()[1]
    site = Site.build(kernel, kernel.hub, Guard(), port=port, folder=kernel.folder)
    site = replace(site, limits=limits) if limits else site
    clients = Clients(kernel)
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        nursery.start_soon(serve_until_cancelled, create_app(site, clients), kernel.hub, listening, certificate)
        yield Served(site, kernel, clients, port)
        nursery.cancel_scope.cancel()
