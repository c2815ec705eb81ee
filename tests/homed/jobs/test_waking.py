"""The runner, woken: by a notice, by whoever asks for it soon, by a run that wants another."""

from __future__ import annotations

from dataclasses import replace

import trio

from homed.events import SYSTEM, TURN
from homed.jobs.due import Interval
from homed.jobs.job import Outage, Run
from tests.homed.jobs.running import START, Desk, job
from tests.homed.jobs.test_every import HOUR, Counted


async def test_a_job_is_woken_by_a_notice_and_needs_no_look_at_the_clock(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    woken = replace(job(work, every=Interval(HOUR)), wakes=lambda notice: 1.0 if notice.type == TURN else None)
    async with desk.working(woken, grace=1000.0):
        await trio.sleep(10)
        desk.bus.post(SYSTEM)
        await trio.sleep(90)
        assert work.at == []
        desk.bus.post(TURN)
        await trio.sleep(0.5)
        desk.bus.post(TURN)  # both in one run
        await trio.sleep(100)
    assert [round(at) for at in work.at] == [101]
    desk.bus.post(TURN)  # nobody is there any more


async def test_woken_while_it_runs_it_begins_anew_at_its_end(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk, takes=10.0)
    async with desk.working(job(work, every=None)) as jobs:
        await trio.sleep(1)
        for seconds in (0.0, 5.0, 6.0):
            jobs.soon("sweep", seconds)
            await trio.sleep(1)
        await trio.sleep(100)
    assert [round(at) for at in work.at] == [1, 11]
    assert work.most == 1


async def test_a_run_says_when_it_wants_another(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    at: list[float] = []

    async def work(run: Run) -> None:
        await trio.lowlevel.checkpoint()
        at.append(desk.wall() - START)
        if len(at) < 3:
            run.again(50.0)
            run.again(20.0)
        if len(at) == 2:
            raise Outage("gone", "connect")

    async with desk.working(job(work, every=Interval(600.0))) as jobs:
        jobs.soon("sweep", 0.0)
        await trio.sleep(300)
    assert [round(one) for one in at] == [0, 20, 40], "also where it failed"


async def test_what_is_paused_is_not_woken(autojump_clock: trio.abc.Clock) -> None:
    desk = Desk()
    work = Counted(desk)
    async with desk.working(job(work)) as jobs:
        await trio.sleep(1)
        await jobs.pause("sweep")
        jobs.soon("sweep", 1.0)
        await trio.sleep(100)
        assert work.at == []
        await jobs.resume("sweep")
        await trio.sleep(1)
    assert len(work.at) == 1, "but once it is resumed"
