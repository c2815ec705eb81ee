"""Jobs that are loaded when they have something to do: planned as they are, and called whenever there is something."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from homed.events import TURN, Notice
from homed.jobs import distil, judging, late, passing, seeing, statements
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.jobs.late import Late, Shelf
from homed.memory import facts
from homed.memory.newfact import NewFact
from homed.store.rows import Tx
from tests.homed.jobs import seeing_bench
from tests.homed.jobs.past import Bench, bench
from tests.kit.past import Past, Said, put

ALL = (*late.MEMORY, late.SEE)
NO_PORTS: Any = cast(Any, type("Ports", (), {"wall": staticmethod(float)})())
JOBS = {
    job.name: job
    for job in (
        passing.passing(NO_PORTS),
        distil.distil(NO_PORTS),
        statements.statements(NO_PORTS),
        judging.judging(NO_PORTS),
        seeing.seeing(NO_PORTS),
    )
}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_it_is_planned_as_the_job_itself_is(one: Late) -> None:
    job = JOBS[one.name]
    assert (job.schedule(), job.heavy, job.wakes) == (Interval(one.every), one.heavy, one.wakes)


def test_the_end_of_a_turn_wakes_the_pass_and_nothing_else_does() -> None:
    assert [one.name for one in ALL if one.wakes] == ["pass"]
    phases = [Notice(seq=1, at=1.0, type=TURN, data={"phase": phase}) for phase in ("end", "begin")]
    assert [late.wakes(notice) for notice in phases] == [late.SETTLE, None]


class Loads:
    """A shelf of these jobs that notes what it was asked for."""

    def __init__(self, on: Bench) -> None:
        self.made = 0
        self.ran: list[str] = []
        self.shelf = Shelf(on.store, "homed.jobs.job", self._make)
        self._on = on

    def _make(self) -> Mapping[str, Job]:
        self.made += 1
        return {one.name: Job(one.name, lambda: None, self._work) for one in ALL}

    async def _work(self, run: Run) -> None:
        self.ran.append(run.job.name)
        run.seen()

    async def run(self) -> list[str]:
        """All of them once; those that had something to do."""
        self.ran.clear()
        for one in ALL:
            await self._on.run(self.shelf.job(one))
        return list(self.ran)


async def test_nothing_is_made_while_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        loads = Loads(on)
        assert await loads.run() == []
        assert loads.made == 0


async def test_a_turn_that_ended_has_them_made_once_and_from_then_on_each_runs_as_planned(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        loads = Loads(on)
        await on.store.write(lambda tx: put(tx, Past(said=[Said(question="I moved to Bern.")])))
        assert await loads.run() == ["pass", "distil", "rules", "merge", "see"]
        await on.store.write(lambda tx: tx.execute("DELETE FROM passes"))
        assert await loads.run() == ["pass", "distil", "rules", "merge", "see"], "it knows better what it has to do"
        assert loads.made == 1


def _said(tx: Tx) -> object:
    return put(tx, Past(said=[Said(question="I moved to Bern.")]))


def _sunk(tx: Tx) -> object:
    return put(tx, Past(said=[Said(question="I moved to Bern.")], layer="cold"))


def _known(tx: Tx) -> object:
    return facts.put(tx, NewFact(scope="owner", text="Ada lives in Bern.", subject="Ada", relation="lives in",
                                 object="Bern", extractor="manual", origin="manual"), at=1.0)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "write"), [(late.PASS, _said), (late.RULES, _said), (late.DISTIL, _sunk), (late.MERGE, _known)]
)
async def test_each_finds_what_is_there_for_it(tmp_path: Path, one: Late, write: Any) -> None:
    async with bench(tmp_path) as on:
        assert not await on.store.read(lambda tx: tx.value(one.owed))
        await on.store.write(write)
        assert await on.store.read(lambda tx: tx.value(one.owed))


async def test_a_file_is_there_to_be_looked_into_until_it_was(tmp_path: Path) -> None:
    async with seeing_bench.bench(tmp_path) as on:
        owed: list[object] = [await on.store.read(lambda tx: tx.value(late.SEE.owed))]
        await on.say("look", ("note.txt", b"some words"))
        owed.append(await on.store.read(lambda tx: tx.value(late.SEE.owed)))
        await on.see()
        owed.append(await on.store.read(lambda tx: tx.value(late.SEE.owed)))
        assert owed == [0, 1, 0]
