"""A plugin's one subscription: by ring or by line, and the change from one to the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed.errors import InvalidInput, Unavailable
from homed.events import SYSTEM, TURN, Bus
from homed.host.follow import WAITING, Follower
from homed.host.ring import NO_RINGS, LifeRings, Rings
from homed.wire import methods


class Pipe:
    """What went into a plugin's pipe; ``open`` lets more in."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, object]] = []
        self.open = trio.Event()
        self.open.set()
        self.full = False

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        await self.open.wait()
        if len(str(params)) > 2000:
            raise InvalidInput("More than a line holds.")
        self.lines.append((method, params.get("count") or params.get("seq")))


@asynccontextmanager
async def follower(rings: LifeRings, bus: Bus) -> AsyncIterator[tuple[Follower, Pipe, trio.Nursery]]:
    pipe = Pipe()
    async with trio.open_nursery() as nursery:
        yield Follower(bus, rings, pipe.notify), pipe, nursery
        nursery.cancel_scope.cancel()


async def test_by_line_notices_come_in_the_pipe_and_losses_are_counted() -> None:
    bus = Bus()
    async with follower(NO_RINGS, bus) as (one, pipe, nursery):
        assert one.by_line(frozenset({TURN}), nursery, content=True) == 0
        for type_, text in ((TURN, ""), (SYSTEM, ""), (TURN, "x" * 3000), (TURN, "")):
            bus.post(type_, data={"text": text})
        await wait_all_tasks_blocked()
        assert pipe.lines == [("event", 1), ("event.lost", 1), ("event", 4)]
        pipe.lines.clear()
        pipe.open = trio.Event()
        for _ in range(WAITING + 11):
            bus.post(TURN)
        await wait_all_tasks_blocked()
        pipe.open.set()
        await wait_all_tasks_blocked()
        assert pipe.lines[:2] == [("event.lost", 11), ("event", 16)] or pipe.lines[:2] == [
            ("event", 5),
            ("event.lost", 10),
        ]
        assert len(pipe.lines) == WAITING + 1


async def test_what_the_one_way_brought_the_other_brings_no_more() -> None:
    bus = Bus()
    rings = Rings(bus)
    with rings.of(frozenset({methods.NOTICES})) as life:
        async with follower(life, bus) as (one, pipe, nursery):
            one.by_line(None, nursery, content=False)
            bus.post(TURN)
            await wait_all_tasks_blocked()
            assert one.by_ring(None, content=False) == 1
            bus.post(TURN)
            await wait_all_tasks_blocked()
            assert pipe.lines == [("event", 1)]
            assert bus._subscribers == [rings]
            assert one.by_line(None, nursery, content=False) == 2
            bus.post(TURN)
            await wait_all_tasks_blocked()
            assert pipe.lines == [("event", 1), ("event", 3)]
            assert rings not in bus._subscribers
    rings.close()


async def test_without_a_ring_the_earlier_subscription_stays() -> None:
    bus = Bus()
    async with follower(NO_RINGS, bus) as (one, pipe, nursery):
        one.by_line(None, nursery, content=False)
        with pytest.raises(Unavailable):
            one.by_ring(None, content=False)
        bus.post(TURN)
        await wait_all_tasks_blocked()
        assert pipe.lines == [("event", 1)]
