"""Who wants a lazy plugin to run, counted."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from homed.errors import Unavailable
from homed.host.demand import Demand
from tests.kit.fake_child import FakeRunning


async def test_calls_leases_and_waiters_each_keep_it_from_being_idle(autojump_clock: MockClock) -> None:
    demand, running = Demand(), FakeRunning()
    assert demand.idle(10) is False  # it begins as used just now
    await trio.sleep(10)
    assert demand.idle(10)
    call = demand.enter(running)
    await trio.sleep(100)
    assert (demand.idle(10), demand.idle_at(10)) == (False, trio.current_time() + 10)
    demand.leave(call)
    assert (demand.idle(10), demand.idle_at(10)) == (False, trio.current_time() + 10)
    await trio.sleep(10)
    assert demand.idle(10)
    demand.hold("music", True)
    demand.hold("music", True)
    await trio.sleep(100)
    assert not demand.idle(10)
    demand.hold("music", False)
    demand.hold("other", False)
    await trio.sleep(9)
    assert not demand.idle(10)
    await trio.sleep(1)
    assert demand.idle(10)


async def test_who_waits_first_is_served_and_counted_in_the_same_step(autojump_clock: MockClock) -> None:
    demand, running = Demand(), FakeRunning()
    waiter = demand.enter(None)
    demand.ask()
    assert [demand.any] == [True]
    demand.serve(running)
    assert [demand.any] == [False]
    await trio.sleep(100)
    assert not demand.idle(10)
    assert await waiter.running() is running
    demand.leave(waiter)
    demand.leave(waiter)
    await trio.sleep(10)
    assert demand.idle(10)


async def test_a_refusal_reaches_all_who_wait_and_none_who_run() -> None:
    demand = Demand()
    waiting, running = demand.enter(None), demand.enter(FakeRunning())
    demand.refuse("It crashed.", "Wait.")
    with pytest.raises(Unavailable, match="It crashed") as caught:
        await waiting.running()
    assert caught.value.hint == "Wait."
    await running.running()
    assert not demand.any
    assert not demand.idle(0)


async def test_the_end_of_a_life_ends_its_leases() -> None:
    demand = Demand()
    demand.hold("b", True)
    demand.hold("a", True)
    assert list(demand.leases) == ["a", "b"]
    demand.ended()
    assert list(demand.leases) == []
