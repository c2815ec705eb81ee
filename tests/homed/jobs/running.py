"""Jobs at work on a clock that jumps, with turns and a wall clock that a test sets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, TypeVar

import trio

from homed.events import Bus, Notice
from homed.jobs import book
from homed.jobs.due import Interval, Schedule
from homed.jobs.every import Jobs
from homed.jobs.job import Job, JobPorts, Run
from homed.store.rows import Tx
from tests.kit.memory_store import MemoryStore

T = TypeVar("T")

START = 1_800_000_000.0
TEN_MINUTES = Interval(600.0)


@dataclass
class Turns:
    """Turns that a test says are in flight."""

    busy: int = 0
    idle: trio.Event = field(default_factory=trio.Event)

    @property
    def counts(self) -> Mapping[str, int]:
        return {"busy": self.busy, "queued": 0}

    def begin(self) -> None:
        self.busy += 1
        self.idle = trio.Event()

    def end(self) -> None:
        self.busy -= 1
        if not self.busy:
            self.idle.set()

    async def wait_idle(self) -> None:
        if self.busy:
            await self.idle.wait()
        else:
            await trio.lowlevel.checkpoint()


@dataclass
class Desk:
    """What jobs run on.  ``shift``: how far the wall clock was set; a second set of jobs on the same desk is a
    restart."""

    store: MemoryStore = field(default_factory=lambda: MemoryStore("memory.sql", "jobs", "job_runs", "job_units"))
    turns: Turns = field(default_factory=Turns)
    bus: Bus = field(default_factory=Bus)
    zone: tzinfo = UTC
    shift: float = 0.0
    told: list[Notice] = field(default_factory=list)

    def wall(self) -> float:
        return START + trio.current_time() + self.shift

    def ports(self) -> JobPorts:
        return JobPorts(store=self.store, wall=self.wall, zone=lambda: self.zone, turns=self.turns)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self.store.read(fn)

    async def runs(self, name: str) -> list[tuple[str, Mapping[str, Any]]]:
        """State and counts of its runs, oldest first."""
        found = await self.store.read(lambda tx: book.runs(tx, name, 100))
        return [
            (run.state, {"seen": run.counts.seen, "made": run.counts.made, "drops": run.counts.drops,
                         "errors": run.counts.errors})
            for run in reversed(found)
        ]  # fmt: skip

    @asynccontextmanager
    async def working(self, *jobs: Job, grace: float = 0.0) -> AsyncIterator[Jobs]:
        """The jobs at work for the length of the block, then cancelled."""
        async with trio.open_nursery() as nursery:
            made = Jobs(self.ports(), self.bus, jobs)
            await nursery.start(lambda task_status: made.run(grace=grace, task_status=task_status))
            yield made
            nursery.cancel_scope.cancel()


def job(
    work: Callable[[Run], Awaitable[None]], *, name: str = "sweep", every: Schedule | None = TEN_MINUTES,
    heavy: bool = False,
) -> Job:  # fmt: skip
    """A job of a test's."""
    return Job(name, lambda: every, work, heavy)
