"""A plugin's end of the event rings: taking them over, following, replacing a subscription, doing without."""

from __future__ import annotations

import os
import select
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from homed.errors import Denied, InvalidInput, Unavailable
from homed.events import CONTENT_DELTA, SYSTEM, TURN, Bus
from homed.host.ring import LifeRings, Rings
from homed.sdk import Plugin, ring
from homed.sdk.client import Notice
from homed.sdk.ring import BATCH, MANY, PAUSE, Item, RingFds, RingLink, RingReader, take_rings
from homed.sdk.runtime import serve
from homed.wire import methods
from homed.wire.layout.ring import SLOTS, mask_of
from homed.wire.stream import Connection, NoHandler

BOTH = frozenset({methods.NOTICES, methods.CONTENT})


@pytest.fixture
def bus() -> Bus:
    return Bus(lambda: 1000.0)


@pytest.fixture
def life(bus: Bus) -> Iterator[LifeRings]:
    rings = Rings(bus)
    with rings.of(BOTH, packaged=False) as life:
        yield life
    rings.close()


def fds_of(life: LifeRings) -> dict[str, RingFds]:
    return take_rings(dict(life.env))


class Kernel:
    """The kernel's end of ``events.subscribe``; ``mood`` makes it refuse."""

    def __init__(self, life: LifeRings, bus: Bus) -> None:
        self.life, self.bus = life, bus
        self.asked: list[Mapping[str, object]] = []
        self.mood: Callable[[Mapping[str, object]], None] = lambda _: None

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        await trio.lowlevel.checkpoint()
        asked = dict(params or {})
        self.asked.append(asked)
        self.mood(asked)
        if method != "events.subscribe":
            return {"method": method}
        named = asked.get("types")
        types = frozenset(map(str, named)) if isinstance(named, list) else None
        seq = self.bus.seq
        if asked["via"] == "ring":
            seq = self.life.subscribe(types, content=bool(asked.get("content")))
        return {"seq": seq, "cursor": seq, "mask": mask_of(types)}


class Ears:
    """What was heard, and how far."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.seq = 0
        self.busy = trio.Event()
        self.busy.set()

    async def hear(self, items: list[Item], seq: int) -> None:
        self.items += items
        self.seq = seq
        await self.busy.wait()

    def take(self) -> list[object]:
        heard, self.items = self.items, []
        return [one.seq if isinstance(one, Notice) else f"lost {one}" for one in heard]


@asynccontextmanager
async def following(kernel: Kernel) -> AsyncIterator[tuple[RingLink, Ears]]:
    link, ears = RingLink(kernel, fds_of(kernel.life)), Ears()

    async def follow() -> None:
        await link.run(ears.hear)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        yield link, ears
        nursery.cancel_scope.cancel()


def test_the_descriptors_are_taken_and_nobody_else_hears_of_them(life: LifeRings) -> None:
    environ = dict(life.env) | {"PATH": "/bin"}
    for fd in life.pass_fds:
        os.set_inheritable(fd, True)
    taken = take_rings(environ)
    assert environ == {"PATH": "/bin"}
    assert set(taken) == {"notices", "content"}
    assert not any(os.get_inheritable(fd) for fd in life.pass_fds)
    assert take_rings({"HOMED_FD_NOTICES": "7"}) == {}, "without its wake it is no use"
    assert take_rings({"HOMED_FD_CONTENT": "x", "HOMED_FD_CONTENT_WAKE": "-1"}) == {}


async def test_notices_come_as_they_are_posted(life: LifeRings, bus: Bus) -> None:
    kernel = Kernel(life, bus)
    async with following(kernel) as (link, ears):
        bus.post(TURN)
        assert (await link.request("events.subscribe", {"content": True}))["seq"] == 1
        assert kernel.asked == [{"content": True, "via": "ring"}]
        await wait_all_tasks_blocked()
        assert ears.take() == []
        for n in range(3):
            bus.post(TURN, thread="t", data={"n": n})
        await wait_all_tasks_blocked()
        assert ears.items[0] == Notice(2, 1000.0, TURN, "t", "", "", {"n": 0})
        assert (ears.take(), ears.seq) == ([2, 3, 4], 4)
        bus.post(TURN)
        await wait_all_tasks_blocked()
        assert ears.take() == [5]
        assert await link.request("io.threads", {"a": 1}) == {"method": "io.threads"}


async def test_who_is_busy_for_long_is_told_what_it_lost_before_what_comes_next(life: LifeRings, bus: Bus) -> None:
    async with following(Kernel(life, bus)) as (link, ears):
        await link.request("events.subscribe", {"content": True})
        ears.busy = trio.Event()
        bus.post(TURN)
        await wait_all_tasks_blocked()
        for _ in range(SLOTS + 10):
            bus.post(TURN)
        ears.busy.set()
        await wait_all_tasks_blocked()
        assert ears.take() == [1, "lost 10", *range(12, SLOTS + 12)]


async def test_while_much_comes_it_looks_by_itself_and_is_not_woken(
    life: LifeRings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(Kernel(life, bus)) as (link, ears):
        await link.request("events.subscribe", {"content": True})
        wake = fds_of(life)["content"].wake

        async def post(count: int) -> None:
            for _ in range(count):
                bus.post(TURN)
            await wait_all_tasks_blocked()

        await post(MANY - 1)
        assert (ears.seq, readable(wake)) == (MANY - 1, False), "it waits to be woken"
        monkeypatch.setattr(ring, "PAUSE", 3600)
        await post(MANY)
        assert (ears.seq, readable(wake)) == (2 * MANY - 1, True), "the wake it has stands, so that none is written"
        await post(1)
        assert ears.seq == 2 * MANY - 1
    monkeypatch.undo()
    async with following(Kernel(life, bus)) as (link, ears):
        await link.request("events.subscribe", {"content": True})
        await post(MANY)
        with trio.fail_after(60):
            while readable(wake):  # noqa: ASYNC110 - memory sets no event
                await trio.sleep(PAUSE)
        await post(1)
        assert len(ears.take()) == MANY + 1, "and afterwards it is woken again"


def readable(fd: int) -> bool:
    look = select.poll()
    look.register(fd, select.POLLIN)
    return bool(look.poll(0))


async def test_how_far_it_read_is_told_where_nothing_of_it_was_wanted(life: LifeRings, bus: Bus) -> None:
    async with following(Kernel(life, bus)) as (link, ears):
        await link.request("events.subscribe", {"types": ["turn"], "content": True})
        bus.post(TURN)
        for _ in range(SLOTS // 4):
            bus.post(CONTENT_DELTA, data={"text": "not for us"})
        await wait_all_tasks_blocked()
        assert ears.take() == [1]
        assert ears.seq > SLOTS // 8


async def test_a_new_subscription_replaces_the_old_and_nothing_comes_twice(life: LifeRings, bus: Bus) -> None:
    kernel = Kernel(life, bus)
    async with following(kernel) as (link, ears):
        await link.request("events.subscribe", {"content": True})
        bus.post(TURN)

        def meanwhile(_: object) -> None:
            bus.post(SYSTEM)

        kernel.mood = meanwhile
        await link.request("events.subscribe", {"types": ["turn"], "content": False})
        bus.post(SYSTEM)
        bus.post(TURN)
        await wait_all_tasks_blocked()
        assert ears.take() in ([4], [1, 4]), "what the old one had not read is gone with it"


@pytest.mark.parametrize("refusal", [Denied("No."), InvalidInput("What?")])
async def test_a_subscription_that_is_refused_leaves_the_old_one(life: LifeRings, bus: Bus, refusal: Exception) -> None:
    kernel = Kernel(life, bus)
    async with following(kernel) as (link, ears):
        await link.request("events.subscribe", {"content": True})

        def refuse(_: object) -> None:
            bus.post(TURN)
            raise refusal

        kernel.mood = refuse
        with pytest.raises(type(refusal)):
            await link.request("events.subscribe", {"types": ["x"]})
        bus.post(TURN)
        await wait_all_tasks_blocked()
        assert ears.take() == [1, 2]


async def test_without_a_ring_events_come_in_lines(life: LifeRings, bus: Bus) -> None:
    kernel = Kernel(life, bus)

    def none(asked: Mapping[str, object]) -> None:
        if asked["via"] == "ring":
            raise Unavailable("There is no ring.")

    async with following(kernel) as (link, _):
        await link.request("events.subscribe", {"content": True, "via": "rpc"})
        assert [one["via"] for one in kernel.asked] == ["rpc"]
        kernel.mood = none
        await link.request("events.subscribe", {"content": True})
        assert [one["via"] for one in kernel.asked] == ["rpc", "ring", "rpc"]
    link = RingLink(kernel, {})
    await link.request("events.subscribe", {})
    assert kernel.asked[-1]["via"] == "rpc"


async def test_a_kernel_that_is_gone_does_not_keep_a_reader_busy() -> None:
    given, kept = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    rings = Rings(bus := Bus())
    with rings.of(BOTH) as life:
        reader = RingReader(RingFds(fds_of(life)["content"].memory, given), bus.seq, 1)
        os.close(kept)
        await reader.news()
        reader.drain()
        with trio.move_on_after(0.05) as waited:
            await reader.news()
        assert waited.cancelled_caught
        reader.close()
    rings.close()
    os.close(given)


async def test_a_runtime_hands_on_notices_losses_and_how_far_it_came(life: LifeRings, bus: Bus) -> None:
    plugin, heard = Plugin("sample"), list[object]()

    @plugin.on("event")
    async def event(notice: Notice) -> None:
        await trio.lowlevel.checkpoint()
        heard.append(notice.seq)

    @plugin.on("lost")
    async def lost(count: int) -> None:
        await trio.lowlevel.checkpoint()
        heard.append(f"lost {count}")

    @plugin.on("passed")
    async def passed(seq: int) -> None:
        await trio.lowlevel.checkpoint()
        heard.append(f"passed {seq}")

    @plugin.main
    async def main(kernel: Any) -> None:
        assert await kernel.subscribe() == 0
        heard.append("subscribed")

    class Home(NoHandler):
        async def request(self, method: str, params: Mapping[str, Any]) -> object:
            return await Kernel(life, bus).request(method, params)

    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        connection = Connection(ours, ours, Home())
        await nursery.start(connection.run)
        nursery.start_soon(serve, plugin, theirs, theirs, fds_of(life))
        hello = {"protocol": 1, "core_version": "x", "name": "sample", "areas": {}}
        await connection.request(methods.HANDSHAKE, hello)
        await connection.request(methods.INIT, {"config": {}, "data_dir": "/tmp"})
        await connection.request(methods.START, {})
        with trio.fail_after(60):
            while heard != ["subscribed"]:
                await wait_all_tasks_blocked()
        bus.post(TURN)
        bus.post(CONTENT_DELTA, data={"text": "x" * (2 << 20)})
        await wait_all_tasks_blocked()
        assert heard[1:] == [1, "lost 1", "passed 2"]
        for _ in range(2 * BATCH):
            bus.post(TURN)
        await wait_all_tasks_blocked()
        assert heard[4:] == list(range(3, 2 * BATCH + 3))
        await connection.request(methods.STOP)
        await ours.aclose()
        nursery.cancel_scope.cancel()
