"""The runner: due and not, overlap, failures, pauses, crashes, turns that come first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
import trio

from homed.errors import Conflict, InvalidInput, NotFound
from homed.jobs import book
from homed.jobs.due import Interval, Nightly
from homed.jobs.every import CRASHED
from homed.jobs.job import CALM, IN_HAND, PATIENCE, QUARANTINE, Outage, Run
from homed.store.rows import Tx
from tests.homed.jobs.running import START, Desk, job

HOUR, DAY = 3600.0, 86_400.0


class Counted:
    """Work that notes when it began."""

    def __init__(self, desk: Desk, takes: float = 0.0) -> None:
        self.at: list[float] = []
        self.most = self.now = 0
        self._desk, self._takes = desk, takes

    async def __call__(self, run: Run) -> None:
        self.at.append(self._desk.wall() - START)
        self.now += 1
        self.most = max(self.most, self.now)
        await trio.sleep(self._takes)
        self.now -= 1
        run.seen()


async def test_a_job_runs_when_it_is_due_and_again_after_its_interval(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    async with desk.working(job(work)):
        await trio.sleep(2000)
    assert [round(at) for at in work.at] == [600, 1200, 1800]
    assert await desk.runs("sweep") == [("done", {"seen": 1, "made": 0, "drops": {}, "errors": 0})] * 3


async def test_due_times_outlive_a_restart_and_what_was_missed_runs_once(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    async with desk.working(job(work)):
        await trio.sleep(500)
    async with desk.working(job(work)):
        await trio.sleep(150)
    assert [round(at) for at in work.at] == [600]
    desk.shift = 10 * DAY  # homed was not running, or the machine slept
    async with desk.working(job(work)):
        await trio.sleep(500)
    assert len(work.at) == 2


async def test_nothing_begins_by_itself_right_after_the_start_but_what_is_asked_for(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk = Desk()
    work = Counted(desk)
    async with desk.working(job(work, every=Interval(1.0)), grace=100.0) as jobs:
        await trio.sleep(50)
        assert work.at == []
        await jobs.run_now("sweep")
        await trio.sleep(1)
        assert len(work.at) == 1
        await trio.sleep(90)
        assert len(work.at) > 2


async def test_a_machine_that_slept_is_noticed_though_the_other_clock_stood_still(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk = Desk()
    work = Counted(desk)
    async with desk.working(job(work, every=Interval(DAY))):
        await trio.sleep(100)
        desk.shift = 2 * DAY
        await trio.sleep(60)
    assert len(work.at) == 1


async def test_a_clock_set_back_does_not_stop_a_job_for_as_long(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    desk.shift = 30 * DAY
    async with desk.working(job(work)):
        await trio.sleep(700)
        desk.shift = 0.0
        await trio.sleep(700)
    assert len(work.at) == 2


async def test_a_run_that_lasts_longer_than_its_interval_is_not_overtaken(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk, takes=1000.0)
    async with desk.working(job(work, every=Interval(100.0))) as jobs:
        await trio.sleep(150)
        with pytest.raises(Conflict):
            await jobs.run_now("sweep")
        await trio.sleep(2500)
    assert work.most == 1
    assert [round(at) for at in work.at] == [100, 1200, 2300]  # overlap is skipped, not made up for


async def test_heavy_jobs_run_one_at_a_time_and_light_ones_beside_them(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    heavy, light = Counted(desk, takes=400.0), Counted(desk)
    jobs = [job(heavy, name=name, every=Interval(100.0), heavy=True) for name in ("a", "b")]
    async with desk.working(*jobs, job(light, every=Interval(100.0))):
        await trio.sleep(1200)
    assert heavy.most == 1
    assert len(heavy.at) >= 2
    assert len(light.at) >= 10


async def test_a_failed_run_is_told_apart_from_nothing_found_and_tried_again_later_and_later(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk, begun = Desk(), []

    async def fails(run: Run) -> None:
        begun.append(round(desk.wall() - START))
        await trio.lowlevel.checkpoint()
        raise InvalidInput("my secret diary")

    async with desk.working(job(fails, every=Interval(HOUR))):
        await trio.sleep(HOUR + 60 + 120 + 240 + 100)
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert gaps == [60, 120, 240]
    (last, *_) = await desk.read(lambda tx: book.runs(tx, "sweep", 1))
    assert (last.state, last.counts.error, last.counts.errors) == ("failed", "invalid", 1)


async def test_an_unknown_error_ends_the_run_and_not_the_daemon(
    autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()

    async def breaks(run: Run) -> None:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError

    work = Counted(desk)
    async with desk.working(job(breaks), job(work, name="other")):
        await trio.sleep(650)
    assert [state for state, _ in await desk.runs("sweep")] == ["failed"]
    assert len(work.at) == 1


async def test_a_store_that_cannot_be_written_makes_the_jobs_wait(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    desk.store.broken = True
    async with desk.working(job(work, every=Interval(10.0))):
        await trio.sleep(1000)
        assert work.at == []
        desk.store.broken = False
        await trio.sleep(50)
        assert work.at
        work.at.clear()
        desk.store.broken = True
        await trio.sleep(1000)
        assert len(work.at) <= 1
        desk.store.broken = False
        work.at.clear()
        await trio.sleep(50)
    assert work.at


def units(names: list[str], do: Callable[[str], Awaitable[None]]) -> Callable[[Run], Awaitable[None]]:
    """Work of these units, which a cursor resumes."""

    async def work(run: Run) -> None:
        for name in names:
            if str(run.cursor.get("after", "")) >= name:
                continue
            run.seen()
            if await run.unit(name, lambda name=name: do(name)):  # type: ignore[misc]
                run.made()
            await run.save(after=name)

    return work


async def test_a_unit_that_fails_is_left_alone_after_three_times_listed_and_released(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk, tried = Desk(), []

    async def do(name: str) -> None:
        tried.append(name)
        await trio.lowlevel.checkpoint()
        if name == "b":
            raise ValueError("my secret diary")

    async with desk.working(job(units(["a", "b", "c"], do))) as jobs:
        await trio.sleep(5 * 600 + 1)
        assert tried.count("b") == QUARANTINE
        assert tried.count("a") == tried.count("c") == 5
        (one,) = await jobs.held()
        assert (one.job, one.unit, one.failures, one.error) == ("sweep", "b", 3, "ValueError")
        (view,) = await jobs.list_()
        assert view.held == 1
        with pytest.raises(NotFound):
            await jobs.release("sweep", "a")
        await jobs.release("sweep", "b")
        await trio.sleep(600)
        assert tried.count("b") == QUARANTINE + 1
    runs = await desk.runs("sweep")
    assert [counts["errors"] for _, counts in runs] == [1, 1, 1, 0, 0, 1]
    assert runs[3][1]["drops"] == {"quarantine": 1}
    assert {state for state, _ in runs} == {"done"}


async def test_an_outage_blames_no_unit(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()

    async def do(name: str) -> None:
        await trio.lowlevel.checkpoint()
        raise Outage("No model answers.", "connect")

    async with desk.working(job(units(["a", "b"], do))) as jobs:
        await trio.sleep(600 + 60 + 120 + 240 + 480)
        assert await jobs.held() == []
    (last, *_) = await desk.read(lambda tx: book.runs(tx, "sweep", 1))
    assert (last.state, last.counts.error) == ("failed", "connect")
    assert await desk.read(lambda tx: tx.value("SELECT count(*) FROM job_units")) == 0


async def test_cut_off_by_a_stop_it_goes_on_where_it_was_and_nobody_is_to_blame(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk, done = Desk(), []

    async def do(name: str) -> None:
        await trio.sleep(100)
        done.append(name)

    async with desk.working(job(units(["a", "b", "c"], do))):
        await trio.sleep(600 + 250)
    assert done == ["a", "b"]
    assert [state for state, _ in await desk.runs("sweep")] == ["cut"]
    async with desk.working(job(units(["a", "b", "c"], do))):
        await trio.sleep(150)  # at once: its time has come already
    assert done == ["a", "b", "c"]
    assert [state for state, _ in await desk.runs("sweep")] == ["cut", "done"]
    assert await desk.read(lambda tx: tx.value("SELECT count(*) FROM job_units")) == 0
    assert (await desk.read(book.standings))["sweep"].cursor == {}


async def test_a_crash_is_marked_at_the_next_start_and_counts_for_the_unit_in_hand(
    autojump_clock: trio.abc.Clock,
) -> None:
    desk, done = Desk(), []

    async def do(name: str) -> None:
        await trio.lowlevel.checkpoint()
        done.append(name)

    for crash in range(1, 4):  # the unit b takes the daemon with it each time

        def crashed(tx: Tx) -> None:
            book.enroll(tx, "sweep", START)
            book.begin(tx, "sweep", at=START)
            book.put_cursor(tx, "sweep", {"after": "a", IN_HAND: "b"})

        await desk.store.write(crashed)
        if crash < 3:
            async with desk.working(job(units(["a", "b", "c"], do)), grace=1e6) as jobs:
                await trio.sleep(1)
                assert await jobs.held() == []
    async with desk.working(job(units(["a", "b", "c"], do))) as jobs:
        await trio.sleep(1)
        (one,) = await jobs.held()
    assert (one.unit, one.error) == ("b", CRASHED)
    assert done == ["c"], "it goes on behind a, without b"
    assert [state for state, _ in await desk.runs("sweep")] == ["cut", "cut", "cut", "done"]


async def test_a_paused_job_ends_between_two_units_waits_and_goes_on(autojump_clock: trio.abc.Clock) -> None:
    desk, done = Desk(), []

    async def do(name: str) -> None:
        await trio.sleep(100)
        done.append(name)

    async with desk.working(job(units(["a", "b", "c"], do))) as jobs:
        await trio.sleep(650)
        await jobs.pause("sweep")
        await trio.sleep(5000)
        assert done == ["a"]
        (view,) = await jobs.list_()
        assert (view.paused, view.running) == (True, False)
        await jobs.resume("sweep")
        await trio.sleep(250)
        assert done == ["a", "b", "c"]


async def test_heavy_work_waits_while_people_are_answered_but_not_for_ever(autojump_clock: trio.abc.Clock) -> None:
    desk, done = Desk(), []

    async def do(name: str) -> None:
        await trio.lowlevel.checkpoint()
        done.append((name, round(trio.current_time())))

    desk.turns.begin()
    begin = round(trio.current_time())
    async with desk.working(job(units(["a", "b"], do), every=Interval(10.0), heavy=True)):
        await trio.sleep(60)
        assert done == []
        desk.turns.end()
        await trio.sleep(CALM + 1)
        assert done == [("a", begin + 60 + CALM), ("b", begin + 60 + CALM)]
        done.clear()
        desk.turns.begin()
        await trio.sleep(3 * PATIENCE + 100)
        assert len(done) >= 1, "a daemon that is always busy forgets nothing to do"


async def test_a_night_that_is_set_to_another_hour_counts_at_once(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk(zone=ZoneInfo("Asia/Shanghai"))
    night = [Nightly(3)]
    work = Counted(desk)
    one = replace(job(work), schedule=lambda: night[0])
    async with desk.working(one) as jobs:
        await trio.sleep(40)
        now = datetime.fromtimestamp(desk.wall(), desk.zone)
        night[0] = Nightly((now.hour + 2) % 24)
        await trio.sleep(40)
        (view,) = await jobs.list_()
        assert view.due_at is not None
        due = datetime.fromtimestamp(view.due_at, desk.zone)
        assert (due.hour, due.minute) == (night[0].hour, 0)
        assert view.due_at - desk.wall() <= 2 * HOUR
        await trio.sleep(2 * HOUR)
    assert len(work.at) == 1


async def test_notices_say_what_runs_and_how_it_went(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()

    async def work(run: Run) -> None:
        await trio.lowlevel.checkpoint()
        run.seen(3)
        run.made(1)
        run.dropped("secret", 2)

    with desk.bus.subscribe() as news:
        async with desk.working(job(work)):
            await trio.sleep(601)
            first, second = await anext(news), await anext(news)
    assert (first.data["state"], first.data["job"], first.data["what"]) == ("running", "sweep", "job")
    assert second.without_content().data == {
        "what": "job", "job": "sweep", "state": "done", "seen": 3, "made": 1, "drops": {"secret": 2}, "errors": 0,
    }  # fmt: skip


async def test_an_unknown_job_is_not_found() -> None:
    desk = Desk()
    async with desk.working() as jobs:
        for ask in (jobs.run_now, jobs.pause, jobs.resume, jobs.runs):
            with pytest.raises(NotFound):
                await ask("nap")
