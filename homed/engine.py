"""The memory engine: what makes, finds and keeps memories, put together.

Below ``wiring``, which enters it and hands its parts on; everything here ends before the plugins do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import tzinfo

from homed.config.definitions import TIME_ZONE
from homed.config.zone import system_zone, zone_named
from homed.jobs.all import all_jobs
from homed.jobs.every import Jobs
from homed.jobs.job import JobPorts, TurnsPort
from homed.lifecycle import House
from homed.settings.registry import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Its parts.  Usable while ``open_engine``'s block lasts."""

    house: House

    def jobs(self, turns: TurnsPort) -> Jobs:
        """Scheduled work, which gives way to ``turns``; ``Jobs.run`` does it."""
        house = self.house
        ports = JobPorts(
            store=house.store, wall=house.wall, zone=lambda: zone_of(house.settings), turns=turns,
        )  # fmt: skip
        return Jobs(ports, house.bus, all_jobs())


@asynccontextmanager
async def open_engine(house: House) -> AsyncIterator[Engine]:
    """The engine for the length of the block."""
    yield Engine(house=house)


def zone_of(settings: Settings) -> tzinfo:
    """The person's time zone: the one set, or the machine's."""
    named = settings.str(TIME_ZONE).strip()
    return (zone_named(named) if named else None) or system_zone()
