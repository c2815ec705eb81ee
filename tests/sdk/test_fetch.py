"""Downloads are https at every hop, and bounded in bytes, hops and time."""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import trio

from homed.errors import InvalidInput, StorageError, TimedOut, Unavailable
from homed.sdk.fetch import Fetched, check_url, fetch, shown_url
from tests.sdk.web import Web, serving


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serving(tmp_path_factory.mktemp("web")) as found:
        yield found


async def get(web: Web, url: str, into: Path, limit: int = 1000, timeout: float = 20) -> Fetched:
    return await fetch(url, into, limit=limit, timeout=timeout, tls=web.tls)


@pytest.mark.parametrize("length", [-1, None])
async def test_a_file_comes_whole_with_its_hash(web: Web, tmp_path: Path, length: int | None) -> None:
    data, heard = os.urandom(900), list[tuple[int, int | None]]()
    url = web.file("/a.hmap", data, length=length) + "?token=secret#here"
    into = tmp_path / "a"
    found = await fetch(url, into, tls=web.tls, on_progress=lambda *so_far: heard.append(so_far))
    assert into.read_bytes() == data
    assert (found.size, found.sha256) == (900, hashlib.sha256(data).hexdigest())
    assert "secret" not in found.url
    assert heard[-1] == (900, None if length is None else 900)
    assert into.stat().st_mode & 0o777 == 0o600
    assert "#" not in web.asked[-1]


async def test_ten_redirects_are_followed_and_no_cookie_is_kept(web: Web, tmp_path: Path) -> None:
    web.file("/end", b"x")
    for hop in range(10):
        web.redirect(f"/hop{hop}", f"/hop{hop + 1}" if hop < 9 else web.url("/end"), (301, 302, 303, 307, 308)[hop % 5])
    found = await get(web, web.url("/hop0"), tmp_path / "a")
    assert found.url == web.url("/end")
    assert "cookie" not in web.headers[-1]


async def test_eleven_are_not(web: Web, tmp_path: Path) -> None:
    web.redirect("/round", "/round")
    with pytest.raises(InvalidInput, match="More than 10 redirects"):
        await get(web, web.url("/round"), tmp_path / "a")
    assert web.asked.count("/round") == 11


@pytest.mark.parametrize(
    "where",
    [
        "http://localhost/x",
        "ftp://x/y",
        "file:///etc/passwd",
        "//user:pw@host/x",
        "https://:443/x",
        "data:,x",
        "http:x",
    ],
)
async def test_no_hop_leads_away_from_https(web: Web, tmp_path: Path, where: str) -> None:
    web.redirect("/away", where)
    with pytest.raises(InvalidInput, match="redirects where it may not"):
        await get(web, web.url("/away"), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "example.org/x",
        "",
        "https://",
        "https://u:p@example.org/",
        "https://[::1",
        "https://h:99999/",
    ],
)
def test_what_is_no_https_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_url(url)
    assert "u:p" not in str(caught.value)


def test_what_is_shown_holds_no_secret() -> None:
    assert shown_url("https://u:p@h/a/b.hmap?key=1#x") == "https://h/a/b.hmap"


async def test_too_much_is_refused_at_once_when_it_is_announced(web: Web, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="larger than 1000 bytes"):
        await get(web, web.file("/big", b"", length=1001), tmp_path / "a")
    assert not (tmp_path / "a").exists()


async def test_too_much_is_cut_off_when_it_is_not(web: Web, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="larger than 1000 bytes"):
        await get(web, web.file("/more", bytes(5000), length=None), tmp_path / "a")
    assert not (tmp_path / "a").exists()


async def test_a_file_that_breaks_off_is_not_kept(web: Web, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await get(web, web.file("/short", b"half", length=8), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("status", [204, 304, 404, 500])
async def test_an_answer_that_is_no_file_is_told(web: Web, tmp_path: Path, status: int) -> None:
    with pytest.raises(Unavailable, match=str(status)):
        await get(web, web.file("/wrong", b"", status=status), tmp_path / "a")


async def test_a_server_that_dawdles_is_given_up(web: Web, tmp_path: Path) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while not web.stopping.wait(0.02):
            request.wfile.write(b".")

    web.answers["/drip"] = drip
    with pytest.raises(TimedOut, match=r"longer than 0\.3 s"):
        await get(web, web.url("/drip"), tmp_path / "a", limit=10**9, timeout=0.3)
    assert not (tmp_path / "a").exists()


async def test_cancelled_it_leaves_nothing(web: Web, tmp_path: Path) -> None:
    begun = trio.Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(b".")
        web.stopping.wait(5)

    web.answers["/hang"] = hang
    async with trio.open_nursery() as nursery:
        into, url = tmp_path / "a", web.url("/hang")
        nursery.start_soon(lambda: fetch(url, into, tls=web.tls, on_progress=lambda *_: begun.set()))
        with trio.fail_after(60):
            await begun.wait()
        nursery.cancel_scope.cancel()
    assert not into.exists()


async def test_a_certificate_that_nobody_vouches_for_is_refused(web: Web, tmp_path: Path) -> None:
    web.file("/a", b"x")
    with pytest.raises(Unavailable, match=r"(?i)certificate"):
        await fetch(web.url("/a"), tmp_path / "a", tls=ssl.create_default_context())


async def test_plain_http_behind_an_https_address_is_refused(tmp_path: Path) -> None:
    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, talk, 0)
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(Unavailable):
            await fetch(f"https://127.0.0.1:{port}/", tmp_path / "a", timeout=10)
        nursery.cancel_scope.cancel()


async def test_an_old_file_is_not_written_over(web: Web, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(StorageError):
        await get(web, web.file("/a", b"x"), tmp_path / "a")
    assert (tmp_path / "a").read_text() == "mine"
