"""Runs jobs when they are due, each in a task of its own, heavy ones one at a time; and what people ask about them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import trio

from homed.errors import Conflict, HomedError, NotFound, StorageError
from homed.events import MEMORY, Bus, Notice
from homed.jobs import book
from homed.jobs.book import HeldUnit, RunRecord, Standing
from homed.jobs.due import Schedule, next_due, planned, retry
from homed.jobs.job import IN_HAND, QUARANTINE, Job, JobPorts, Later, Outage, Paused, Run
from homed.store.rows import Tx

log = logging.getLogger(__name__)

TICK = 30.0
"""Seconds after which the wall clock is looked at again: the other clock stands still while the machine sleeps."""

GRACE = 30.0
"""Seconds after the start in which nothing begins by itself: the person who started homed comes first."""

LAST_WORDS = 2.0
"""Seconds that writing down how a run was cut off may take at the end."""

Write = Callable[[Tx], None]

CRASHED = "homed ended while it was being worked on"


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is shown.  ``due_at`` None: only when asked for."""

    name: str
    due_at: float | None
    paused: bool
    running: bool
    failures: int
    last: RunRecord | None
    held: int


class Jobs:
    """All jobs.  Works while ``run`` does; the other methods also before and after."""

    def __init__(self, ports: JobPorts, bus: Bus, jobs: Sequence[Job]) -> None:
        self._ports = ports
        self._bus = bus
        self._jobs = {job.name: job for job in jobs}
        self._running: dict[str, Run] = {}
        self._asked: set[str] = set()
        self._soon: dict[str, float] = {}  # by trio's clock
        self._wakes = {job.name: job.wakes for job in jobs if job.wakes is not None}
        self._planned: dict[str, Schedule | None] = {}
        self._one_heavy = trio.Lock()
        self._why = ""
        self._wake = trio.Event()

    @property
    def running(self) -> frozenset[str]:
        """The names of those that run now."""
        return frozenset(self._running)

    # -- lifetime --------------------------------------------------------------------------------------------------

    async def run(self, *, grace: float = GRACE, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work until cancelled; nothing begins by itself in the first ``grace`` seconds.

        Cancelled: what runs ends where it is, is written down as cut, and goes on from there at the next start.  A
        store that cannot be written is logged, and the jobs wait.
        """
        begun = trio.current_time()
        self._bus.add(self)
        try:
            async with trio.open_nursery() as nursery:
                task_status.started()
                ready = False
                while True:
                    self._wake = trio.Event()
                    ready = ready or await self._after_start()
                    by_itself = trio.current_time() - begun >= grace
                    wait = await self._begin_due(nursery, by_itself=by_itself) if ready else TICK
                    with trio.move_on_after(wait):
                        await self._wake.wait()
        finally:
            self._bus.remove(self)

    def offer(self, notice: Notice) -> None:
        """Begin what this notice is to wake."""
        for name, wakes in self._wakes.items():
            if (seconds := wakes(notice)) is not None:
                self.soon(name, seconds)

    def soon(self, name: str, seconds: float) -> None:
        """Have a job begin in so many seconds at the latest, also right after the start; never while it is paused.

        What runs then is not overtaken: it begins anew at its end.
        """
        at = trio.current_time() + seconds
        self._soon[name] = min(at, self._soon.get(name, at))
        self._wake.set()

    async def _after_start(self) -> bool:
        """Take up what is there; False if the store cannot be written."""
        now, zone = self._ports.wall(), self._ports.zone()
        first = {
            job.name: next_due(schedule, now, zone) if (schedule := job.schedule()) else now
            for job in self._jobs.values()
        }
        try:
            await self._ports.store.write(lambda tx: _take_up(tx, first, at=now))
        except StorageError as error:
            self._wait_for(error)
            return False
        return True

    def _wait_for(self, error: StorageError) -> None:
        """Said once, and again only after something else: a database found damaged stays so till the end."""
        if self._why != error.message:
            self._why = error.message
            log.warning("scheduled work waits: %s", error.message)

    async def _begin_due(self, nursery: trio.Nursery, *, by_itself: bool) -> float:
        """Begin what is due; the seconds until something else may be."""
        try:
            standings = await self._ports.store.read(book.standings)
        except StorageError as error:
            self._wait_for(error)
            return TICK
        now, wait = self._ports.wall(), TICK
        for name, job in self._jobs.items():
            standing = standings.get(name)
            if standing is None or name in self._running:
                continue
            due = await self._due(job, standing, now)
            called = math.inf if standing.paused else self._soon.get(name, math.inf) - trio.current_time()
            asked = name in self._asked or called <= 0
            if asked or (by_itself and due is not None and due <= now and not standing.paused):
                self._asked.discard(name)
                self._soon.pop(name, None)
                run = self._running[name] = Run(job, self._ports, standing.cursor)
                nursery.start_soon(self._work, run, standing)
            elif due is not None and not standing.paused:
                wait = min(wait, max(0.0, due - now)) if by_itself else wait
            if not asked:
                wait = min(wait, called)
        return max(wait, 0.05)

    async def _due(self, job: Job, standing: Standing, now: float) -> float | None:
        """When it is due, by its schedule as it is now; a stored time that cannot be is counted anew."""
        schedule, zone = job.schedule(), self._ports.zone()
        known = self._planned.get(job.name, schedule)
        self._planned[job.name] = schedule
        if schedule is None:
            return None
        due = planned(schedule, standing.due_at, now, zone, failures=standing.failures)
        if known != schedule and not standing.failures:
            due = next_due(schedule, now, zone)
        if due != standing.due_at:
            await self._write(lambda tx: book.plan(tx, job.name, due))
        return due

    # -- one run ---------------------------------------------------------------------------------------------------

    async def _work(self, run: Run, standing: Standing) -> None:
        try:
            if run.job.heavy:
                async with self._one_heavy:
                    await self._one_run(run, standing)
            else:
                await self._one_run(run, standing)
        finally:
            del self._running[run.job.name]
            if run.next is not None:
                self.soon(run.job.name, run.next)
            self._wake.set()

    async def _one_run(self, run: Run, standing: Standing) -> None:
        name, started = run.job.name, self._ports.wall()
        try:
            id_ = await self._ports.store.write(lambda tx: book.begin(tx, name, at=started))
        except StorageError as error:
            self._wait_for(error)
            await trio.sleep(TICK)
            return
        self._why = ""
        self._tell(run, "running")
        state = "cut"
        try:
            state = await self._outcome(run)
        finally:
            with trio.move_on_after(LAST_WORDS, shield=True):
                await self._end(run, id_, state, standing.failures)
            self._tell(run, state)

    async def _outcome(self, run: Run) -> str:
        """Do the work; its end in a word."""
        name = run.job.name
        try:
            await run.between()
            await run.job.work(run)
        except Paused:
            return "cut"
        except Later as error:
            run.dropped(str(error))
        except Outage as error:
            run.failed(error.reason)
            log.warning("%s could not go on: %s", name, error)
            return "failed"
        except HomedError as error:
            run.failed(error.code)
            log.warning("%s failed: %s", name, error.message)
            return "failed"
        except Exception as error:
            run.failed(type(error).__name__)
            log.exception("%s failed", name)
            return "failed"
        return "done"

    async def _end(self, run: Run, id_: int, state: str, failures: int) -> None:
        now, zone, schedule = self._ports.wall(), self._ports.zone(), run.job.schedule()
        failed = failures + 1 if state == "failed" else 0
        due = now
        if schedule is not None and state != "cut":
            due = retry(schedule, failed, now, zone) if failed else next_due(schedule, now, zone)
        counts, cursor = run.counts, run.cursor if state != "done" else {}

        def write(tx: Tx) -> None:
            book.end(tx, id_, state, counts, at=now)
            book.plan(tx, run.job.name, due, None if state == "cut" else failed)
            book.put_cursor(tx, run.job.name, cursor)

        await self._write(write)

    async def _write(self, write: Write) -> None:
        """Without it the next start sees a run that was cut off, which is no lie."""
        try:
            await self._ports.store.write(write)
        except StorageError as error:
            log.warning("what became of a job is not written down: %s", error.message)

    def _tell(self, run: Run, state: str) -> None:
        counts = run.counts
        data: dict[str, object] = {
            "what": "job", "job": run.job.name, "state": state, "seen": counts.seen, "made": counts.made,
            "drops": dict(counts.drops), "errors": counts.errors,
        }  # fmt: skip
        self._bus.post(MEMORY, data=data)

    # -- what people ask -------------------------------------------------------------------------------------------

    async def list_(self) -> list[JobView]:
        """Every job, in the order they are wired."""

        def read(tx: Tx) -> tuple[dict[str, Standing], dict[str, RunRecord], dict[str, int]]:
            return book.standings(tx), book.last_runs(tx), book.held_counts(tx)

        standings, last, held = await self._ports.store.read(read)
        views = []
        for name, job in self._jobs.items():
            at = standings.get(name)
            due = at.due_at if at and job.schedule() is not None else None
            views.append(
                JobView(
                    name, due, bool(at and at.paused), name in self._running, at.failures if at else 0,
                    last.get(name), held.get(name, 0),
                )
            )  # fmt: skip
        return views

    async def held(self) -> list[HeldUnit]:
        """Units in quarantine, newest first."""
        return await self._ports.store.read(book.held_units)

    async def runs(self, name: str, limit: int = 20) -> list[RunRecord]:
        """The last runs of a job, newest first.  Raises NotFound."""
        self._known(name)
        return await self._ports.store.read(lambda tx: book.runs(tx, name, limit))

    async def run_now(self, name: str) -> None:
        """Have it begin at once, whatever its time, and also if it is paused.  Raises NotFound, Conflict if it runs."""
        self._known(name)
        await trio.lowlevel.checkpoint()
        if name in self._running:
            raise Conflict(f"The job {name} is running.", hint="Wait for its end: one at a time.")
        self._asked.add(name)
        self._wake.set()

    async def pause(self, name: str) -> None:
        """Leave it alone until it is resumed; what runs ends before its next unit.  Raises NotFound."""
        self._known(name)
        await self._ports.store.write(lambda tx: book.pause(tx, name, paused=True))
        if name in self._running:
            self._running[name].pausing = True

    async def resume(self, name: str) -> None:
        """Let it run again when it is due.  Raises NotFound."""
        self._known(name)
        await self._ports.store.write(lambda tx: book.pause(tx, name, paused=False))
        self._wake.set()

    async def release(self, name: str, unit: str) -> None:
        """Take a unit out of quarantine: the next run tries it again.  Raises NotFound."""
        self._known(name)
        if not await self._ports.store.write(lambda tx: book.release(tx, name, unit)):
            raise NotFound(f"{unit} of {name} is not in quarantine.", hint="`homed memory jobs` lists what is.")

    def _known(self, name: str) -> None:
        if name not in self._jobs:
            raise NotFound(f"There is no job {name}.", hint=f"There are: {', '.join(sorted(self._jobs))}.")


def _take_up(tx: Tx, first: Mapping[str, float], *, at: float) -> None:
    """After a start: every job has a row, and what a crash cut off is due at once, its unit counted as failed once."""
    for name, due in first.items():
        book.enroll(tx, name, due)
    cut, standings = book.cut_off(tx, at=at), book.standings(tx)
    for name in cut:
        if name not in standings:
            continue
        cursor = dict(standings[name].cursor)
        unit = cursor.pop(IN_HAND, None)
        if isinstance(unit, str):
            book.unit_failed(tx, name, unit, CRASHED, at=at, limit=QUARANTINE)
        book.put_cursor(tx, name, cursor)
        book.plan(tx, name, at)
    book.forget_units(tx, at=at)
