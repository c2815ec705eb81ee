"""The server ends when it is told to, also with streams open."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio

from plugins.webui import server
from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.listen import Address, open_socket
from plugins.webui.server import serve_until_cancelled
from plugins.webui.web import create_app

from .certificates import make
from .serving import serving
from .standin import StandIn


async def opened(port: int, path: str, *headers: str) -> trio.SocketStream:
    """A connection that has asked for ``path``."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers, "", ""]
    await stream.send_all("\r\n".join(lines).encode())
    return stream


async def read_until(stream: trio.abc.ReceiveStream, wanted: bytes) -> bytes:
    """Everything up to and beyond ``wanted``."""
    got = b""
    with trio.fail_after(60):
        while wanted not in got:
            more = bytes(await stream.receive_some())
            assert more, f"ended before {wanted!r}: {got!r}"
            got += more
    return got


async def test_it_ends_soon_with_a_stream_open_and_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CLOSING", 300)
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
    assert trio.current_time() - began < 60
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
        with trio.fail_after(60):
            while kernel.hub.watchers:
                kernel.post("plugin_state", "", "", plugin="shell", state="ready")
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


async def test_over_tls_the_session_is_secure_and_plain_http_is_not_answered(tmp_path: Path) -> None:
    made = make(tmp_path)
    context = ssl.create_default_context(cafile=made.cert)
    async with serving(certificate=made) as served:
        body = b'{"secret": "open-sesame"}'
        async with trio.SSLStream(await served.connect(), context, server_hostname="localhost") as stream:
            head = {"Content_Type": "application/json", "Content_Length": str(len(body)), "Cookie": "a=b"}
            await served.send_head(stream, "POST /api/v1/login", **head, Origin=f"https://{served.host}")
            await stream.send_all(body)
            got = await read_until(stream, b"expires_at")
            cookie = next(line for line in got.decode().split("\r\n") if line.lower().startswith("set-cookie"))
            assert {"HttpOnly", "Secure", "SameSite=Lax"} <= {part.strip() for part in cookie.split(";")}
        async with await served.connect() as plain:
            await served.send_head(plain, "GET /login")
            with trio.fail_after(60):
                assert not (await plain.receive_some() or b"").startswith(b"HTTP/1.1 200")


async def test_half_a_head_is_waited_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow loris."""
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.2)
    async with serving() as served, await served.connect() as stream:
        await stream.send_all(b"GET / HTTP/1.1\r\nHost: local")
        with trio.fail_after(60):
            assert await stream.receive_some() == b""


@pytest.mark.parametrize(
    ("host", "origin"), [("evil.example\r\nX: y", ""), ("127.0.0.1:{port}\r\nHost: evil.example", ""), ("", "")]
)
async def test_what_is_no_single_host_is_refused(host: str, origin: str) -> None:
    async with serving() as served, await served.connect() as stream:
        await served.send_head(
            stream, "GET /api/v1/status", Host=host.format(port=served.port), Origin=f"http://{host}"
        )
        assert await served.status_of(stream) in (400, 421)


@pytest.mark.parametrize(
    "path",
    ["/static/..%2f..%2fplugin.json", "/static/%2e%2e/plugin.json", "/static/../plugin.json", "/static//etc/passwd",
     "/static/..%5c..%5cplugin.json", "/static/%00", "/t/..%2f..%2fx", "/api/v1/blocks/..%2f..%2fetc%2fpasswd"],
)  # fmt: skip
async def test_no_path_leads_out_of_the_static_files(path: str) -> None:
    async with serving() as served, await served.connect() as stream:
        await served.send_head(stream, f"GET {path}")
        assert await served.status_of(stream) in (400, 404)
