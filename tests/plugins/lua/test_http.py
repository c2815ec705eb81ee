"""``sdk.http``: where it goes, where it does not, and its bounds."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from homed.errors import HomedError, InvalidInput, TimedOut, Unavailable
from plugins.lua import http


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "255.255.255.255", "224.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "192.0.0.1", "198.18.0.1",
        "fec0::1", "::7f00:1",
        "nonsense", "",
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_its_network_are_not_public(address: str) -> None:
    assert not http.is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_others_are(address: str) -> None:
    assert http.is_public(address)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://2130706433/", "http://0x7f.1/", "http://0/"],
)
async def test_spellings_of_this_machine_are_refused(url: str) -> None:
    with pytest.raises(HomedError, match=r"may not go|cannot be found"):
        await http.request("GET", url, {})


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "http://", "gopher://x", "x", "", "http://[::1/"])
async def test_only_http(url: str) -> None:
    with pytest.raises(InvalidInput, match="no http or https address"):
        await http.request("GET", url, {}, private=True)


@pytest.mark.parametrize(
    "options",
    [
        {"headers": []}, {"headers": {"a": 1}}, {"body": 5}, {"body": "x" * (http.MAX_BYTES + 1)}, {"timeout": 0},
        {"timeout": math.inf}, {"timeout": "x"}, {"timeout": True}, {"proxy": "x"},
    ],
)  # fmt: skip
async def test_wrong_options_are_refused(options: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await http.request("GET", "http://1.1.1.1/", options)


Answer = Callable[[str, dict[str, str], bytes], bytes]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    """A small HTTP server that answers the first line, headers and body of a request as told."""

    async def serve(stream: trio.SocketStream) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive_some(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += await stream.receive_some(65536)
        with trio.move_on_after(5):
            with suppress(trio.BrokenResourceError):  # the client had enough
                await stream.send_all(answer(first, headers, body))
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


def reply(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_an_answer_is_read_with_its_charset() -> None:
    def answer(first: str, headers: dict[str, str], body: bytes) -> bytes:
        text = f"{first} {headers['x-a']} {headers['host'].startswith('127.0.0.1:')} {body.decode()} é"
        return reply(text.encode("latin-1"), Content_Type="text/plain; charset=latin-1")

    async with server(answer) as url:
        options = {"headers": {"X-A": "1", "Host": "evil", "Content-Length": "1"}, "body": "hello"}
        got = await http.request("POST", f"{url}/p?q=1#f", options, private=True)
    assert got["status"] == 200
    assert got["body"] == "POST /p?q=1 HTTP/1.1 1 True hello é"
    assert got["headers"]["content-type"].startswith("text/plain")


async def test_redirects_are_followed_and_looked_at() -> None:
    def answer(first: str, headers: dict[str, str], _body: bytes) -> bytes:
        if first.startswith("POST /a"):
            return reply(b"", "302 Found", Location="/b")
        return reply(f"{first.split()[0]} {headers.get('authorization')}".encode())

    async with server(answer) as url:
        got = await http.request("POST", f"{url}/a", {"headers": {"Authorization": "k"}, "body": "x"}, private=True)
        assert got["body"] == "GET k"
        assert got["url"] == f"{url}/b"


async def test_a_secret_does_not_go_on_to_another_host() -> None:
    heard: list[str | None] = []

    def second(_first: str, headers: dict[str, str], _body: bytes) -> bytes:
        heard.append(headers.get("authorization"))
        return reply(b"ok")

    async with server(second) as other:
        where = other.replace("127.0.0.1", "localhost") + "/x"
        async with server(lambda *_: reply(b"", "307 Temporary Redirect", Location=where)) as url:
            await http.request("GET", url, {"headers": {"authorization": "secret", "x": "y"}}, private=True)
    assert heard == [None]


@pytest.mark.parametrize(
    ("where", "said"), [("/again", "More than 5 redirects"), ("file:///etc/passwd", "no http or https address")]
)
async def test_redirects_end(where: str, said: str) -> None:
    async with server(lambda *_: reply(b"", "302 Found", Location=where)) as url:
        with pytest.raises(InvalidInput, match=said):
            await http.request("GET", url, {}, private=True)


async def test_an_answer_that_is_too_large_is_refused() -> None:
    async with server(lambda *_: reply(b"x" * (http.MAX_BYTES + 1))) as url:
        with pytest.raises(Unavailable, match="answers more than"):
            await http.request("GET", url, {}, private=True)


async def test_an_answer_that_never_comes_is_given_up() -> None:
    async def silent(_stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, silent, 0)
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(TimedOut):
            await http.request("GET", f"http://127.0.0.1:{port}", {"timeout": 0.2}, private=True)
        nursery.cancel_scope.cancel()


async def test_what_is_no_http_is_an_error_of_ours() -> None:
    async with server(lambda *_: b"SSH-2.0-OpenSSH_9\r\n\r\n") as url:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await http.request("GET", url, {}, private=True)


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Have names resolve to these addresses, each time to the next; 192.0.2.1 counts as public.  Who was asked for."""
    asked: list[str] = []

    async def resolve(host: str, port: int, **_: object) -> list[Any]:
        await trio.lowlevel.checkpoint()
        asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in answers[min(len(asked), len(answers)) - 1]]

    monkeypatch.setattr(http, "is_public", lambda address: address == "192.0.2.1")
    monkeypatch.setattr(trio.socket, "getaddrinfo", resolve)
    return asked


async def test_a_name_that_answers_differently_later_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is asked once; the address that was looked at is the one that is connected to."""
    async with server(lambda *_: reply(b"inside")) as url:
        asked = resolving(monkeypatch, ["192.0.2.1"], ["127.0.0.1"])
        port = url.rpartition(":")[2]
        with pytest.raises(HomedError):  # whoever resolves localhost again gets an answer from inside
            await http.request("GET", f"http://localhost:{port}/", {"timeout": 0.3})
    assert asked == ["localhost"]


@pytest.mark.parametrize("addresses", [["192.0.2.1", "127.0.0.1"], ["127.0.0.1", "192.0.2.1"]])
async def test_a_name_of_which_one_address_is_inside_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    async with server(lambda *_: reply(b"inside")) as url:
        resolving(monkeypatch, addresses)
        with pytest.raises(Unavailable, match="may not go"):
            await http.request("GET", f"http://mixed.test:{url.rpartition(':')[2]}/", {})
