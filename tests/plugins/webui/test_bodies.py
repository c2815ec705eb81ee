"""Bodies as they come over a real connection: none is held whole that need not be, none holds a line for ever."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from plugins.webui import bodies
from plugins.webui.bodies import HIGH_WATER, MAX_BODY, Body
from plugins.webui.routes import MAX_UPLOAD

from .serving import Served, serving
from .standin import StandIn

CHUNK = 64 * 1024


class SlowKernel(StandIn):
    """One that takes uploads only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.open = trio.Event()
        self.took: list[int] = []

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        if method == "io.upload":
            await self.open.wait()
            self.took.append(len(base64.b64decode(str(params["data"]))))
        return await super().call(method, params)


async def upload_head(served: Served, stream: trio.SocketStream, size: int, **more: str) -> None:
    given = {"Content_Type": "text/plain", "X_File_Name": "big.txt", "Content_Length": str(size), **more}
    await served.send_head(stream, "POST /api/v1/uploads", **given)


async def called(served: Served, method: str) -> None:
    """Until the page has called it."""
    with trio.fail_after(60):
        while all(name != method for name, _ in served.kernel.calls):
            await trio.testing.wait_all_tasks_blocked(0.01)


async def test_an_upload_goes_on_in_pieces_and_is_never_held_whole() -> None:
    """The sender is held up by a kernel that takes nothing: 20 MiB do not pile up here."""
    kernel = SlowKernel()
    async with serving(kernel) as served, await served.connect() as stream:
        await upload_head(served, stream, MAX_UPLOAD)
        sent = 0

        async def send_all() -> None:
            nonlocal sent
            while sent < MAX_UPLOAD:
                await stream.send_all(b"x" * CHUNK)
                sent += CHUNK

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_all)
            seen = -1
            with trio.fail_after(60):
                while seen != sent:  # until it moves no more
                    seen = sent
                    await trio.sleep(0.3)
            assert sent < MAX_UPLOAD / 2, "the rest is in the sender's and the system's hands"
            kernel.open.set()
        assert await served.status_of(stream) == 201
        assert sum(kernel.took) == MAX_UPLOAD
        assert max(kernel.took) <= 512 * 1024
        assert len(kernel.took) > 40


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_file_over_the_limit_is_refused_and_forgotten(chunked: bool) -> None:
    async with serving() as served, await served.connect() as stream:
        if chunked:
            head = {"Content_Type": "text/plain", "X_File_Name": "b", "Transfer_Encoding": "chunked"}
            await served.send_head(stream, "POST /api/v1/uploads", **head)
            piece = b"%x\r\n%b\r\n" % (CHUNK, b"x" * CHUNK)
            for _ in range(MAX_UPLOAD // CHUNK + 1):
                await stream.send_all(piece)
        else:
            await upload_head(served, stream, MAX_UPLOAD + 1)
        assert await served.status_of(stream) == 413
        assert all(not known["last"] for known in served.kernel.uploads.values())
        assert bool(chunked) == ("io.upload_cancel" in {name for name, _ in served.kernel.calls})


async def test_an_upload_that_breaks_off_is_forgotten_by_the_kernel() -> None:
    async with serving() as served:
        async with await served.connect() as stream:
            await upload_head(served, stream, 2 * MAX_BODY)
            await stream.send_all(b"x" * MAX_BODY)
            await called(served, "io.upload")
        await called(served, "io.upload_cancel")


@pytest.mark.parametrize("path", ["/api/v1/chat", "/api/v1/login", "/api/v1/uploads"])
async def test_a_half_sent_body_is_waited_for_so_long_and_no_longer(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow loris: the head and some of the body, and then nothing."""
    monkeypatch.setattr(bodies.Body.whole, "__kwdefaults__", {"patience": 0.2})
    monkeypatch.setattr(bodies.Body.pieces, "__kwdefaults__", {"patience": 0.2})
    monkeypatch.setattr(bodies, "LINGER_SECONDS", 0.1)
    async with serving() as served, await served.connect() as stream:
        kind = "text/plain" if path.endswith("uploads") else "application/json"
        head = {"Content_Type": kind, "X_File_Name": "a", "Content_Length": "1000"}
        await served.send_head(stream, f"POST {path}", **head)
        await stream.send_all(b'{"text": "ha')
        assert await served.status_of(stream) == 408
        with trio.fail_after(60):
            while await stream.receive_some():
                pass  # and the line ends


async def test_a_body_that_trickles_is_no_whole_body_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies.Body.whole, "__kwdefaults__", {"patience": 0.5})
    async with serving() as served, await served.connect() as stream, trio.open_nursery() as nursery:
        head = {"Content_Type": "application/json", "Content_Length": "1000000", "X_File_Name": "a"}
        await served.send_head(stream, "POST /api/v1/chat", **{**head, "Content_Length": "100000"})

        async def trickle() -> None:
            while True:
                await stream.send_all(b" ")
                await trio.sleep(0.05)

        nursery.start_soon(trickle)
        assert await served.status_of(stream) == 408
        nursery.cancel_scope.cancel()


async def test_a_refused_body_goes_by_and_the_line_serves_the_next_request() -> None:
    """A server whose queue is full of a body that nobody reads stands still for good."""
    async with serving() as served, await served.connect() as stream:
        for _ in range(2):
            size = 2 * MAX_BODY
            given = {"Content_Type": "application/json", "Content_Length": str(size), "Cookie": "none=1"}
            await served.send_head(stream, "POST /api/v1/chat", **given)
            for _ in range(size // CHUNK):
                await stream.send_all(b"x" * CHUNK)
            assert await served.status_of(stream) == 413


async def test_a_stranger_with_a_slow_body_is_answered_at_once() -> None:
    async with serving() as served, await served.connect() as stream:
        given = {"Content_Type": "application/json", "Content_Length": "1000", "Cookie": "none=1"}
        await served.send_head(stream, "POST /api/v1/chat", **given)
        with trio.fail_after(20):  # whoever waits for the body does so for 30 s
            assert await served.status_of(stream) == 401


async def test_whoever_brings_a_body_waits_while_nobody_takes_it() -> None:
    body = Body(None, None)
    async with trio.open_nursery() as nursery:

        async def bring() -> None:
            for _ in range(8):
                await body.put(b"x" * (HIGH_WATER // 2))
            body.set_complete()

        nursery.start_soon(bring)
        await trio.testing.wait_all_tasks_blocked()
        assert len(body._data) == HIGH_WATER
        assert len(await body.whole(4 * HIGH_WATER)) == 4 * HIGH_WATER
    body.drop()
    await body.put(b"x" * 2 * HIGH_WATER)
    assert not body._data
