"""A page that follows the stream, however often it loses it, shows what a page loaded afresh shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from homed.errors import Unavailable
from plugins.webui.context import FOLDER, Site, Who
from plugins.webui.fragments import Fragments
from plugins.webui.guard import Guard
from plugins.webui.stream import EventStream
from plugins.webui.view import ThreadView

from .page import Page
from .standin import OWNER, Said, Script, StandIn, Turn

ME = Who(OWNER, "owner", "session-1")
TEXT = "One **two**.\n\n- a\n- b\n\n```py\nx = 1\n```\n\nThe end, 再见🌍."


async def script(turn: Turn) -> None:
    await turn.think("I ", "should ", "look.", pause=0.02)
    await turn.say("Let me ", "look.", pause=0.02)
    await turn.tool("files_read", {"path": "a"}, "the file", pause=0.1)
    await turn.say(*(TEXT[i : i + 5] for i in range(0, len(TEXT), 5)), pause=0.02)


class Browser:
    """Loads a page and follows its stream."""

    def __init__(self, site: Site, kernel: StandIn, thread: str) -> None:
        self.site, self.kernel, self.thread, self.page = site, kernel, thread, Page()
        self.frames = 0
        self.loads = 0

    def load(self) -> None:
        history = self.kernel.io_history(OWNER, self.thread)
        self.page.load(self._view().sections(history), self.site.hub.cursor(history["seq"]))
        self.loads += 1

    def _view(self) -> ThreadView:
        words = self.site.words["en"]
        return ThreadView(Fragments(self.site.templates, words), self.thread)

    def stream(self) -> EventStream:
        return EventStream(self.site, ME, self._view(), thread=self.thread, cursor=self.page.cursor)

    async def follow(self, *, drop_after: int = 1_000_000, drops: int = 1_000_000) -> None:
        """Read until the turn is over; lose the line ``drops`` times after ``drop_after`` reads and come back."""
        while True:
            stream = self.stream()
            drops -= 1
            try:
                for _ in range(drop_after if drops >= 0 else 1_000_000):
                    self.page.read(await anext(stream))
                    self.frames += 1
                    if "sync_required" in self.page.other:
                        self.page.other.clear()
                        self.load()
                        break
                    if self.over:
                        return
            finally:
                await stream.aclose()
            await trio.sleep(0.01)  # as a browser does before it comes back

    @property
    def over(self) -> bool:
        return not self.page.live and any("end" in parts for parts in self.page.parts.values())


def site_on(kernel: StandIn, heartbeat: float = 15.0) -> Site:
    built = Site.build(kernel, kernel.hub, Guard(), port=0)
    return Site(built.kernel, built.hub, built.guard, built.words, built.templates, heartbeat=heartbeat)


@asynccontextmanager
async def talking(kernel: StandIn) -> AsyncIterator[str]:
    """A thread in which a turn has just begun."""
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        said = await kernel.call("io.inject", {"peer": OWNER, "text": "look", "client_msg_id": "m1"})
        yield said["thread"]
        nursery.cancel_scope.cancel()


def words(page: Page) -> dict[str, str]:
    """What is shown but the end, which only a live page has, and a card's time."""
    return {key: text.replace("0.2 s · ", "") for (_, key), text in page.shown().items() if key != "end"}


async def fresh(kernel: StandIn, thread: str) -> dict[str, str]:
    browser = Browser(site_on(kernel), kernel, thread)
    browser.load()
    return words(browser.page)


@pytest.mark.parametrize("drop_after", [1, 2, 3, 5, 8, 1_000_000])
async def test_however_often_the_line_is_lost_nothing_is_lost_or_twice(
    autojump_clock: trio.testing.MockClock, drop_after: int
) -> None:
    """D4, E41"""
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await browser.follow(drop_after=drop_after)
        assert words(browser.page) == await fresh(kernel, thread)
        assert browser.loads == 1, "no reload was needed"
        assert kernel.hub.watchers == 0


async def uninterrupted() -> int:
    """How many reads a page needs for the scripted turn if nothing goes wrong."""
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await browser.follow()
        return browser.frames


async def test_wherever_the_line_is_lost_once_nothing_is_lost_or_twice(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """D4: after k events, for every k of a turn, and back by Last-Event-ID."""
    reads = await uninterrupted()
    assert reads > 8
    for k in range(1, reads + 1):
        kernel = StandIn(script)
        async with talking(kernel) as thread:
            browser = Browser(site_on(kernel), kernel, thread)
            browser.load()
            await browser.follow(drop_after=k, drops=1)
            assert words(browser.page) == await fresh(kernel, thread), k
            assert browser.loads == 1, k
            assert kernel.hub.watchers == 0


async def test_a_finished_turn_stays_finished_however_often_the_page_comes_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """D4: no false "connection lost", no turn that runs again."""
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await browser.follow()
        before = browser.page.shown()
        for _ in range(3):
            stream = browser.stream()
            with trio.move_on_after(20):
                for _ in range(2):
                    browser.page.read(await anext(stream))
            await stream.aclose()
            assert browser.over
            assert browser.page.shown() == before
            assert "sync_required" not in browser.page.other


async def test_a_page_that_comes_back_hears_that_other_threads_changed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("mine")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    kernel.open_talk("another")
    kernel.post("plugin_state", "", "", plugin="shell", state="backoff")
    stream = browser.stream()
    got = await anext(stream)
    assert got.count(b"event: threads") == 1
    assert b'"shell"' in got
    await stream.aclose()


async def test_a_page_without_a_thread_comes_back_by_its_cursor_too(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    browser = Browser(site_on(kernel), kernel, "")
    browser.page.cursor = kernel.hub.cursor(kernel.seq)
    kernel.open_talk("another")
    stream = browser.stream()
    assert b"event: threads" in await anext(stream)
    await stream.aclose()
    browser.page.cursor = "0badbeef-1"
    stream = browser.stream()
    assert b"sync_required" in await anext(stream)
    await stream.aclose()


async def test_progress_passes_and_is_not_kept(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    stream = browser.stream()
    await anext(stream)
    for done in range(2_000):
        kernel.post("progress", talk.id, "turn1", what="reading", done=done, total=2_000)
        if done % 500 == 0:
            assert b"event: progress" in await anext(stream)
    await stream.aclose()
    cursor = kernel.hub.cursor(1)
    missed = kernel.hub.missed(cursor, talk.id)
    assert missed == [], "two thousand of them did not push anything out of the ring"


@pytest.mark.parametrize("known", ["", "text", "reasoning"])
async def test_who_joins_after_the_last_progress_of_a_turn_hears_it_unless_its_answer_has_begun(
    autojump_clock: trio.testing.MockClock, known: str
) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    call = {"call": "c1", "step": 0, "tool": "files_read", "plugin": "files", "class": "read", "args": {}}
    done = {**call, "status": "ok", "result": "", "ms": 1}
    talk.live = {"turn": "turn1", "input": "in1", "step": 1, "text": "", "reasoning": "", "calls": [done]}
    kernel.post("progress", talk.id, "turn1", what="loading", done=3, total=5)
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    if known:
        talk.live[known] = "Hello"  # whose delta is still on its way to the hub
    stream = browser.stream()
    told = await anext(stream)
    await stream.aclose()
    assert (b"event: progress" in told) is (not known)
    if not known:
        assert told.index(b"event: progress") > told.index(b"files_read"), "a card takes what stands beneath it away"
        assert "Loading the model… 60%".encode() in told
    talk.live = None
    stream = browser.stream()
    assert b"event: progress" not in await anext(stream)
    await stream.aclose()


async def test_a_key_that_is_removed_hears_no_more_and_one_without_admin_nothing_of_the_daemon(
    autojump_clock: trio.testing.MockClock,
) -> None:
    kernel = StandIn()
    key = kernel.admin_keys_add(OWNER, "phone", ["chat"])["key"]
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    person = Who(OWNER, "owner", "", key, "phone", frozenset({"chat"}))
    stream = EventStream(browser.site, person, browser._view(), thread=talk.id, cursor=browser.page.cursor)
    await anext(stream)
    kernel.post("plugin_state", "", "", plugin="shell", state="backoff")
    assert b"event: beat" in await anext(stream)
    kernel.admin_keys_remove(OWNER, "phone")
    assert b"logged_out" in await anext(stream)
    await stream.aclose()
    assert browser.site.limits.streams._taken == {}


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4])
async def test_a_page_opened_in_mid_stream_joins_without_a_gap(
    autojump_clock: trio.testing.MockClock, wait: float
) -> None:
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        await trio.sleep(wait)
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await trio.sleep(0.03)  # between the page and its stream
        await browser.follow()
        assert words(browser.page) == await fresh(kernel, thread)


class BusyKernel(StandIn):
    """One whose history takes its time, and whose notices come by a line of their own, later than its answers."""

    def __init__(self, script: Script, *, before: float = 0.0, lag: float = 0.0) -> None:
        super().__init__(script)
        self.delay, self.lag = before, lag
        self.line: list[tuple[float, Said]] = []

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        if method == "io.history":
            await trio.sleep(self.delay)
        return await super().call(method, params)

    def post(self, type_: str, thread: str, turn: str, **data: object) -> None:
        self.seq += 1
        self.line.append((trio.current_time() + self.lag, Said(self.seq, type_, thread, turn, dict(data))))

    async def deliver(self) -> None:
        while True:
            while self.line and self.line[0][0] <= trio.current_time():
                self.hub.publish(self.line.pop(0)[1])
            await trio.sleep(0.005)


async def quick_tools(turn: Turn) -> None:
    for name in "abc":
        await turn.tool(f"files_{name}", {"path": name}, f"the file {name}", pause=0.01)
        await turn.say("Next ", "one.", pause=0.01)


@pytest.mark.parametrize("lag", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("before", [0.0, 0.015, 0.03, 0.06, 0.2])
async def test_a_tool_that_ends_while_the_page_joins_is_not_running_for_ever(
    autojump_clock: trio.testing.MockClock, before: float, lag: float
) -> None:
    kernel = BusyKernel(quick_tools, before=before, lag=lag)
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        nursery.start_soon(kernel.deliver)
        said = await kernel.call("io.inject", {"peer": OWNER, "text": "look", "client_msg_id": "m1"})
        browser = Browser(site_on(kernel), kernel, said["thread"])
        browser.load()
        with trio.fail_after(60):
            await browser.follow()
        assert words(browser.page) == await fresh(kernel, said["thread"])
        nursery.cancel_scope.cancel()


async def test_the_text_comes_in_many_pieces_not_at_the_end(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await browser.follow()
        assert browser.frames > 8


async def test_a_stop_reaches_the_page_within_100_ms(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        await trio.sleep(0.3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(browser.follow)
            await trio.testing.wait_all_tasks_blocked()
            await trio.sleep(0.05)
            began = trio.current_time()
            await kernel.call("io.stop", {"peer": OWNER, "thread": thread})
        assert trio.current_time() - began <= 0.1
        assert "Stopped" in browser.page.shown()[next(iter(browser.page.parts)), "end"]


async def test_a_slow_page_is_told_to_load_afresh(autojump_clock: trio.testing.MockClock) -> None:
    """E41"""
    kernel = StandIn(script)
    async with talking(kernel) as thread:
        browser = Browser(site_on(kernel), kernel, thread)
        browser.load()
        stream = browser.stream()
        await anext(stream)
        for _ in range(2_000):
            kernel.post("tool_call", thread, "turn1", call="c", tool="t", status="running", args={})
        assert b"sync_required" in await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await stream.aclose()


@pytest.mark.parametrize("cursor", ["", "deadbeef-5", "nonsense"])
async def test_a_cursor_of_another_daemon_is_told_to_load_afresh(
    autojump_clock: trio.testing.MockClock, cursor: str
) -> None:
    """D4: homed was restarted; its numbers begin again."""
    kernel = StandIn()
    browser = Browser(site_on(kernel), kernel, kernel.open_talk("t").id)
    browser.page.cursor = cursor
    stream = browser.stream()
    assert b"sync_required" in await anext(stream)
    await stream.aclose()


async def test_silence_is_filled_with_heartbeats(autojump_clock: trio.testing.MockClock) -> None:
    """D4: a proxy that ends silent connections is kept awake; the page's script hears it too."""
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    stream = browser.stream()
    await anext(stream)
    beat = await anext(stream)
    assert trio.current_time() == pytest.approx(15.0)
    assert beat.startswith(b": heartbeat\n")
    assert b"event: beat" in beat
    await stream.aclose()


async def test_who_logs_out_hears_no_more(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    stream = browser.stream()
    await anext(stream)
    kernel.auth_logout("session-1")
    assert b"logged_out" in await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()


async def test_who_logs_out_hears_no_more_of_a_stream_that_is_never_silent(
    autojump_clock: trio.testing.MockClock,
) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    stream = browser.stream()
    await anext(stream)
    kernel.auth_logout("session-1")
    for n in range(10):
        kernel.post("tool_call", talk.id, "turn1", call=f"c{n}", tool="t", status="running", args={})
        if b"logged_out" in await anext(stream):
            break
        await trio.sleep(5)
    assert trio.current_time() <= 20
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()


async def test_a_kernel_that_fails_ends_the_stream_with_a_reload(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    kernel.fail["io.history"] = Unavailable("Gone.")
    assert b"sync_required" in await anext(browser.stream())


async def test_when_the_server_closes_the_streams_end(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    talk = kernel.open_talk("t")
    browser = Browser(site_on(kernel), kernel, talk.id)
    browser.load()
    stream = browser.stream()
    await anext(stream)
    kernel.hub.close()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()


async def test_a_page_without_a_thread_hears_the_daemon_only(autojump_clock: trio.testing.MockClock) -> None:
    kernel = StandIn()
    browser = Browser(site_on(kernel), kernel, "")
    stream = browser.stream()
    await anext(stream)
    kernel.post("content_delta", "t9", "x", step=0, at=0, text="secret")
    kernel.post("plugin_state", "", "", plugin="shell", state="backoff")
    got = await anext(stream)
    assert b"event: plugins" in got
    assert b"secret" not in got
    await stream.aclose()


def test_the_folder_of_the_page_is_its_own() -> None:
    assert (FOLDER / "plugin.json").is_file()


async def test_streams_asked_for_at_once_are_no_more_than_a_peer_may_have() -> None:
    kernel = StandIn()
    browser = Browser(site_on(kernel), kernel, "")
    streams = [browser.stream() for _ in range(70)]  # each was let in while there was still room
    first = [await anext(stream) for stream in streams]
    assert [b"sync_required" in data for data in first] == [False] * 64 + [True] * 6
    assert kernel.hub.watchers == 64
    for stream in streams:
        await stream.aclose()
    assert browser.site.limits.streams._taken == {}
