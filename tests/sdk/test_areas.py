"""The plugin's end of shared memory: what it maps, what goes by it, and that no program it starts has any of it."""

from __future__ import annotations

import mmap
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from homed.errors import HomedError, ProtocolError, Unavailable
from homed.host.arena import Arena, open_arena
from homed.host.bulk import Bulk
from homed.host.segment import Segment
from homed.sdk.areas import ROOM_WAIT, Areas, BulkLink, Fields, take_areas
from homed.wire import rpc
from homed.wire.layout import PAGE
from homed.wire.layout.arena import CONTENT, KEY
from homed.wire.layout.segment import decode_context, encode_context
from homed.wire.stream import Connection, NoHandler
from homed.wire.version import MAX_LINE

TEXT = "x" * 100_000


def inheritable(fd: str) -> bool:
    try:
        return os.get_inheritable(int(fd))
    except OSError:
        return False  # the listing's own


def test_what_was_given_is_mapped_and_nobody_else_hears_of_it() -> None:
    segment, before = Segment(), [fd for fd in os.listdir("/proc/self/fd") if inheritable(fd)]
    with open_arena("mule") as arena:
        fds = {"HOMED_FD_ARENA": str(os.dup(arena.fd)), "HOMED_FD_SEGMENT": str(os.dup(segment.fd))}
        environ = {**fds, "HOMED_FD_NOTICES": "7", "PATH": "/bin"}
        for number in fds.values():
            os.set_inheritable(int(number), True)
        areas = take_areas(environ)
        assert areas.names == ["arena", "segment"]
        assert environ == {"HOMED_FD_NOTICES": "7", "PATH": "/bin"}
        assert [fd for fd in os.listdir("/proc/self/fd") if inheritable(fd)] == before
        assert areas.arena is not None
        assert len(areas.arena) == arena.size
    segment.close()


@pytest.mark.parametrize("environ", [{}, {"HOMED_FD_ARENA": ""}, {"HOMED_FD_ARENA": "x"}, {"HOMED_FD_SEGMENT": "-1"}])
def test_without_areas_there_are_none(environ: dict[str, str]) -> None:
    assert take_areas(environ).names == []


def test_memory_that_is_no_arena_is_refused() -> None:
    with pytest.raises(ProtocolError):
        Areas(mmap.mmap(-1, 2 * PAGE))


class Kernel(NoHandler):
    """The kernel's end of a conversation with an arena."""

    def __init__(self, arena: Arena) -> None:
        self.misuses: list[str] = []
        self.bulk = Bulk(arena, self.misuses.append)
        self.bulk.used = True
        self.asked: list[tuple[str, Any]] = []
        self.hangs = trio.Event()

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        values: Any = self.bulk.taken(params)
        if method == "core.arena_alloc":
            return {"off": self.bulk.alloc(values["len"])}
        if method == "core.arena_free":
            self.bulk.free(values["off"])
            return {}
        self.asked.append((method, values))
        if method == "hang":
            self.hangs.set()
            await trio.sleep_forever()
        if method == "fail":
            raise HomedError("no")
        return await self.bulk.given({"got": values})


@asynccontextmanager
async def linked(pages: int = 1000) -> AsyncIterator[tuple[BulkLink, Kernel, Arena]]:
    """A plugin's link to a kernel, and the arena between them."""
    ours, theirs = memory_stream_pair()
    with open_arena("mule", CONTENT + pages * PAGE) as arena, mmap.mmap(arena.fd, arena.size) as mapping:
        view = memoryview(mapping)
        kernel = Kernel(arena)
        there, here = Connection(theirs, theirs, kernel), Connection(ours, ours, NoHandler())
        link = BulkLink(here, view)
        there.on_untaken, here.on_untaken = kernel.bulk.untaken, link.untaken
        async with trio.open_nursery() as nursery:
            await nursery.start(there.run)
            await nursery.start(here.run)
            yield link, kernel, arena
            nursery.cancel_scope.cancel()
        view.release()


async def test_calls_large_and_small_and_nothing_left() -> None:
    async with linked() as (link, kernel, arena):
        for params in ({"a": 1}, {"a": TEXT, "b": {"c": ["é" * 100_000]}, "d": None}):
            assert await link.request("ask", params) == {"got": params}
        assert arena.in_use == 0
        with pytest.raises(HomedError, match="no"):
            await link.request("fail", {"a": TEXT})
        assert (arena.in_use, kernel.misuses) == (0, [])


async def test_a_stopped_call_leaves_nothing() -> None:
    async with linked() as (link, kernel, arena):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.request, "hang", {"a": TEXT})
            await kernel.hangs.wait()
            nursery.cancel_scope.cancel()
        with trio.CancelScope() as gone:
            gone.cancel()
            await link.request("ask", {"a": TEXT})
        assert gone.cancelled_caught
        assert await link.request("ask", {"a": "b"}) == {"got": {"a": "b"}}
        assert (arena.in_use, kernel.misuses) == (0, [])


async def test_an_answer_that_comes_too_late_is_given_back_with_the_next_call() -> None:
    async with linked() as (link, kernel, arena):
        framed: Any = await kernel.bulk.given({"got": TEXT})
        link.untaken(framed)
        link.untaken({"got": 1})
        assert arena.in_use > 0
        await link.request("ask", {"a": 1})
        assert (arena.in_use, kernel.misuses) == (0, [])


async def test_room_is_waited_for_so_long_and_no_longer(autojump_clock: MockClock) -> None:
    async with linked(pages=30) as (link, kernel, arena):
        off = kernel.bulk.alloc(20 * PAGE)
        begun = trio.current_time()
        with pytest.raises(Unavailable, match="no room"):
            await link.request("ask", {"a": TEXT})
        assert ROOM_WAIT <= trio.current_time() - begun < ROOM_WAIT + 1
        assert arena.in_use == 20 * PAGE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.answered, {"a": TEXT})
            await trio.sleep(1)
            kernel.bulk.free(off)
        assert arena.in_use == 25 * PAGE


async def test_a_handlers_answer_that_cannot_be_written_leaves_nothing() -> None:
    async with linked() as (link, kernel, arena):
        with pytest.raises(HomedError):
            await link.answered({"a": TEXT, "b": object()})
        await link.request("ask", {"a": 1})
        assert (arena.in_use, kernel.misuses) == (0, [])
        assert await link.answered(None) is None


async def test_a_call_that_cannot_be_written_leaves_nothing() -> None:
    async with linked() as (link, kernel, arena):
        with pytest.raises(HomedError):
            await link.request("ask", {"a": TEXT, "b": object()})
        await link.request("ask", {"a": 1})
        assert (arena.in_use, kernel.misuses) == (0, [])


@pytest.mark.parametrize("short", [0, 40, 200, 300])
async def test_an_answer_that_just_fits_a_line_is_said_or_leaves_nothing(short: int) -> None:
    async with linked() as (link, kernel, arena):
        many = {f"v{n}": "y" * 60_000 for n in range(17)}
        named = {"x": {"off": CONTENT, "len": len(TEXT), "as": "text"}}
        fill = MAX_LINE - short - len(rpc.encode({**many, "pad": "", KEY: named}))
        assert 0 < fill < 60_000
        try:
            rpc.Peer().reply(123_456, await link.answered({**many, "pad": "z" * fill, "x": TEXT}))
        except HomedError:
            await link.request("ask", {"a": 1})
            assert (arena.in_use, kernel.misuses) == (0, [])
        else:
            assert short == 300


async def test_what_the_kernel_lends_is_read_and_stays_the_kernels() -> None:
    async with linked() as (link, kernel, arena):
        framed, lent = await kernel.bulk.lend({"a": TEXT, "b": 1}, timeout=1)
        assert link.lent(framed) == {"a": TEXT, "b": 1}
        assert arena.in_use > 0
        kernel.bulk.take_back(lent)
        assert link.lent({"b": 1}) == {"b": 1}
        for outside in (arena.size, arena.size - 5):
            with pytest.raises(ProtocolError, match="outside"):
                link.lent({KEY: {"a": {"off": outside, "len": 10, "as": "text"}}})


async def test_without_an_arena_values_stay_in_the_line() -> None:
    ours, _ = memory_stream_pair()
    link = BulkLink(Connection(ours, ours, NoHandler()), None)
    assert await link.answered({"a": TEXT}) == {"a": TEXT}
    with pytest.raises(ProtocolError, match="does not have"):
        link.lent({KEY: {"a": {"off": 1, "len": 1, "as": "text"}}})


def test_fields_are_parsed_when_they_are_looked_at() -> None:
    found = decode_context(encode_context({"phase": "on_input", "extra": {"a": 1}, "final_text": ""}))
    fields = Fields(found)
    assert dict(fields) == {"phase": "on_input", "extra": {"a": 1}, "final_text": ""}
    assert fields["extra"] is fields["extra"]
    assert (len(fields), "llm_text" in fields, fields.get("llm_text", "-")) == (3, False, "-")
    assert repr(fields) == "Fields(phase, extra, final_text)"
