"""The plugin over a real socket: who a client is, what it may ask, what it hears."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import Denied, NotFound
from homed.sdk.clients import CLIENTS, PASSED, SHORT
from homed.sdk.testing import Harness, harness
from homed.wire.methods import TO_KERNEL
from homed.wire.stream import Connection
from plugins.cli import service
from plugins.cli.peers import OWNER, peer_of
from plugins.cli.plugin import build


def there(path: Path) -> bool:
    return os.path.lexists(path)


class Ears:
    """The handler of a client's connection: keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, Any]]] = []
        self.told = trio.Event()

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        raise NotFound("A client answers nothing.")

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append((method, params))
        self.told.set()


@asynccontextmanager
async def running(tmp_path: Path) -> AsyncIterator[Harness]:
    async with harness(build(), settings={"socket": str(tmp_path / "run/cli.sock")}) as kernel:
        await kernel.wait_call("core.announce")
        yield kernel


@asynccontextmanager
async def client(tmp_path: Path) -> AsyncIterator[tuple[Connection, Ears]]:
    ears = Ears()
    async with await trio.open_unix_socket(str(tmp_path / "run/cli.sock")) as stream, trio.open_nursery() as nursery:
        connection = Connection(stream, stream, ears)
        await nursery.start(connection.run)
        yield connection, ears
        nursery.cancel_scope.cancel()


async def test_hello_tells_the_peer_and_announces_the_socket(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel, client(tmp_path) as (link, _):
        assert await link.request("hello", {}) == {"protocol": 1, "core_version": "0.1.0", "peer": OWNER}
    announced = [call.params for call in kernel.calls if call.method == "core.announce"]
    assert announced == [{"kind": "socket", "address": str(tmp_path / "run/cli.sock")}]


@pytest.mark.parametrize(("short", "method"), SHORT.items())
async def test_short_names_are_kernel_methods_with_the_peer_filled_in(tmp_path: Path, short: str, method: str) -> None:
    async with running(tmp_path) as kernel, client(tmp_path) as (link, _):
        kernel.reply(method, {"ok": 1})
        assert await link.request(short, {"text": "你好"}) == {"ok": 1}
        assert (await kernel.wait_call(method)).params == {"text": "你好", "peer": OWNER}


async def test_admin_and_io_pass_by_their_own_names_and_nothing_else_does(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel, client(tmp_path) as (link, _):
        kernel.reply("admin.status", {"version": "1"})
        assert await link.request("admin.status", {}) == {"version": "1"}
        for method in (*(set(TO_KERNEL) - PASSED), "tool.invoke", "plugin.stop", "nonsense", "peer"):
            with pytest.raises(NotFound):
                await link.request(method, {})
        assert {call.method for call in kernel.calls} == {"events.subscribe", "core.announce", "admin.status"}


@pytest.mark.parametrize("claim", ["webui:owner", "cli:owner", {"id": "cli:uid0"}, None, 1])
async def test_a_client_cannot_name_its_peer_nor_present_a_call_token(
    tmp_path: Path, claim: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "uid_of", lambda sock: 12345)
    async with running(tmp_path) as kernel, client(tmp_path) as (link, _):
        kernel.reply("io.inject", {"thread": "t"})
        kernel.reply("admin.status", Denied("Only the owner may."))
        await link.request("chat", {"text": "x", "peer": claim, "call": "tok"})
        assert (await kernel.wait_call("io.inject")).params == {"text": "x", "peer": "cli:uid12345"}
        with pytest.raises(Denied):
            await link.request("admin.status", {"peer": claim})
        assert (await kernel.wait_call("admin.status")).params == {"peer": "cli:uid12345"}


def test_this_user_and_root_are_the_owner_and_others_are_not() -> None:
    assert peer_of(os.getuid()) == peer_of(0, own=1000) == peer_of(1000, own=1000) == OWNER
    assert peer_of(1001, own=1000) == "cli:uid1001"
    assert peer_of(65534, own=0) == "cli:uid65534"


async def test_a_subscriber_hears_its_threads_and_only_after_subscribing(tmp_path: Path) -> None:
    def history(params: Mapping[str, Any]) -> object:
        return {} if params["thread"] == "mine" else NotFound("There is no such thread.")

    async with running(tmp_path) as kernel, client(tmp_path) as (link, ears):
        kernel.reply("io.history", history)
        await link.request("hello", {})
        await kernel.emit("content_delta", thread="mine", text="too early")
        await kernel.call("plugin.ping")
        await link.request("subscribe", {})
        await kernel.emit("content_delta", thread="theirs", text="secret")
        await kernel.emit("content_delta", thread="mine", text="你好🌍")
        with trio.fail_after(60):
            await ears.told.wait()
    assert [(method, p["thread"], p["data"]) for method, p in ears.heard] == [("event", "mine", {"text": "你好🌍"})]


async def test_garbage_a_huge_line_and_a_hang_up_hurt_nobody_else(tmp_path: Path) -> None:
    async with running(tmp_path) as kernel, client(tmp_path) as (link, _):
        path = str(tmp_path / "run/cli.sock")
        for data in (b"\xff\xfe\n" * 60, b"x" * (3 << 20), b'{"jsonrpc":"2.0","id":1,"method":"chat"}', b"[]\n" * 100):
            async with await trio.open_unix_socket(path) as stream:
                with trio.move_on_after(5):
                    try:
                        await stream.send_all(data)
                    except trio.BrokenResourceError:
                        continue  # it hung up first, rightly
        kernel.reply("admin.status", {})
        assert await link.request("admin.status", {}) == {}


async def test_one_client_too_many_is_hung_up_on(tmp_path: Path) -> None:
    async with running(tmp_path):
        path, open_ = str(tmp_path / "run/cli.sock"), []
        for _ in range(CLIENTS):
            stream = await trio.open_unix_socket(path)
            await stream.send_all(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
            assert await stream.receive_some()
            open_.append(stream)
        with trio.fail_after(60):
            async with await trio.open_unix_socket(path) as last:
                assert await last.receive_some() == b""
        for stream in open_:
            await stream.aclose()


async def test_a_client_that_goes_away_cancels_its_calls_in_the_kernel(tmp_path: Path) -> None:
    began, ended = trio.Event(), trio.Event()
    async with running(tmp_path) as kernel:
        original = kernel.request

        async def request(method: str, params: Mapping[str, Any]) -> object:
            if method != "io.wait":
                return await original(method, params)
            began.set()
            try:
                await trio.sleep_forever()
            finally:
                ended.set()
            raise AssertionError

        kernel.request = request  # type: ignore[method-assign]
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(str(tmp_path / "run/cli.sock"))
        sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"wait","params":{"input":"i"}}\n')
        with trio.fail_after(60):
            await began.wait()
            sock.close()
            await ended.wait()


async def test_stopping_removes_the_socket_and_a_new_start_finds_its_place(tmp_path: Path) -> None:
    for _ in range(2):
        async with running(tmp_path), client(tmp_path) as (link, _):
            await link.request("hello", {})
        assert not there(tmp_path / "run/cli.sock")
