"""The server ends when it is told to, also with streams open."""

from __future__ import annotations

import pytest
import trio

from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.listen import Address, open_socket
from plugins.webui.server import CLOSING, serve_until_cancelled
from plugins.webui.web import create_app

from .standin import StandIn


async def opened(port: int, path: str, *headers: str) -> trio.SocketStream:
    """A connection that has asked for ``path``."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers, "", ""]
    await stream.send_all("\r\n".join(lines).encode())
    return stream


async def read_until(stream: trio.SocketStream, wanted: bytes) -> bytes:
    """Everything up to and beyond ``wanted``."""
    got = b""
    with trio.fail_after(20):
        while wanted not in got:
            more = await stream.receive_some()
            assert more, f"ended before {wanted!r}: {got!r}"
            got += more
    return got


async def test_it_ends_soon_with_a_stream_open_and_takes_no_more() -> None:
    kernel = StandIn()
    listening = open_socket(Address("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(Site.build(kernel, kernel.hub, Guard(), port=port))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_until_cancelled, app, kernel.hub, listening)
        stream = await opened(port, "/api/v1/chat/events", f"Cookie: homed_session_{port}=session-1")
        head = await read_until(stream, b"retry: ")
        assert head.startswith(b"HTTP/1.1 200")
        assert b"text/event-stream" in head
        assert b"server:" not in head.lower()
        began = trio.current_time()
        nursery.cancel_scope.cancel()
    assert trio.current_time() - began < CLOSING
    await read_until(stream, b"0\r\n\r\n")  # a whole answer, not a line cut off
    await stream.aclose()
    assert kernel.hub.watchers == 0
    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream("127.0.0.1", port)


async def test_a_page_that_goes_away_is_forgotten() -> None:
    kernel = StandIn()
    listening = open_socket(Address("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(Site.build(kernel, kernel.hub, Guard(), port=port))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_until_cancelled, app, kernel.hub, listening)
        stream = await opened(port, "/api/v1/chat/events", f"Cookie: homed_session_{port}=session-1")
        await read_until(stream, b"retry: ")
        assert kernel.hub.watchers == 1
        await stream.aclose()
        with trio.fail_after(10):
            while kernel.hub.watchers:
                kernel.post("plugin_state", "", "", plugin="shell", state="ready")
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
