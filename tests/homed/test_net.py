"""HTTP clients: what connects is loaded for the first request, and nothing is different for it."""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
import trio

from homed.net import open_http
from tests.kit.daemon import run_command

UNUSED = """
import sys, trio
from homed.net import open_http
async def main():
    async with open_http() as client:
        client.build_request("GET", "https://example.org")
trio.run(main)
print(*sys.modules)
"""


def test_a_client_that_nobody_uses_loads_nothing() -> None:
    ran = run_command([sys.executable, "-c", UNUSED])
    assert ran.code == 0, ran.err
    assert "httpx2" in ran.out.split()
    assert not {"httpcore2", "h2", "anyio", "truststore"} & set(ran.out.split())


@asynccontextmanager
async def answering(heard: list[bytes]) -> AsyncIterator[str]:
    """A server that notes what it is asked and says hi."""

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            heard.append(bytes(await stream.receive_some()))
            await stream.send_all(
                b"HTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nhi"
            )

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        yield f"127.0.0.1:{port}"
        nursery.cancel_scope.cancel()


async def test_requests_at_once_arrive_as_they_were_made_and_redirects_are_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # never for this machine itself
    heard: list[bytes] = []
    answers: list[httpx2.Response] = []
    async with answering(heard) as place, open_http() as client:

        async def ask(name: str) -> None:
            url = f"http://who:secret@{place}/{name}"
            answers.append(await client.post(url, content=name, headers={"Connection": "close"}))

        async with trio.open_nursery() as nursery:
            for name in ("one", "two", "three"):
                nursery.start_soon(ask, name)
    assert [(answer.status_code, answer.text) for answer in answers] == [(302, "hi")] * 3
    said = base64.b64encode(b"who:secret")
    assert sorted(line.split()[1] for line in heard) == [b"/one", b"/three", b"/two"]
    assert all(line.lower().count(b"authorization: basic") == 1 and said in line for line in heard)


async def test_what_cannot_be_reached_is_the_clients_own_error() -> None:
    with trio.socket.socket() as taken:
        await taken.bind(("127.0.0.1", 0))
        async with open_http() as client:
            with pytest.raises(httpx2.ConnectError) as caught:
                await client.get(f"http://127.0.0.1:{taken.getsockname()[1]}/")
            assert caught.value.request.url.path == "/"


async def test_no_server_has_its_cookies_sent_to_another() -> None:
    """A cookie knows no port: what one server of this machine says would go to all of them."""
    heard: list[bytes] = []
    async with answering(heard) as one, answering(heard) as other, open_http() as client:
        for place in (one, other, one):
            await client.get(f"http://{place}/")
    assert len(heard) == 3
    assert not [asked for asked in heard if b"cookie" in asked.lower()]
