"""The stream of notices: post and forget, bounded, and a slow reader knows what it lost."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed import events
from homed.events import Bus, Notice


def wall() -> float:
    return 1000.0


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown notice type"):
        Bus(wall).post("gossip")


def test_numbers_grow_by_one_and_time_is_the_wall_clocks() -> None:
    bus = Bus(wall)
    first, second = bus.post(events.SYSTEM), bus.post(events.SYSTEM)
    assert (first.seq, second.seq, first.at, bus.seq) == (1, 2, 1000.0, 2)


async def test_a_reader_gets_what_is_posted_while_it_waits_and_only_its_types() -> None:
    bus = Bus(wall)
    seen: list[int] = []

    async def read() -> None:
        with bus.subscribe(frozenset({events.TURN})) as subscription:
            async for notice in subscription:
                seen.append(notice.seq)
                if len(seen) == 2:
                    return

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            bus.post(events.SYSTEM)
            bus.post(events.TURN)
            await wait_all_tasks_blocked()
            bus.post(events.TURN)
    assert seen == [2, 3]


async def test_a_slow_reader_loses_the_oldest_and_is_told_how_many() -> None:
    bus = Bus(wall)
    with bus.subscribe(size=3) as subscription:
        for _ in range(10):
            bus.post(events.SYSTEM)
        subscription.close()
        assert [n.seq async for n in subscription] == [8, 9, 10]
        assert (subscription.take_lost(), subscription.take_lost()) == (7, 0)


async def test_cancelling_a_reader_between_two_notices_loses_nothing() -> None:
    bus = Bus(wall)
    with bus.subscribe() as subscription:
        with trio.move_on_after(0):
            async for _ in subscription:
                pass
        bus.post(events.SYSTEM)
        subscription.close()
        assert [n.seq async for n in subscription] == [1]


def test_without_content_only_ids_and_counts_are_left() -> None:
    notice = Notice(1, 0.0, events.TOOL_CALL, data={"call": "c", "tool": "t", "args": {"x": 1}, "result": "secret"})
    assert notice.without_content().data == {"call": "c", "tool": "t"}


def test_a_subscription_ends_with_its_block() -> None:
    bus = Bus(wall)
    with bus.subscribe() as subscription:
        pass
    bus.post(events.SYSTEM)
    assert subscription.take_lost() == 0


@pytest.mark.parametrize("size", [0, -1])
def test_a_queue_without_room_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size"), Bus(wall).subscribe(size=size):
        pass
