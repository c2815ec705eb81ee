"""Kernel schedules: what is due and told, by table; the loop on a clock that does not wait; what a restart leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import Conflict, HomedError, InvalidInput, NotFound, PluginFailed, StorageError, Unavailable
from homed.host.schedule import MOST, Due, Schedule, Schedules, as_params, due, moved_on
from homed.wire.manifest import Manifest, ScheduleSpec
from tests.kit.memory_store import MemoryStore

BEGIN = 1_000_000.0


@pytest.mark.parametrize(
    ("at", "every", "now", "told", "following"),
    [
        (None, 60.0, 1e9, None, None),
        (100.0, None, 99.9, None, None),
        (100.0, None, 100.0, Due(100.0), "gone"),
        (100.0, None, 9999.0, Due(100.0), "gone"),
        (100.0, 60.0, 100.0, Due(100.0), 160.0),
        (100.0, 60.0, 159.9, Due(100.0), 160.0),
        (100.0, 60.0, 160.0, Due(160.0, 1), 220.0),
        (100.0, 60.0, 100.0 + 60 * 24, Due(100.0 + 60 * 24, 24), 100.0 + 60 * 25),
    ],
)
def test_what_is_told_and_when_next(
    at: float | None, every: float | None, now: float, told: Due | None, following: float | str | None
) -> None:
    schedule = Schedule("rss", "poll", at, every)
    assert due(schedule, now) == told
    if told is not None:
        after = moved_on(schedule, told)
        assert (after.at if after else "gone") == following


@given(st.floats(0, 1e6), st.floats(10, 1e6), st.floats(0, 1e9))
def test_one_telling_counts_all_missed_times_and_the_next_lies_ahead(at: float, every: float, late: float) -> None:
    told = due(Schedule("rss", "poll", at, every), at + late)
    assert told is not None
    assert told.at <= at + late
    assert told.missed == round((told.at - at) / every)
    after = moved_on(Schedule("rss", "poll", at, every), told)
    assert after is not None
    assert after.at is not None
    assert after.at > at + late - every * 1e-6


class World:
    """Schedules with everything around them.  ``errors`` are raised by the next tellings, in order."""

    def __init__(self, store: MemoryStore) -> None:
        self.told: list[tuple[float, str, str, float, int]] = []
        self.errors: list[HomedError] = []
        self.able = True
        self.takes = 0.0
        self.schedules = Schedules(store, self.wall, self._tell, lambda _: self.able)

    def wall(self) -> float:
        return BEGIN + trio.current_time()

    async def _tell(self, schedule: Schedule, told: Due) -> object:
        await trio.sleep(self.takes)
        self.told.append((trio.current_time(), schedule.plugin, schedule.name, told.at - BEGIN, told.missed))
        if self.errors:
            raise self.errors.pop(0)
        return {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Schedules]:
        await self.schedules.load()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.schedules.run)
            yield self.schedules
            nursery.cancel_scope.cancel()


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore("plugins.sql", "plugin_schedules")
    yield made
    made.close()


async def test_once_and_again_each_at_its_time(autojump_clock: MockClock, store: MemoryStore) -> None:
    world = World(store)
    async with world.running() as schedules:
        assert await schedules.set("rss", "poll", at=None, every=60.0) == BEGIN + 60
        assert await schedules.set("timer", "due", at=BEGIN + 90.5, every=None) == BEGIN + 90.5
        await trio.sleep(200)
        assert [(s.name, s.at) for s in schedules.of("rss")] == [("poll", BEGIN + 240)]
        assert schedules.of("timer") == []
    assert world.told == [
        (60.0, "rss", "poll", 60.0, 0), (90.5, "timer", "due", 90.5, 0), (120.0, "rss", "poll", 120.0, 0),
        (180.0, "rss", "poll", 180.0, 0),
    ]  # fmt: skip


async def test_what_was_missed_while_homed_was_down_is_told_once_at_the_next_start(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    async with World(store).running() as schedules:
        await schedules.set("rss", "poll", at=BEGIN + 10, every=60.0)
        await schedules.set("timer", "due", at=BEGIN + 20, every=None)
    await trio.sleep(600)
    world = World(store)
    async with world.running():
        await trio.sleep(5)
    assert sorted(world.told) == [(600.0, "rss", "poll", 550.0, 9), (600.0, "timer", "due", 20.0, 0)]
    third = World(store)
    async with third.running():
        await trio.sleep(5.5)
    assert third.told == [(610.0, "rss", "poll", 610.0, 0)]


async def test_one_whose_plugin_cannot_run_waits_for_it_and_is_told_at_once_then(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    world.able = False
    async with world.running() as schedules:
        await schedules.set("rss", "poll", at=BEGIN + 10, every=60.0)
        await trio.sleep(95)
        assert world.told == []
        world.able = True
        schedules.look()
        await wait_all_tasks_blocked()
        assert world.told == [(95.0, "rss", "poll", 70.0, 1)]


async def test_a_plugin_that_goes_away_in_the_middle_is_told_again_ever_later_one_that_fails_is_not(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    world.errors = [Unavailable("It ended."), Unavailable("It ended."), Unavailable("It ended.")]
    async with world.running() as schedules:
        await schedules.set("timer", "due", at=BEGIN + 10, every=None)
        await trio.sleep(100)
        assert [when for when, *_ in world.told] == [10, 15, 25, 45]
        world.told.clear()
        world.errors = [PluginFailed("No network.")]
        await schedules.set("rss", "poll", at=None, every=60.0)
        await trio.sleep(130)
        assert [when for when, *_ in world.told] == [160, 220]


async def test_it_is_not_told_twice_at_once_and_a_time_that_the_plugin_sets_meanwhile_stands(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    world.takes = 100.0
    async with world.running() as schedules:
        await schedules.set("timer", "due", at=BEGIN + 10, every=None)
        await trio.sleep(50)
        await schedules.set("timer", "due", at=BEGIN + 300, every=None)
        await trio.sleep(100)
        assert [s.at for s in schedules.of("timer")] == [BEGIN + 300]
        await schedules.set("rss", "poll", at=BEGIN + 155, every=10.0)
        await trio.sleep(150)
    assert [(when, name, missed) for when, _, name, _, missed in world.told] == [
        (110, "due", 0), (255, "poll", 0),
    ]  # fmt: skip


async def test_a_long_telling_of_one_holds_up_no_other(autojump_clock: MockClock, store: MemoryStore) -> None:
    world = World(store)
    world.takes = 30.0
    async with world.running() as schedules:
        await schedules.set("rss", "poll", at=BEGIN + 10, every=None)
        await schedules.set("timer", "due", at=BEGIN + 11, every=None)
        await trio.sleep(60)
    assert [when for when, *_ in world.told] == [40, 41]


async def test_a_wall_clock_that_is_set_forward_is_seen_within_a_nap(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world, ahead = World(store), 0.0
    world.schedules = Schedules(store, lambda: world.wall() + ahead, world._tell, lambda _: True)
    async with world.running() as schedules:
        await schedules.set("timer", "due", at=BEGIN + 7200, every=None)
        await trio.sleep(5)
        ahead = 7200.0
        await trio.sleep(30)
    assert [when for when, *_ in world.told] == [30]


async def test_a_wall_clock_that_is_set_back_makes_none_that_repeats_wait_longer_than_its_period(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world, ahead, later = World(store), 86_400.0 * 365, BEGIN + 86_400.0 * 365 + 7200
    world.schedules = Schedules(store, lambda: world.wall() + ahead, world._tell, lambda _: True)
    async with world.running() as schedules:
        await schedules.set("rss", "poll", at=None, every=60.0)
        await schedules.set("rss", "begins", at=later, every=60.0)
        await schedules.set("timer", "due", at=BEGIN + 200, every=None)
        await trio.sleep(65)
        assert [(when, name) for when, _, name, _, _ in world.told] == [(0, "due"), (60, "poll")]
        ahead = 0.0
        await trio.sleep(30)
        assert [(s.name, s.at) for s in schedules.of("rss")] == [("begins", later), ("poll", BEGIN + 150)]
        await trio.sleep(60)
        assert [(when, name) for when, _, name, _, _ in world.told][2:] == [(150, "poll")]
    async with World(store).running() as schedules:
        assert [s.at for s in schedules.of("rss") if s.name == "poll"] == [BEGIN + 210]


async def test_a_wall_clock_set_back_while_homed_was_down_leaves_no_schedule_of_a_manifest_in_a_far_future(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    world.schedules = Schedules(store, lambda: 2e9 + trio.current_time(), world._tell, lambda _: True)
    async with world.running() as schedules:
        await schedules.adopt(manifest(poll=60.0))
        await trio.sleep(5)
    async with World(store).running() as schedules:
        await schedules.adopt(manifest(poll=60.0))
        assert [s.at for s in schedules.of("rss")] == [BEGIN + 65]


async def test_one_that_its_plugin_sets_in_its_own_past_each_time_is_told_once_a_second_and_not_without_end(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)

    async def tell(schedule: Schedule, told: Due) -> object:
        await world._tell(schedule, told)
        await trio.sleep(0.01)
        return await schedules.set(schedule.plugin, schedule.name, at=told.at - 1, every=None)

    world.schedules = Schedules(store, world.wall, tell, lambda _: True)
    async with world.running() as schedules:
        await schedules.set("timer", "due", at=BEGIN, every=None)
        await trio.sleep(10)
    assert 9 <= len(world.told) <= 11


def manifest(**schedules: float) -> Manifest:
    return Manifest("rss", "1", "x", schedules=tuple(ScheduleSpec(name, every) for name, every in schedules.items()))


async def test_those_of_a_manifest_are_due_at_once_change_with_it_and_may_be_switched_off(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    async with world.running() as schedules:
        await schedules.adopt(manifest(poll=60.0, tidy=600.0))
        await trio.sleep(1)
        assert sorted(name for _, _, name, _, _ in world.told) == ["poll", "tidy"]
        await schedules.clear("rss", "tidy")
        with pytest.raises(NotFound):
            await schedules.clear("rss", "tidy")
    again = World(store)
    async with again.running() as schedules:
        await schedules.adopt(manifest(poll=120.0, tidy=600.0))
        assert [(s.name, s.every) for s in schedules.of("rss")] == [("poll", 120.0)]
        await schedules.set("rss", "poll", at=None, every=30.0)
        await schedules.adopt(manifest(poll=240.0))
        assert [(s.name, s.every) for s in schedules.of("rss")] == [("poll", 30.0)]
        await schedules.clear("rss", "poll")
        await schedules.adopt(manifest(poll=240.0))
        assert [(s.name, s.every) for s in schedules.of("rss")] == [("poll", 240.0)]
        await schedules.forget("rss")
    async with World(store).running() as schedules:
        assert schedules.of("rss") == []


@pytest.mark.parametrize(
    ("name", "at", "every", "says"),
    [("poll", None, None, "needs a time"), ("poll", None, 1.0, "10 to"), ("poll", None, 1e9, "10 to"),
     ("poll", float("nan"), None, "UTC seconds"), ("poll", float("inf"), None, "UTC seconds"),
     ("poll", -1.0, None, "UTC seconds"), ("Poll!", 1.0, None, "name matches"), ("x" * 99, 1.0, None, "name matches")],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(
    autojump_clock: MockClock, store: MemoryStore, name: str, at: float | None, every: float | None, says: str
) -> None:
    async with World(store).running() as schedules:
        with pytest.raises(InvalidInput, match=says):
            await schedules.set("rss", name, at=at, every=every)
        assert schedules.of("rss") == []


async def test_one_plugin_may_have_so_many(autojump_clock: MockClock, store: MemoryStore) -> None:
    async with World(store).running() as schedules:
        for n in range(MOST):
            await schedules.set("rss", f"s{n}", at=None, every=9999.0)
        with pytest.raises(Conflict, match="64 schedules already"):
            await schedules.set("rss", "more", at=None, every=60.0)
        await schedules.set("rss", "s0", at=None, every=60.0)
        await schedules.set("mail", "more", at=None, every=60.0)


async def test_a_full_disk_refuses_a_new_one_and_makes_no_schedule_tell_twice(
    autojump_clock: MockClock, store: MemoryStore
) -> None:
    world = World(store)
    async with world.running() as schedules:
        await schedules.set("timer", "due", at=BEGIN + 10, every=None)
        store.broken = True
        with pytest.raises(StorageError):
            await schedules.set("rss", "poll", at=None, every=60.0)
        await trio.sleep(100)
        assert [when for when, *_ in world.told] == [10]
    store.broken = False
    again = World(store)
    async with again.running():
        await trio.sleep(1)
    assert [name for _, _, name, _, _ in again.told] == ["due"]  # at least once, never lost


def test_the_parameters_of_an_invocation() -> None:
    told = as_params(Schedule("rss", "poll", 1.0, None), Due(5.0, 2))
    assert told == {"name": "poll", "due": 5.0, "missed": 2}
