"""Turns that have cooled, on the real store, and one run of a job over them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any

import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.book import Counts
from homed.jobs.job import Job, JobPorts, Later, Run
from homed.memory import cold
from homed.memory.records import Event
from homed.store.db import Store, open_store
from homed.store.rows import Tx, dumps
from tests.homed.jobs.running import Turns
from tests.kit.past import Past, Said, put

HOUR, DAY = 3600.0, 86_400.0
SAID = 1_750_000_000.0
NOW = SAID + 10 * DAY

SETTINGS: Mapping[str, Any] = {
    "core.memory.distil_idle": 72 * HOUR, "core.memory.distil_accesses": 2,
    "core.memory.distil_max_calls_per_hour": 60, "core.memory.extract_enabled": True, "core.memory.extract_source": "",
    "core.memory.extract_min_turn_chars": 60, "core.memory.extract_max_transcript_chars": 12_000,
    "core.memory.extract_max_tokens": 1400,
}  # fmt: skip


class Settings:
    """The values above, some changed."""

    def __init__(self, **changed: Any) -> None:
        self.values = {**SETTINGS, **{f"core.memory.{key}": value for key, value in changed.items()}}

    def get(self, key: str) -> object:
        return self.values[key]

    def int(self, key: str) -> int:
        return int(self.values[key])

    def float(self, key: str) -> float:
        return float(self.values[key])

    def str(self, key: str) -> str:
        return str(self.values[key])


@dataclass
class Bench:
    """A store, and a clock that a test sets."""

    store: Store
    failpoints: Failpoints
    now: float = NOW
    turns: Turns = field(default_factory=Turns)

    def wall(self) -> float:
        return self.now

    async def cooled(self, *said: Said, **more: Any) -> list[Event]:
        """One conversation of these turns, sunk and left alone for a week."""
        past = Past(said=said, at=SAID, **more)

        def write(tx: Tx) -> list[Event]:
            made = put(tx, past)
            cold.sink(tx, past.scope, [event.id for event in made], at=SAID + HOUR)
            return made

        return await self.store.write(write)

    async def run(self, job: Job, cursor: Mapping[str, object] | None = None) -> Counts:
        """One run of it, as the runner would."""
        ports = JobPorts(store=self.store, wall=self.wall, zone=lambda: UTC, turns=self.turns)
        await self.store.write(
            lambda tx: tx.execute("INSERT OR IGNORE INTO jobs (name, due_at) VALUES (?, 0)", (job.name,))
        )
        run = Run(job, ports, cursor or {})
        try:
            await job.work(run)
        except Later as error:
            run.dropped(str(error))
        return run.counts

    async def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return await self.store.read(lambda tx: tx.all(sql, params))

    async def column(self, sql: str, *params: Any) -> list[Any]:
        return [row[0] for row in await self.rows(sql, *params)]

    async def layers(self, events: Sequence[Event]) -> list[str]:
        """Of each, in order."""
        ids = dumps([event.id for event in events])
        return await self.column(
            "SELECT layer FROM events WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq", ids
        )


@asynccontextmanager
async def bench(folder: Path, failpoints: Failpoints | None = None) -> AsyncIterator[Bench]:
    """On a store in ``folder``."""
    points = failpoints or NoFailpoints()
    async with open_store(folder / "homed.db", failpoints=points) as store:
        yield Bench(store, points)
        await trio.lowlevel.checkpoint()
