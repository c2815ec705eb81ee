"""The conversation as REST."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from plugins.webui.api_chat import whole_turns
from plugins.webui.asked import MAX_SAID

from .client import Browser, browsing
from .serving import serving
from .standin import OWNER, StandIn, Turn


async def said(browser: Browser, text: str = "hello", **more: object) -> str:
    answer = await browser.post("/api/v1/chat", {"text": text, "client_msg_id": f"m-{text}", **more})
    assert answer.status == 202, answer.body
    await trio.testing.wait_all_tasks_blocked()
    return str(answer.json["thread"])


async def test_the_same_client_msg_id_again_runs_nothing_again() -> None:
    """E42"""
    async with browsing() as browser:
        thread = await said(browser)
        again = await browser.post("/api/v1/chat", {"text": "hello", "client_msg_id": "m-hello"})
        assert again.status == 200
        assert again.json["thread"] == thread
        assert len(browser.kernel.talks[thread].events) == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "", "client_msg_id": "m"},
        {"text": "x"},
        {"text": 5, "client_msg_id": "m"},
        {"text": "x" * (MAX_SAID + 1), "client_msg_id": "m"},
        {"text": "x", "client_msg_id": "m" * 101},
    ],
)
async def test_a_message_that_is_none_is_refused_with_the_field(body: dict[str, object]) -> None:
    async with browsing() as browser:
        answer = await browser.post("/api/v1/chat", body)
        assert answer.status == 400
        assert "'" in answer.json["error"]["message"]
        assert "io.inject" not in {name for name, _ in browser.kernel.calls}


async def test_what_is_said_can_be_asked_back_and_is_the_persons_own() -> None:
    async with browsing() as browser:
        await said(browser)
        inject = next(given for name, given in browser.kernel.calls if name == "io.inject")
        assert inject == {"peer": OWNER, "text": "hello", "client_msg_id": "m-hello", "can_ask": True}


async def test_history_comes_in_pages_and_with_a_cursor() -> None:
    """E39: paged, and nowhere among the settings."""
    async with browsing() as browser:
        thread = await said(browser)
        for n in range(5):
            await said(browser, f"more {n}", thread=thread)
        page = (await browser.get(f"/api/v1/chat/history?thread={thread}&limit=4")).json
        assert [event["text"] for event in page["events"]] == ["more 3", "more 3", "more 4", "more 4"]
        assert page["more"] is True
        assert page["cursor"].startswith(browser.kernel.hub.epoch)
        before = page["events"][0]["seq"]
        older = (await browser.get(f"/api/v1/chat/history?thread={thread}&limit=500&before={before}")).json
        assert len(older["events"]) == 8
        assert older["more"] is False


async def test_history_as_pieces_of_page() -> None:
    async with browsing() as browser:
        thread = await said(browser, "**hello**")
        page = (await browser.get(f"/api/v1/chat/history?thread={thread}&view=html")).json
        assert "<strong>hello</strong>" in page["html"]
        assert page["busy"] is False
        assert "events" not in page


@pytest.mark.parametrize(
    ("query", "status"), [("", 400), ("?thread=none", 404), ("?thread=x&limit=x", 400), ("?thread=x&before=-1", 400)]
)
async def test_a_history_that_is_not_there_says_so(query: str, status: int) -> None:
    async with browsing() as browser:
        assert (await browser.get(f"/api/v1/chat/history{query}")).status == status
        assert (await browser.get("/api/v1/chat/events?thread=none")).status == 404


def test_a_turn_cut_by_the_edge_of_the_page_waits_for_the_page_before() -> None:
    events = [{"kind": kind, "seq": seq} for seq, kind in enumerate(["tool", "assistant", "user", "assistant"])]
    assert [e["seq"] for e in whole_turns({"events": events, "more": True})["events"]] == [2, 3]
    assert len(whole_turns({"events": events, "more": False})["events"]) == 4
    assert len(whole_turns({"events": events[:2], "more": True})["events"]) == 2, "longer than a page: as it is"


async def hang(turn: Turn) -> None:
    await turn.say("half")
    await turn.say("", pause=1_000)


async def test_stop_ends_the_turn() -> None:
    async with browsing(StandIn(hang)) as browser:
        thread = await said(browser)
        assert (await browser.post("/api/v1/chat/stop", {"thread": thread})).json == {"stopped": True}
        await trio.testing.wait_all_tasks_blocked()
        assert browser.kernel.talks[thread].live is None
        assert (await browser.post("/api/v1/chat/stop", {})).status == 400


async def ask(turn: Turn) -> None:
    await turn.tool("cmd_run", {"command": "ls"}, "a.txt", ask=True)


async def test_an_approval_is_listed_and_answered_once() -> None:
    async with browsing(StandIn(ask)) as browser:
        await said(browser)
        waiting = (await browser.get("/api/v1/approvals")).json["approvals"]
        path = f"/api/v1/approvals/{waiting[0]['approval']}"
        for wrong in ({}, {"decision": "maybe"}, {"decision": "allow", "remember": "always"}):
            assert (await browser.post(path, wrong)).status == 400
        assert (await browser.post(path, {"decision": "allow"})).status == 200
        await trio.testing.wait_all_tasks_blocked()
        assert (await browser.post(path, {"decision": "allow"})).status == 404


async def test_threads_are_listed_searched_and_renamed() -> None:
    async with browsing() as browser:
        thread = await said(browser, "about herons")
        await said(browser, "about maps")
        found = (await browser.get("/api/v1/threads?query=heron")).json["threads"]
        assert [one["id"] for one in found] == [thread]
        assert (await browser.post(f"/api/v1/threads/{thread}", {"title": "Birds"})).status == 200
        assert browser.kernel.talks[thread].title == "Birds"
        assert (await browser.post(f"/api/v1/threads/{thread}", {"title": " "})).status == 400
        assert (await browser.get("/api/v1/threads?before=yesterday")).status == 400


async def test_the_head_of_a_stream_ends_and_takes_no_place() -> None:
    async with serving() as served:
        for path, status in [("/api/v1/chat/events", 200), ("/api/v1/chat/events?thread=none", 404)]:
            stream = await served.connect()
            async with stream:
                await served.send_head(stream, f"HEAD {path}", Connection="close")
                with trio.fail_after(60):
                    got = b"".join([part async for part in stream])
            head = got.decode().lower()
            assert head.startswith(f"http/1.1 {status} ")
            assert head.endswith("\r\n\r\n"), "no body"
            assert status != 200 or ("text/event-stream" in head and "content-length" not in head)
