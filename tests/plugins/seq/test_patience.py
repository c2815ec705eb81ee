"""Limits stand still while a person is asked."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from plugins.seq.patience import Patience


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


async def ask(patience: Patience, *, after: float, for_: float, turn: str = "t", name: str = "a") -> None:
    await trio.sleep(after)
    patience.asked(turn, name)
    await trio.sleep(for_)
    patience.answered(turn, name)


async def took(patience: Patience, seconds: float, work: float) -> tuple[float, bool]:
    begun = trio.current_time()
    with patience.limit("t", seconds) as scope:
        await trio.sleep(work)
    return trio.current_time() - begun, scope.cancelled_caught


async def test_without_questions_it_is_a_time_limit(autojump_clock: MockClock) -> None:
    patience = Patience()
    assert await took(patience, 5, 4) == (4, False)
    assert await took(patience, 5, 100) == (5, True)
    assert not patience._turns


async def test_time_in_which_a_person_is_asked_does_not_count(autojump_clock: MockClock) -> None:
    patience = Patience()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: ask(patience, after=2, for_=50))
        nursery.start_soon(lambda: ask(patience, after=20, for_=60, name="b"))
        nursery.start_soon(lambda: ask(patience, after=1, for_=70, turn="another"))
        assert await took(patience, 5, 1000) == (2 + 78 + 3, True)


async def test_a_limit_that_begins_while_somebody_is_asked_waits_too(autojump_clock: MockClock) -> None:
    patience = Patience()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(took, patience, 100, 60)
        nursery.start_soon(lambda: ask(patience, after=1, for_=20))
        await trio.sleep(10)
        assert await took(patience, 5, 1000) == (11 + 5, True)


async def test_after_a_loss_every_limit_runs(autojump_clock: MockClock) -> None:
    patience = Patience()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: ask(patience, after=1, for_=1000))

        async def lose() -> None:
            await trio.sleep(10)
            patience.unsure()

        nursery.start_soon(lose)
        assert await took(patience, 5, 900) == (14, True)
        nursery.cancel_scope.cancel()
