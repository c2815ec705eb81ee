"""Files, evidence and whole conversations as REST."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from plugins.webui.api_files import PIECE, Sending
from plugins.webui.context import Site, Who
from plugins.webui.guard import Guard
from plugins.webui.limits import Buckets, Limits

from .client import Answer, Browser, browsing
from .serving import serving
from .standin import StandIn

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def sent(browser: Browser, data: bytes, name: str = "a.txt", kind: str = "text/plain") -> Answer:
    return await browser.send("POST", "/api/v1/uploads", data, Content_Type=kind, X_File_Name=quote(name))


async def test_a_file_goes_up_and_goes_with_a_message() -> None:
    async with browsing() as browser:
        answer = await sent(browser, "你好".encode(), "笔记 🍅.md")
        assert answer.status == 201
        assert answer.json == {"upload": "up1", "name": "笔记 🍅.md", "bytes": 6, "media_type": "text/plain"}
        said = {"text": "see", "client_msg_id": "m", "attachments": [answer.json["upload"]]}
        assert (await browser.post("/api/v1/chat", said)).status == 202
        inject = next(given for name, given in browser.kernel.calls if name == "io.inject")
        assert inject["attachments"] == ["up1"]
        wrong = {**said, "client_msg_id": "n", "attachments": ["none"]}
        assert (await browser.post("/api/v1/chat", wrong)).status == 404


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
async def test_a_file_of_any_size_arrives_whole_and_its_last_piece_is_not_empty(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    async with browsing() as browser:
        answer = await sent(browser, data[:size])
        assert answer.json["bytes"] == size
        pieces = [given for name, given in browser.kernel.calls if name == "io.upload"]
        assert [piece["last"] for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        assert all(piece["data"] for piece in pieces)
        assert browser.kernel.uploads["up1"]["content"] == data[:size]


async def test_an_empty_file_is_none() -> None:
    async with browsing() as browser:
        assert (await sent(browser, b"")).status == 400
        assert browser.kernel.uploads == {}


async def test_a_kernel_that_fails_is_told_to_forget_what_it_has() -> None:
    async with browsing() as browser:
        original = browser.kernel.call

        async def call(method: str, params: object) -> object:
            if method == "io.upload" and browser.kernel.uploads:
                raise Unavailable("Full.")
            return await original(method, params)  # type: ignore[arg-type]

        browser.kernel.call = call  # type: ignore[method-assign]
        assert (await sent(browser, b"x" * 2 * PIECE)).status == 503
        assert browser.kernel.uploads == {}


@pytest.mark.parametrize(("name", "status"), [("..%2f..%2fx", 201), ("%0d%0aSet-Cookie%3A%20a", 400), ("", 400)])
async def test_a_hostile_name_makes_no_header_and_no_path(name: str, status: int) -> None:
    async with browsing() as browser:
        answer = await browser.send("POST", "/api/v1/uploads", b"x", Content_Type="text/plain", X_File_Name=name)
        assert answer.status == status
        if status == 201:
            assert answer.json["name"] == "x"
        assert "Set-Cookie" not in answer.headers


async def test_a_picture_is_shown_and_anything_else_is_saved() -> None:
    async with browsing() as browser:
        picture = browser.kernel.put("图.png", "image/png", PNG)
        page = browser.kernel.put('x"; evil="\r\nA: b.html', "text/html", b"<script>alert(1)</script>")
        shown = await browser.get(f"/api/v1/blocks/{picture['id']}")
        assert (shown.status, shown.headers["Content-Type"]) == (200, "image/png")
        assert shown.headers["Content-Disposition"] == "inline; filename=\"_.png\"; filename*=UTF-8''%E5%9B%BE.png"
        assert shown.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert shown.headers["X-Content-Type-Options"] == "nosniff"
        saved = await browser.get(f"/api/v1/blocks/{page['id']}")
        assert saved.headers["Content-Type"] == "application/octet-stream"
        assert saved.headers["Content-Disposition"].startswith("attachment; ")
        assert "A" not in saved.headers
        assert saved.body == "<script>alert(1)</script>"
        assert (await browser.get("/api/v1/blocks/none")).status == 404


async def test_a_small_picture_where_there_is_one_and_else_the_file_itself() -> None:
    async with browsing() as browser:
        new, old = [browser.kernel.put(f"{n}.png", "image/png", PNG) for n in "ab"]
        browser.kernel.blocks[old["id"]]["small"] = b"RIFF small"
        shown = [await browser.get(f"/api/v1/blocks/{block['id']}?small=1") for block in (new, old)]
        assert [one.headers["Content-Type"] for one in shown] == ["image/png", "image/webp"]
        assert shown[1].body == "RIFF small"
        assert (await browser.get(f"/api/v1/blocks/{old['id']}?small=yes")).status == 400


async def test_a_small_picture_that_comes_into_being_in_the_middle_of_a_file_is_not_mixed_into_it() -> None:
    async with browsing() as browser:
        data = "x" * (PIECE + 10)
        block = browser.kernel.put("big.png", "image/png", data.encode())
        whole = browser.kernel.io_block

        def between(**asked: Any) -> dict[str, Any]:
            answer = whole(**asked)
            browser.kernel.blocks[block["id"]]["small"] = b"RIFF small"
            return answer

        browser.kernel.io_block = between  # type: ignore[method-assign,assignment]
        assert (await browser.get(f"/api/v1/blocks/{block['id']}?small=1")).body == data


async def test_a_big_file_comes_in_parts_and_whole() -> None:
    async with browsing() as browser:
        data = "".join(f"{n:07}\n" for n in range(200_000))
        block = browser.kernel.put("big.txt", "text/plain", data.encode())
        answer = await browser.get(f"/api/v1/blocks/{block['id']}")
        assert answer.body == data
        assert answer.headers["Content-Length"] == str(len(data))
        asked = [given for name, given in browser.kernel.calls if name == "io.block"]
        assert len(asked) == -(-len(data) // PIECE)


async def test_the_head_of_a_file_is_its_head_and_nothing_is_read_for_it() -> None:
    async with browsing() as browser:
        block = browser.kernel.put("big.txt", "text/plain", b"x" * 2 * PIECE)
        full, head = [await browser.ask(how, f"/api/v1/blocks/{block['id']}") for how in ("GET", "HEAD")]
        assert (head.status, head.body) == (200, "")
        assert head.headers["Content-Disposition"] == full.headers["Content-Disposition"]
        assert [given["length"] for name, given in browser.kernel.calls if name == "io.block"] == [PIECE, PIECE, 1]
        before = len(browser.kernel.calls)
        head = await browser.ask("HEAD", f"/api/v1/threads/{long_talk(browser)}/export")
        assert (head.status, head.body) == (200, "")
        assert [given.get("limit") for name, given in browser.kernel.calls[before:] if name.startswith("io.")] == [1]


async def test_the_head_of_a_file_says_how_long_it_is() -> None:
    async with serving() as served:
        block = served.kernel.put("big.txt", "text/plain", b"x" * 2 * PIECE)
        async with await served.connect() as stream:
            await served.send_head(stream, f"HEAD /api/v1/blocks/{block['id']}", Connection="close")
            with trio.fail_after(60):
                got = b"".join([part async for part in stream])
        assert f"content-length: {2 * PIECE}\r\n".encode() in got.lower()
        assert got.endswith(b"\r\n\r\n"), "no body"


async def test_an_event_is_shown_word_for_word_in_parts() -> None:
    async with browsing() as browser:
        browser.kernel.remember("e9", "0123456789", thread="t1")
        answer = (await browser.get("/api/v1/events/e9?offset=3&length=4")).json
        assert (answer["text"], answer["offset"], answer["of"]) == ("3456", 3, 10)
        assert answer["event"]["id"] == "e9"
        assert (await browser.get("/api/v1/events/none")).status == 404
        assert (await browser.get("/api/v1/events/e9?offset=-1")).status == 400


async def test_a_turn_is_explained_and_a_thread_deleted() -> None:
    async with browsing() as browser:
        talk = browser.kernel.open_talk("t")
        assert (await browser.get("/api/v1/turns/turn1/explain")).json["turn"] == "turn1"
        assert (await browser.ask("DELETE", f"/api/v1/threads/{talk.id}")).json == {"events": 0, "files": 0}
        assert (await browser.ask("DELETE", f"/api/v1/threads/{talk.id}")).status == 404


def long_talk(browser: Browser) -> str:
    """A thread of many pages, one of whose texts no page shows whole."""
    talk = browser.kernel.open_talk('Tomatoes "第一" / <b>2026</b>')
    for n in range(450):
        browser.kernel.store(talk, f"turn{n}", "user" if n % 2 == 0 else "assistant", f"line {n}")
    whole = "".join(f"[{n}]" for n in range(100_000))
    browser.kernel.store(talk, "x", "tool", f"{whole[:9000]}\n[… 3 of 9 characters left out …]\nend", name="files_read")
    browser.kernel.remember(talk.events[-1]["id"], whole, kind="tool", data={"name": "files_read"})
    return talk.id


async def test_a_thread_is_exported_whole_oldest_first_with_whole_texts() -> None:
    async with browsing() as browser:
        thread = long_talk(browser)
        answer = await browser.get(f"/api/v1/threads/{thread}/export?format=json")
        assert answer.headers["Content-Type"] == "application/json"
        assert "filename*=UTF-8''Tomatoes%20%22%E7%AC%AC%E4%B8%80%22" in answer.headers["Content-Disposition"]
        got = json.loads(answer.body)
        assert [event["text"] for event in got["events"][:450]] == [f"line {n}" for n in range(450)]
        assert got["events"][450]["text"] == browser.kernel.remembered[got["events"][450]["id"]]["text"]
        assert len(got["events"]) == 451
        pages = [given for name, given in browser.kernel.calls if name == "io.history"]
        assert all(given["limit"] <= 200 for given in pages)


async def test_an_export_for_people_reads_as_a_conversation() -> None:
    async with browsing() as browser:
        thread = long_talk(browser)
        answer = await browser.get(f"/api/v1/threads/{thread}/export")
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        assert answer.body.startswith('# Tomatoes "第一" / <b>2026</b>\n')
        assert answer.body.count("## You · ") == answer.body.count("## Answer · ") == 225
        assert "## Tool `files_read` · " in answer.body
        assert "left out" not in answer.body
        assert (await browser.get(f"/api/v1/threads/{thread}/export?format=pdf")).status == 400
        assert (await browser.get("/api/v1/threads/none/export")).status == 404


async def test_an_export_that_breaks_off_is_no_whole_file() -> None:
    """Its line breaks, so that nobody takes half a conversation for all of it."""
    async with serving() as served, await served.connect() as stream:
        talk = served.kernel.open_talk("t")
        for n in range(450):
            served.kernel.store(talk, f"turn{n}", "user", f"line {n}")
        original, asked = served.kernel.call, 0

        async def call(method: str, params: Mapping[str, object]) -> object:
            nonlocal asked
            asked += method == "io.history"
            if asked > 4:
                raise Unavailable("Gone.")
            return await original(method, params)

        served.kernel.call = call  # type: ignore[method-assign]
        await served.send_head(stream, f"GET /api/v1/threads/{talk.id}/export")
        got = b""
        with trio.fail_after(60):
            while more := await stream.receive_some():
                got += more
        assert got.startswith(b"HTTP/1.1 200")
        assert not got.endswith(b"0\r\n\r\n"), "it does not look finished"


async def test_many_uploads_at_once_get_no_more_than_one_would(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    site = Site.build(kernel, kernel.hub, Guard(), port=1)
    site = replace(site, limits=Limits(uploaded=Buckets(100, 10)))
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for n in range(5):
            nursery.start_soon(Sending(site, Who("webui:owner", "owner", "s"), f"{n}", "text/plain").more, b"x" * 100)
    assert trio.current_time() - began >= 40  # 500 bytes, of which 100 are free, at 10 a second
