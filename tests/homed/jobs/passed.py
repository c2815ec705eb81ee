"""Turns that have just ended, on the real store, and the pass that follows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from homed.errors import HomedError
from homed.events import Bus, Notice
from homed.jobs.book import Counts
from homed.jobs.job import Job, JobPorts, Later, Outage, Run
from homed.jobs.making import ReaderPort, Rules, by_rules
from homed.jobs.passing import PassPorts, passing
from homed.memory.records import Event
from homed.store.rows import Tx
from tests.homed.jobs.past import SAID, Bench, Settings
from tests.kit.past import Past, Said, put


@dataclass
class Passes:
    """The job on a bench.  ``told``: its notices; ``next``: after how many seconds the last run wanted another."""

    on: Bench
    reader: ReaderPort
    rules: Rules = by_rules
    settings: Settings = field(default_factory=Settings)
    bus: Bus = field(default_factory=Bus)
    told: list[Notice] = field(default_factory=list)
    next: float | None = None
    failed: Exception | None = None

    def __post_init__(self) -> None:
        self.bus.add(self)
        self.job: Job = passing(
            PassPorts(
                store=self.on.store, settings=self.settings, wall=self.on.wall, reader=self.reader, rules=self.rules,
                bus=self.bus, failpoints=self.on.failpoints,
            )
        )  # fmt: skip

    def offer(self, notice: Notice) -> None:
        self.told.append(notice)

    async def run(self) -> Counts:
        """One run, as the runner would; what it raised is in ``failed``."""
        ports = JobPorts(store=self.on.store, wall=self.on.wall, zone=lambda: UTC, turns=self.on.turns)
        self.failed = None
        run = Run(self.job, ports, {})
        await self.on.store.write(lambda tx: tx.execute("INSERT OR IGNORE INTO jobs VALUES ('pass', 0, 0, 0, '{}')"))
        try:
            await self.job.work(run)
        except (Outage, Later, HomedError) as error:
            self.failed = error
        self.next = run.next
        return run.counts


async def ended(on: Bench, *said: Said, at: float = SAID, **more: Any) -> list[Event]:
    """One conversation of these turns, a second each; what it was, and that each has ended."""
    return await on.store.write(lambda tx: put(tx, Past(said=said, at=at, **more)))


async def change(on: Bench, sql: str, *params: Any) -> None:
    """Behind everybody's back."""

    def write(tx: Tx) -> None:
        tx.execute(sql, params)

    await on.store.write(write)


async def gates(on: Bench) -> dict[str, int]:
    """What was stopped at each, in all scopes."""
    return dict(await on.rows("SELECT gate, sum(count) FROM gates GROUP BY gate"))


Answers = Callable[[str], str]
