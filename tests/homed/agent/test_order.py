"""Who runs beside whom: first come, first served, and nobody waits for the call it is made in."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.agent.order import Order


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


async def call(order: Order, log: list[str], name: str, *, beside: bool, seconds: float = 1) -> None:
    async with order.taken(beside=beside):
        log.append(f"{name}+")
        await trio.sleep(seconds)
        log.append(f"{name}-")


async def test_those_that_bear_it_run_together_and_others_alone_in_the_order_they_came(
    autojump_clock: MockClock,
) -> None:
    order, log = Order(), list[str]()
    async with trio.open_nursery() as nursery:
        for name, beside in (("a", True), ("b", True), ("c", False), ("d", True), ("e", False), ("f", False)):

            async def one(name: str = name, beside: bool = beside) -> None:
                await call(order, log, name, beside=beside)

            nursery.start_soon(one)
            await wait_all_tasks_blocked()
    assert sorted(log[:2]) == ["a+", "b+"]
    assert sorted(log[2:4]) == ["a-", "b-"]
    assert log[4:] == ["c+", "c-", "d+", "d-", "e+", "e-", "f+", "f-"]


async def test_one_that_is_cancelled_while_it_waits_holds_up_nobody(autojump_clock: MockClock) -> None:
    order, log = Order(), list[str]()
    async with trio.open_nursery() as nursery:

        async def long() -> None:
            await call(order, log, "long", beside=True, seconds=10)

        nursery.start_soon(long)
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await call(order, log, "alone", beside=False)
        await call(order, log, "beside", beside=True)
    assert log == ["long+", "beside+", "beside-", "long-"]
    await call(order, log, "after", beside=False)
    assert log[-1] == "after-"


async def test_calls_within_those_side_by_side_share_an_order_below(autojump_clock: MockClock) -> None:
    order, log = Order(), list[str]()

    async def outer(name: str) -> None:
        async with order.taken(beside=True):
            await call(order.below, log, name, beside=False)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outer, "a")
        nursery.start_soon(outer, "b")
    assert log in (["a+", "a-", "b+", "b-"], ["b+", "b-", "a+", "a-"])
