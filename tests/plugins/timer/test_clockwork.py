"""Timers told when due, on a mock clock."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
import trio
from trio.testing import MockClock

from plugins.timer.book import Timer
from plugins.timer.clockwork import NAP, RETRY, Clockwork, Due, due, moved_on

NINE = datetime(2026, 3, 8, 13, tzinfo=UTC).timestamp()  # 09:00 in New York, the day clocks are changed
ONCE = Timer("t1", "tea", NINE, "", "America/New_York", "th", NINE - 100)
DAILY = replace(ONCE, id="t2", cron="0 9 * * *")


@dataclass
class World:
    """A wall clock that runs with Trio's, and everything told and saved."""

    start: float
    told: list[tuple[float, str]] = field(default_factory=list)
    saved: list[dict[str, Timer]] = field(default_factory=list)
    refuse: int = 0
    jump: float = 0

    def wall(self) -> float:
        return self.start + trio.current_time() + self.jump

    async def save(self, timers: Mapping[str, Timer]) -> None:
        await trio.lowlevel.checkpoint()
        self.saved.append(dict(timers))

    async def tell(self, due: Due) -> bool:
        await trio.lowlevel.checkpoint()
        if self.refuse:
            self.refuse -= 1
            return False
        self.told.append((self.wall(), due.client_msg_id))
        return True

    def clockwork(self, *timers: Timer) -> Clockwork:
        return Clockwork({timer.id: timer for timer in timers}, self.save, self.tell, self.wall)


@pytest.fixture
def world() -> World:
    return World(NINE - 50)


async def run_for(clockwork: Clockwork, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await clockwork.run()


async def test_a_timer_is_told_when_due_once_and_forgotten(autojump_clock: MockClock, world: World) -> None:
    clockwork = world.clockwork(ONCE)
    await run_for(clockwork, 1_000)
    assert [(round(at - NINE, 3), id_) for at, id_ in world.told] == [(0, f"t1@{NINE:.0f}")]
    assert clockwork.timers == {}
    assert world.saved == [{}]


async def test_a_daily_timer_moves_on_to_the_same_wall_clock_time(autojump_clock: MockClock, world: World) -> None:
    clockwork = world.clockwork(DAILY)
    await run_for(clockwork, 2 * 86_400)
    assert [round(at - NINE) for at, _ in world.told] == [0, 86_400]
    assert clockwork.timers["t2"].next_at == NINE + 2 * 86_400


async def test_a_missed_timer_is_told_at_once_and_says_so(autojump_clock: MockClock, world: World) -> None:
    await run_for(world.clockwork(replace(ONCE, next_at=NINE - 7_200)), 1)
    assert len(world.told) == 1


async def test_a_refusal_is_tried_again_and_nothing_is_lost(autojump_clock: MockClock, world: World) -> None:
    world.refuse = 3
    clockwork = world.clockwork(ONCE)
    await run_for(clockwork, 50 + 7 * RETRY + 1)
    assert [round(at - NINE) for at, _ in world.told] == [round(7 * RETRY)]
    assert clockwork.timers == {}


async def test_one_refused_again_and_again_is_tried_with_growing_pauses_and_then_starts_anew(
    autojump_clock: MockClock, world: World
) -> None:
    tries: list[tuple[int, int]] = []
    refuse = 10

    async def tell(due: Due) -> bool:
        tries.append((round(world.wall() - NINE), due.refusals))
        await trio.lowlevel.checkpoint()
        return len(tries) > refuse

    clockwork = replace(world.clockwork(DAILY), tell=tell)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_for, clockwork, 3 * 86_400)
        await trio.sleep(60)
        for n in range(50):  # what else goes on is no reason to try it sooner
            await clockwork.put(replace(ONCE, id=f"far{n}", next_at=NINE + 9e6))
            await trio.sleep(0.1)
    pauses = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(tries[: refuse + 1])]
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]
    assert [refusals for _, refusals in tries] == [*range(refuse + 1), 0, 0]


async def test_one_kept_aside_is_never_told_and_stays_in_what_is_saved(autojump_clock: MockClock, world: World) -> None:
    broken = replace(ONCE, id="t0", zone="US/Obsolete", next_at=float("nan"))
    clockwork = replace(world.clockwork(broken, ONCE), aside={"t0"})
    await run_for(clockwork, 100)
    assert [id_.partition("@")[0] for _, id_ in world.told] == ["t1"]
    assert list(clockwork.timers) == ["t0"]
    assert [list(timers) for timers in world.saved] == [["t0"]]


async def test_a_refused_timer_is_tried_again_soon_though_the_next_one_is_far_off(
    autojump_clock: MockClock, world: World
) -> None:
    world.refuse = 1
    await run_for(world.clockwork(ONCE, replace(ONCE, id="t9", next_at=NINE + 9_000)), 100)
    assert [round(at - NINE) for at, _ in world.told] == [round(RETRY)]


async def test_a_timer_cancelled_while_it_is_being_told_does_not_come_back(
    autojump_clock: MockClock, world: World
) -> None:
    async def drop(_due: Due) -> bool:
        await clockwork.drop("t2")
        return True

    clockwork = replace(world.clockwork(DAILY), tell=drop)
    await run_for(clockwork, 100)
    assert clockwork.timers == {}


async def test_one_that_cannot_be_told_does_not_hold_up_the_others(autojump_clock: MockClock, world: World) -> None:
    clockwork = world.clockwork(replace(ONCE, id="t0", next_at=NINE - 1), ONCE)
    world.refuse = 1
    await run_for(clockwork, 60)
    assert {id_.partition("@")[0] for _, id_ in world.told} == {"t0", "t1"}


async def test_a_timer_that_is_added_or_dropped_while_waiting_counts(autojump_clock: MockClock, world: World) -> None:
    clockwork = world.clockwork(ONCE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_for, clockwork, 100)
        await trio.sleep(1)
        await clockwork.put(replace(ONCE, id="t3", next_at=world.wall() + 2))
        await clockwork.drop("t1")
    assert [id_.partition("@")[0] for _, id_ in world.told] == ["t3"]


async def test_a_clock_that_is_set_forward_is_noticed_within_the_nap(autojump_clock: MockClock, world: World) -> None:
    clockwork = world.clockwork(replace(ONCE, next_at=NINE + 86_400))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_for, clockwork, 2 * NAP)
        await trio.sleep(1)
        world.jump = 86_400 + 100
    assert len(world.told) == 1


async def test_a_failed_save_when_a_timer_is_set_leaves_it_unset(autojump_clock: MockClock, world: World) -> None:
    async def full(timers: Mapping[str, Timer]) -> None:
        await trio.lowlevel.checkpoint()
        raise OSError(28, "No space left on device")

    clockwork = Clockwork({}, full, world.tell, world.wall)
    with pytest.raises(OSError, match="No space"):
        await clockwork.put(ONCE)
    assert clockwork.timers == {}


def test_the_text_says_which_timer_when_and_whether_it_was_missed() -> None:
    assert due(ONCE, NINE + 1).text == "[timer t1, set for 2026-03-08 09:00 America/New_York]\ntea"
    assert due(ONCE, NINE + 600).text == "[timer t1, missed: it was for 2026-03-08 09:00 America/New_York]\ntea"
    assert "and 2 more since]" in due(DAILY, NINE + 2 * 86_400 + 5).text
    assert "at least 99 more since]" in due(replace(DAILY, cron="* * * * *"), NINE + 30 * 86_400).text


def test_missed_repeats_are_told_in_one_message_and_the_next_is_in_the_future() -> None:
    now = NINE + 10 * 86_400 + 5
    assert moved_on({"t2": DAILY}, DAILY, now)["t2"].next_at == NINE + 11 * 86_400
    assert moved_on({"t1": ONCE, "t2": DAILY}, ONCE, now) == {"t2": DAILY}


def test_a_clock_set_back_does_not_fire_the_same_time_twice() -> None:
    assert moved_on({"t2": DAILY}, DAILY, NINE - 3_600)["t2"].next_at == NINE + 86_400


async def test_the_alarm_stands_for_the_next_timer_and_before_it_is_saved(
    autojump_clock: MockClock, world: World
) -> None:
    order: list[str] = []

    async def arm(at: float | None) -> None:
        await trio.lowlevel.checkpoint()
        order.append("none" if at is None else f"arm {at - NINE:g}")

    async def save(timers: Mapping[str, Timer]) -> None:
        order.append("save")
        await world.save(timers)

    clockwork = Clockwork({"t1": ONCE}, save, world.tell, world.wall, arm=arm)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clockwork.run)
        await trio.sleep(1)
        await clockwork.put(replace(ONCE, id="t0", next_at=NINE - 20))
        await clockwork.put(replace(ONCE, id="t3", next_at=NINE + 20))
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert order == ["arm 0", "arm -20", "save", "save", "save", "arm 0", "save", "arm 20", "save", "none"]


@pytest.mark.parametrize(("back", "next_to"), [(-3_600.0, 0.0), (0.0, 0.4)])
async def test_an_alarm_that_has_gone_off_is_set_anew_for_what_is_still_to_come(
    autojump_clock: MockClock, world: World, back: float, next_to: float
) -> None:
    """Woken as the clock was set back, or with another timer right behind: homed has forgotten that alarm."""
    armed: list[float | None] = []

    async def arm(at: float | None) -> None:
        await trio.lowlevel.checkpoint()
        armed.append(at)

    later = replace(ONCE, id="t9", next_at=NINE + next_to)
    clockwork = Clockwork({"t1": ONCE, "t9": later}, world.save, world.tell, world.wall, arm=arm)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clockwork.run)
        await trio.sleep(50 if next_to else 49)
        assert armed == [NINE]
        world.jump = back
        await clockwork.settled()
        assert armed == [NINE, NINE + next_to]
        nursery.cancel_scope.cancel()
