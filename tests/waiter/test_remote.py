"""A homed elsewhere: addresses, keys, certificates, and bytes over messages."""

from __future__ import annotations

import ssl
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trio

from homed.errors import Denied, HomedError, InvalidInput, NotFound, Unavailable
from homed.wire.stream import Connection, NoHandler
from tests.waiter.far_homed import KEY, far_homed
from waiter.endpoint import Target
from waiter.remote import Address, connected, loopback


@pytest.mark.parametrize(
    ("url", "insecure", "parts"),
    [
        ("https://h", False, (True, "h", 443, "/api/v1/socket", "h")),
        ("h:8443/base/", False, (True, "h", 8443, "/base/api/v1/socket", "h:8443")),
        ("wss://h/api/v1/socket", False, (True, "h", 443, "/api/v1/socket", "h")),
        ("http://127.0.0.1:8080", False, (False, "127.0.0.1", 8080, "/api/v1/socket", "127.0.0.1:8080")),
        ("http://[::1]:80", False, (False, "::1", 80, "/api/v1/socket", "[::1]")),
        ("http://far.example", True, (False, "far.example", 80, "/api/v1/socket", "far.example")),
    ],
)
def test_addresses(url: str, insecure: bool, parts: tuple[object, ...]) -> None:
    made = Address(url, insecure=insecure)
    assert (made.tls, made.host, made.port, made.path, made.authority) == parts


@pytest.mark.parametrize(
    "url",
    [
        "http://far.example",
        "ws://10.0.0.1",
        "ftp://h",
        "https://",
        "https://u:p@h",
        "https://h/?a=1",
        "https://h:x",
        "",
    ],
)
def test_addresses_that_will_not_do(url: str) -> None:
    with pytest.raises(InvalidInput):
        Address(url, insecure=False)


def test_what_this_machine_is() -> None:
    assert all(map(loopback, ("localhost", "127.0.0.9", "::1", "a.localhost")))
    assert not any(map(loopback, ("localhost.example", "10.0.0.1", "example")))


async def asked(target: Target, method: str = "hello") -> object:
    async with connected(target) as stream, trio.open_nursery() as nursery:
        connection = Connection(stream, stream, NoHandler())
        await nursery.start(connection.run)
        try:
            return await connection.request(method, {"text": "你好\n" * 3})
        finally:
            nursery.cancel_scope.cancel()


async def test_the_wire_goes_over_messages_with_the_key_in_the_header_only() -> None:
    async with far_homed() as far:
        for far.joined in (False, True):
            answer = await asked(Target(url=far.url, key=KEY))
            assert answer == {"protocol": 1, "core_version": "0", "peer": "webui:owner"}
        assert far.authorization == [f"Bearer {KEY}"] * 2
        assert far.path == "/api/v1/socket"
        assert far.calls[0] == ("hello", {"text": "你好\n" * 3})


async def test_lines_of_a_mebibyte_pass_both_ways() -> None:
    async with far_homed() as far:
        far.answers["hello"] = lambda params: {"text": "界" * 300_000}
        answer = await asked(Target(url=far.url, key=KEY))
        assert answer == {"text": "界" * 300_000}


async def leaf(error: BaseException) -> BaseException:
    await trio.lowlevel.checkpoint()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def failure(target: Target) -> HomedError:
    with pytest.raises((HomedError, BaseExceptionGroup)) as caught:
        await asked(target)
    found = await leaf(caught.value)
    assert isinstance(found, HomedError)
    assert target.key not in str(found) or not target.key
    return found


async def test_a_wrong_key_is_refused_and_anything_else_may_be_tried_again() -> None:
    async with far_homed() as far:
        assert isinstance(await failure(Target(url=far.url, key="hk_wrong")), Denied)
        far.status = 503
        assert isinstance(await failure(Target(url=far.url, key=KEY)), Unavailable)
        port = far.port
    assert isinstance(await failure(Target(url=f"http://127.0.0.1:{port}", key=KEY)), Unavailable)


async def test_an_error_of_homed_comes_through() -> None:
    async with far_homed() as far:
        with pytest.raises((NotFound, BaseExceptionGroup)) as caught:
            await asked(Target(url=far.url, key=KEY), "nothing")
        assert isinstance(await leaf(caught.value), NotFound)


async def test_something_else_that_listens_is_no_homed() -> None:
    async def babble(stream: trio.SocketStream) -> None:
        await stream.send_all(b"SSH-2.0-OpenSSH\r\n")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, babble, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        for scheme in ("http", "https"):
            assert isinstance(await failure(Target(url=f"{scheme}://127.0.0.1:{port}", key=KEY)), Unavailable)
        nursery.cancel_scope.cancel()


async def test_a_head_without_end_is_no_homed() -> None:
    async def babble(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 101 Switching Protocols\r\n")
        with suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(b"X: " + b"a" * 60_000 + b"\r\n")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, babble, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        found = await failure(Target(url=f"http://127.0.0.1:{port}", key=KEY))
        assert isinstance(found, Unavailable)
        assert "does not speak with us" in found.message
        nursery.cancel_scope.cancel()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(path),
         "-out", str(tmp_path / "only.pem")], check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + (tmp_path / "only.pem").read_bytes())
    return path


async def test_a_certificate_is_checked_always(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with far_homed(context) as far:
        url = f"https://127.0.0.1:{far.port}"
        error = await failure(Target(url=url, key=KEY, insecure=True))
        assert isinstance(error, Denied)
        assert "not trusted" in error.message
        assert not far.authorization  # nobody saw the key
        trusted = Target(url=url, key=KEY, ca=str(certificate))
        assert await asked(trusted) == {"protocol": 1, "core_version": "0", "peer": "webui:owner"}
        error = await failure(Target(url=url.replace("127.0.0.1", "localhost.localhost"), key=KEY, ca=str(certificate)))
        assert isinstance(error, Denied | Unavailable)
