"""``admin.jobs_*``: what homed does by itself, when, how it went, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, administrative
from homed.jobs.book import HeldUnit, RunRecord
from homed.jobs.every import JobView


class OfJob(PeerParams):
    """``admin.jobs_run``, ``admin.jobs_pause``, ``admin.jobs_resume``"""

    job: str = Field(min_length=1, max_length=64)


class RunsOf(OfJob):
    """``admin.jobs_runs``"""

    limit: int = Field(default=20, ge=1, le=200)


class OfUnit(OfJob):
    """``admin.jobs_release``"""

    unit: str = Field(min_length=1, max_length=MAX_NAME)


async def jobs_list(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Every job, and the units in quarantine."""
    jobs = call.ports.jobs
    return {
        "jobs": [_job(view) for view in await jobs.list_()],
        "held": [_held(unit) for unit in await jobs.held()],
    }


async def jobs_runs(call: PeerCall[RunsOf]) -> Mapping[str, object]:
    """The last runs of a job, newest first."""
    return {"runs": [_run(run) for run in await call.ports.jobs.runs(call.params.job, call.params.limit)]}


async def jobs_run(call: PeerCall[OfJob]) -> Mapping[str, object]:
    """Have a job begin at once; notices say how it goes."""
    await call.ports.jobs.run_now(call.params.job)
    return {}


async def jobs_pause(call: PeerCall[OfJob]) -> Mapping[str, object]:
    """Leave a job alone until it is resumed."""
    await call.ports.jobs.pause(call.params.job)
    return {}


async def jobs_resume(call: PeerCall[OfJob]) -> Mapping[str, object]:
    """Let it run again when it is due."""
    await call.ports.jobs.resume(call.params.job)
    return {}


async def jobs_release(call: PeerCall[OfUnit]) -> Mapping[str, object]:
    """Take a unit out of quarantine."""
    await call.ports.jobs.release(call.params.job, call.params.unit)
    return {}


def _job(view: JobView) -> dict[str, object]:
    return {
        "job": view.name, "due_at": view.due_at, "paused": view.paused, "running": view.running,
        "failures": view.failures, "held": view.held, "last": _run(view.last) if view.last else None,
    }  # fmt: skip


def _run(run: RunRecord) -> dict[str, object]:
    counts = run.counts
    return {
        "run": run.id, "started_at": run.started_at, "ended_at": run.ended_at, "state": run.state,
        "seen": counts.seen, "made": counts.made, "drops": dict(counts.drops), "errors": counts.errors,
        "error": counts.error,
    }  # fmt: skip


def _held(unit: HeldUnit) -> dict[str, object]:
    return {"job": unit.job, "unit": unit.unit, "failures": unit.failures, "error": unit.error, "at": unit.at}


METHODS: dict[str, Method] = {
    "admin.jobs_list": administrative(PeerParams, jobs_list),
    "admin.jobs_runs": administrative(RunsOf, jobs_runs),
    "admin.jobs_run": administrative(OfJob, jobs_run),
    "admin.jobs_pause": administrative(OfJob, jobs_pause),
    "admin.jobs_resume": administrative(OfJob, jobs_resume),
    "admin.jobs_release": administrative(OfUnit, jobs_release),
}
