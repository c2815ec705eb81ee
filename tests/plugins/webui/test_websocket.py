"""The terminal socket's lines over a WebSocket: who may open one, what a key's scopes let pass, what it bears."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed, WebSocketConnection, open_websocket_url

from homed.sdk.clients import CLIENTS, Clients
from homed.wire.stream import Connection
from plugins.webui import websocket
from plugins.webui.websocket import BURST, LARGEST, PACE, Line

from .serving import Served, serving
from .standin import OWNER

Headers = list[tuple[bytes, bytes]]


class Wire(trio.abc.Stream):
    """A client's WebSocket as a stream."""

    def __init__(self, socket: WebSocketConnection) -> None:
        self.socket = socket

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        try:
            return (await self.socket.get_message()).encode()  # type: ignore[union-attr]
        except ConnectionClosed:
            return b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        try:
            await self.socket.send_message(bytes(data).decode())
        except ConnectionClosed:
            raise trio.BrokenResourceError from None

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await self.socket.aclose()


class Ears:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, Any]]] = []
        self.told = trio.Event()

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        raise AssertionError(method)

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append((method, params))
        self.told.set()


def key_of(served: Served, *scopes: str) -> Headers:
    made = served.kernel.admin_keys_add(OWNER, f"k{len(served.kernel.api_keys)}", list(scopes))
    return [(b"Authorization", f"Bearer {made['key']}".encode())]


def of_page(served: Served) -> Headers:
    return [(b"Cookie", served.cookie.encode()), (b"Origin", f"http://{served.host}".encode())]


@asynccontextmanager
async def line(served: Served, headers: Headers) -> AsyncIterator[tuple[Connection, Ears, WebSocketConnection]]:
    ears = Ears()
    url = f"ws://{served.host}/api/v1/socket"
    async with open_websocket_url(url, extra_headers=headers) as socket, trio.open_nursery() as nursery:
        connection = Connection(Wire(socket), Wire(socket), ears)
        await nursery.start(connection.run)
        yield connection, ears, socket
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await socket._stream.aclose()  # the library leaves it open when the other side closed first


async def refused(served: Served, headers: Headers) -> int:
    """The status of a handshake."""
    given = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    given |= {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Cookie": "", "Origin": ""}
    given |= {name.decode(): value.decode() for name, value in headers}
    given = {name: value for name, value in given.items() if value or name == "Host"}
    async with await served.connect() as stream:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in {"Host": served.host, **given}.items()]
        await stream.send_all("\r\n".join(["GET /api/v1/socket HTTP/1.1", *lines, "", ""]).encode())
        return await served.status_of(stream)


async def test_a_key_opens_a_line_that_speaks_as_the_terminal_socket_does() -> None:
    async with serving() as served, line(served, key_of(served, "chat")) as (link, ears, _):
        assert (await link.request("hello", {}))["peer"] == OWNER
        await link.request("subscribe", {})
        said = await link.request("chat", {"text": "你好🌍", "client_msg_id": "m", "peer": "cli:owner"})
        assert served.kernel.talks[said["thread"]].title == "你好🌍"
        assert ears.heard == []


async def test_notices_reach_who_subscribed() -> None:
    async with serving() as served, line(served, key_of(served, "chat")) as (link, ears, _):
        talk = served.kernel.open_talk("t")
        await link.request("subscribe", {})
        served.clients.offer({"seq": 9, "type": "content_delta", "thread": talk.id, "data": {"text": "x" * 100_000}})
        with trio.fail_after(60):
            await ears.told.wait()
        assert ears.heard[0][1]["seq"] == 9


async def test_a_page_opens_one_with_its_session_and_its_origin() -> None:
    async with serving() as served, line(served, of_page(served)) as (link, _, _socket):
        assert (await link.request("admin.status", {}))["version"]


async def test_nobody_else_does() -> None:
    """D5: a WebSocket without an Origin check is open to every page."""
    async with serving() as served:
        cookie, origin = of_page(served)
        assert await refused(served, []) == 401
        assert await refused(served, [cookie]) == 403, "no Origin: only with a key"
        assert await refused(served, [cookie, (b"Origin", b"http://evil.example")]) == 403
        assert await refused(served, [*key_of(served, "chat"), (b"Origin", b"http://evil.example")]) == 403
        assert await refused(served, [origin]) == 401
        assert await refused(served, [(b"Authorization", b"Bearer hk_" + b"z" * 43)]) == 401
        assert await refused(served, [(b"Cookie", cookie[1] + b"x"), origin]) == 401
        assert {name for name, _ in served.kernel.calls} <= {"auth.check", "auth.key"}


async def test_a_foreign_host_is_refused() -> None:
    """D5: DNS rebinding."""
    async with serving() as served:
        for headers in (key_of(served, "chat"), of_page(served)):
            assert await refused(served, [*headers, (b"Host", b"evil.example")]) in (403, 421)
            assert await refused(served, [*headers, (b"Host", b"")]) in (400, 403, 421)


@pytest.mark.parametrize(("scope", "method"), [("chat", "admin.plugins"), ("admin", "io.threads"), ("memory", "chat")])
async def test_a_keys_scopes_limit_its_methods(scope: str, method: str) -> None:
    async with serving() as served, line(served, key_of(served, scope)) as (link, _, _socket):
        with pytest.raises(Exception, match="This key may not call"):
            await link.request(method, {"text": "x"})
        assert (await link.request("admin.status", {}))["version"], "which model answers is told to all"
        assert {name for name, _ in served.kernel.calls} == {"auth.key", "admin.status"}


async def test_who_loses_the_key_loses_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "RECHECK", 0.05)
    async with serving() as served, line(served, key_of(served, "chat")) as (link, _, socket):
        await link.request("hello", {})
        served.kernel.admin_keys_remove(OWNER, "k0")
        with trio.fail_after(60):
            await link.closed.wait()
        assert socket.closed is not None
        assert socket.closed.code == 1008


async def test_several_lines_in_a_message_and_one_without_its_end() -> None:
    async with serving() as served:
        url = f"ws://{served.host}/api/v1/socket"
        async with open_websocket_url(url, extra_headers=key_of(served, "chat")) as socket:
            hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello"})
            await socket.send_message(f"{hello}\n{hello.replace('1,', '2,')}")
            answers = [json.loads(await socket.get_message()) for _ in range(2)]
            assert {answer["id"] for answer in answers} == {1, 2}
            await socket.send_message(hello.encode())
            assert json.loads(await socket.get_message())["id"] == 1


async def closing(socket: WebSocketConnection) -> int:
    """The code with which the other side closes."""
    with trio.fail_after(60):
        with suppress(ConnectionClosed):
            while True:
                await socket.get_message()
        await socket._stream.aclose()
    assert socket.closed is not None
    return int(socket.closed.code)


async def test_too_big_a_message_and_nonsense_without_end_close_the_line() -> None:
    async with serving() as served:
        url = f"ws://{served.host}/api/v1/socket"
        async with open_websocket_url(url, extra_headers=key_of(served, "chat")) as socket:
            await socket.send_message("x" * (LARGEST + 1))
            assert await closing(socket) == 1009
        async with open_websocket_url(url, extra_headers=key_of(served, "chat")) as socket:
            await socket.send_message("nonsense\n" * 60)
            assert await closing(socket) == 1008
        async with line(served, key_of(served, "chat")) as (link, _, _socket):
            assert await link.request("hello", {})


async def test_one_client_too_many_is_told_so() -> None:
    async with serving() as served:
        served.clients._limit = 1
        async with line(served, key_of(served, "chat")) as (link, _, _socket):
            await link.request("hello", {})
            assert await refused(served, key_of(served, "chat")) == 503
        assert Clients(served.kernel)._limit == CLIENTS


async def test_messages_are_read_at_a_pace_and_empty_ones_end_nothing(autojump_clock: trio.testing.MockClock) -> None:
    sent, count = trio.open_memory_channel[str](1000)
    said: list[str] = []

    async def say(text: str) -> None:
        await trio.lowlevel.checkpoint()
        said.append(text)

    stream = Line(count.receive, say)
    for _ in range(int(BURST) + 20):
        sent.send_nowait("{}")
    sent.send_nowait("")
    sent.send_nowait("é")
    await trio.sleep(100)
    began = trio.current_time()
    for _ in range(int(BURST) + 20):
        assert await stream.receive_some() == b"{}\n"
    assert trio.current_time() - began == pytest.approx(20 / PACE, abs=0.1)
    assert await stream.receive_some(1) == b"\xc3"
    assert await stream.receive_some() == b"\xa9\n"
    await stream.send_all("ü\n".encode())
    assert said == ["ü\n"]


async def test_a_plain_request_is_told_to_upgrade() -> None:
    async with serving() as served, await served.connect() as stream:
        await served.send_head(stream, "GET /api/v1/socket")
        assert await served.status_of(stream) == 426
