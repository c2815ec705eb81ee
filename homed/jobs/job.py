"""What a job is, and what its work is given: a run to count in, to rest in between two units, and to be resumed by."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Protocol

import trio

from homed.clock import WallClock
from homed.errors import HomedError, StorageError
from homed.events import Notice
from homed.jobs import book
from homed.jobs.book import Counts
from homed.jobs.due import Schedule
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

QUARANTINE = 3
"""Failures after which a unit is left alone."""

CALM = 3.0
"""Seconds of quiet after the last answer before heavy work goes on: who was answered may be about to ask again."""

PATIENCE = 900.0
"""Seconds that a heavy job gives way to turns before it does one unit all the same."""

IN_HAND = "in_hand"
"""Under this a cursor names the unit that is being worked on: what kills the daemon each time is not tried for ever."""


class TurnsPort(Protocol):
    """Who is being answered: ``homed.agent.conversations.Conversations``."""

    @property
    def counts(self) -> Mapping[str, int]:
        """``{busy, queued}``: turns that run, inputs that wait."""
        ...

    async def wait_idle(self) -> None:
        """Wait until no turn runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPorts:
    """What runs are kept with.  ``zone``: of the person, in which a night is a night."""

    store: Storage
    wall: WallClock
    zone: Callable[[], tzinfo]
    turns: TurnsPort


@dataclass(frozen=True, slots=True)
class Job:
    """``work`` may raise HomedError: the run has failed then, and is tried again later and later.

    ``schedule`` None: only when asked for.  ``heavy``: one of these at a time, and none while turns are in flight.
    ``wakes``: the seconds after which a notice has it begin, None for most.  Called for every notice: it is quick.
    """

    name: str
    schedule: Callable[[], Schedule | None]
    work: Callable[[Run], Awaitable[None]]
    heavy: bool = False
    wakes: Callable[[Notice], float | None] | None = None


class Outage(Exception):
    """What the whole job needs is not there now (a model, the disk).  No unit is to blame; the run ends.

    ``reason`` in a word, for the record of the run.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Later(Exception):
    """Nothing failed, but the rest is for a later run.  Its word is the gate at which this one stopped."""


class Paused(Exception):
    """Somebody paused the job; it ends between two units and goes on there when it is resumed."""


class Run:
    """One run of a job.  Used by its own task only."""

    def __init__(self, job: Job, ports: JobPorts, cursor: Mapping[str, object]) -> None:
        self.job = job
        self.pausing = False
        self.next: float | None = None
        self._ports = ports
        self._cursor = {key: value for key, value in cursor.items() if key != IN_HAND}
        self._failing: dict[str, bool] | None = None
        self._drops: Counter[str] = Counter()
        self._seen = self._made = self._errors = 0
        self._error = ""

    @property
    def zone(self) -> tzinfo:
        """Of the person, in which a day is a day."""
        return self._ports.zone()

    # -- counting --------------------------------------------------------------------------------------------------

    @property
    def counts(self) -> Counts:
        """So far."""
        return Counts(self._seen, self._made, dict(self._drops), self._errors, self._error)

    def seen(self, count: int = 1) -> None:
        """Units, or whatever the job counts, were looked at."""
        self._seen += count

    def made(self, count: int = 1) -> None:
        """So much came of it."""
        self._made += count

    def dropped(self, gate: str, count: int = 1) -> None:
        """So much was not taken, and at which gate."""
        if count:
            self._drops[gate] += count

    def failed(self, error: str) -> None:
        """Something went wrong: an id and a reason, never what was remembered."""
        self._errors += 1
        self._error = error

    def again(self, seconds: float) -> None:
        """Have it begin anew so soon after its end, whatever its schedule says."""
        self.next = seconds if self.next is None else min(self.next, seconds)

    # -- resting and resuming --------------------------------------------------------------------------------------

    @property
    def cursor(self) -> Mapping[str, object]:
        """Where the last run was cut off; empty at a fresh start."""
        return dict(self._cursor)

    def note(self, **changed: object) -> None:
        """As ``save``, but written down with what comes next."""
        self._cursor |= changed

    async def save(self, **changed: object) -> None:
        """From here a run that is cut off goes on: these keys of the cursor get new values."""
        self._cursor |= changed
        await self._store(dict(self._cursor))

    async def between(self) -> None:
        """To be called between two units: others have their turn, and a job that gives way waits while people are
        being answered.  Raises ``Paused``."""
        await trio.lowlevel.checkpoint()
        if self.job.heavy:
            with trio.move_on_after(PATIENCE):
                await self._quiet()
        if self.pausing:
            raise Paused

    async def unit(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do one unit of the work; False if it failed, or is in quarantine and was not touched.

        It is noted as in hand before anything is done.  Its failure is counted, and no other's; ``Outage`` and a store
        that fails are the whole run's and go on up.
        """
        if self._failing is None:
            self._failing = await self._ports.store.read(lambda tx: book.failing(tx, self.job.name))
        if self._failing.get(name):
            self.dropped("quarantine")
            return False
        await self.between()
        await self._store({**self._cursor, IN_HAND: name})
        try:
            await work()
        except (Outage, StorageError, Paused, Later):
            raise
        except HomedError as error:
            await self._unit_failed(name, error.code)
            return False
        except Exception as error:  # noqa: BLE001 - logged without its words, which may be remembered ones, and counted
            where = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s failed on %s: %s\n%s", self.job.name, name, type(error).__name__, where)
            await self._unit_failed(name, type(error).__name__)
            return False
        if name in self._failing:
            await self._ports.store.write(lambda tx: book.unit_done(tx, self.job.name, name))
        return True

    async def _quiet(self) -> None:
        while any(self._ports.turns.counts.values()) and not self.pausing:
            await self._ports.turns.wait_idle()
            await trio.sleep(CALM)

    async def _unit_failed(self, name: str, reason: str) -> None:
        self.failed(f"{name}: {reason}")
        job, at = self.job.name, self._ports.wall()
        in_quarantine = await self._ports.store.write(
            lambda tx: book.unit_failed(tx, job, name, reason, at=at, limit=QUARANTINE)
        )
        if in_quarantine:
            log.warning("%s leaves %s alone after %d failures (%s)", job, name, QUARANTINE, reason)

    async def _store(self, cursor: Mapping[str, object]) -> None:
        def write(tx: Tx) -> None:
            book.put_cursor(tx, self.job.name, cursor)

        await self._ports.store.write(write)
