"""The plugin as the kernel runs it: it listens where it is told, says where, passes notices on, and goes when told."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
from trio_websocket import open_websocket_url

from homed.errors import ConfigError
from homed.sdk.testing import harness
from homed.wire.manifest import load_manifest
from plugins.webui.context import FOLDER
from plugins.webui.plugin import Page, build

from .test_server import opened, read_until

SESSION = {"peer": "webui:owner", "role": "owner", "expires_at": 4e9}


class Kernel:
    """Just what `Page.start` asks for."""

    def __init__(self, listen: object, *, password_set: bool = False) -> None:
        self.settings = {"listen": listen}
        self._password_set = password_set

    async def call(self, method: str, params: object) -> dict[str, bool]:
        await trio.lowlevel.checkpoint()
        assert method == "auth.state"
        return {"password_set": self._password_set}


async def refused(kernel: Kernel) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        await Page().start(kernel)  # type: ignore[arg-type]
    return caught.value


async def test_it_announces_where_it_listens_serves_there_and_hears_notices(tmp_path: Path) -> None:
    async with harness(build(), start=False) as kernel:
        kernel.reply("auth.state", {"password_set": False})
        kernel.reply("auth.check", SESSION)
        await kernel.start({"listen": "127.0.0.1:0"}, tmp_path)
        announced = await kernel.wait_call("core.announce")
        assert announced.params["kind"] == "url"
        port = urlsplit(announced.params["address"]).port
        assert port
        stream = await opened(port, "/api/v1/chat/events", f"Cookie: homed_session_{port}=s")
        await read_until(stream, b"retry: ")
        await kernel.emit("plugin_state", plugin="shell", state="backoff", reason="")
        assert b'"shell"' in await read_until(stream, b"event: plugins")
        await kernel.lose(3)
        await read_until(stream, b"sync_required")
        await stream.aclose()


async def test_a_bad_address_a_port_in_use_and_an_open_door_are_told_to_the_person() -> None:
    """D5: refuses to bind wider without a secret."""
    assert "no address" in (await refused(Kernel("nonsense"))).message
    assert "password" in (await refused(Kernel("0.0.0.0:0"))).message
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert "already listens" in (await refused(Kernel(f"127.0.0.1:{other.getsockname()[1]}"))).message


async def test_with_a_password_it_may_listen_wider() -> None:
    page = Page()
    await page.start(Kernel("0.0.0.0:0", password_set=True))  # type: ignore[arg-type]
    page.close()


def test_the_manifest_asks_for_loopback_and_for_what_it_uses() -> None:
    """D5: loopback by default."""
    manifest = load_manifest(FOLDER)
    assert {setting.key: setting.default for setting in manifest.settings}["listen"] == "127.0.0.1:8080"
    assert set(manifest.capabilities) >= {"io", "events.notices", "events.content", "auth", "admin"}


async def test_its_websocket_hears_the_notices_too(tmp_path: Path) -> None:
    async with harness(build(), start=False) as kernel:
        kernel.reply("auth.state", {"password_set": False})
        kernel.reply("auth.key", {**SESSION, "name": "far", "scopes": ["chat"]})
        kernel.reply("io.history", {})
        await kernel.start({"listen": "127.0.0.1:0"}, tmp_path)
        address = (await kernel.wait_call("core.announce")).params["address"].replace("http:", "ws:")
        bearer = [(b"Authorization", b"Bearer hk_" + b"x" * 43)]
        async with open_websocket_url(f"{address}/api/v1/socket", extra_headers=bearer) as line:
            await line.send_message('{"jsonrpc":"2.0","id":1,"method":"subscribe"}')
            assert '"result":{}' in await line.get_message()
            await kernel.emit("content_delta", thread="t", text="hi")
            assert '"hi"' in await line.get_message()
            await kernel.lose(3)
            assert '"count":3' in await line.get_message()
