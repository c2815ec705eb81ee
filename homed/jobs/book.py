"""What is written down of jobs: when each is due, how its runs went, and which units failed.  Functions over a ``Tx``.

Reasons are words of ours and classes of errors, never what was remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from homed.store.rows import Tx, dumps, loads

RUNS_KEPT = 200
"""Of each job."""

REASON = 200
"""Characters of a reason that are kept."""

UNITS_LISTED = 200
"""Units in quarantine that a list shows, the newest; more are counted."""

UNIT_FORGOTTEN = 90 * 86_400.0
"""Seconds after which the failures of a unit that never came up again are forgotten."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A job's row: ``due_at`` in UTC seconds, ``failures`` in a row, and where a run that was cut off goes on."""

    name: str
    due_at: float
    paused: bool
    failures: int
    cursor: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run did: units looked at, records made, what was dropped at which gate, and errors, which are no zero."""

    seen: int = 0
    made: int = 0
    drops: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run.  ``state``: running, done, failed, or cut (homed ended, or the job was paused, in the middle)."""

    id: int
    job: str
    started_at: float
    ended_at: float | None
    state: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """A unit in quarantine: left alone until somebody releases it."""

    job: str
    unit: str
    failures: int
    error: str
    at: float


def enroll(tx: Tx, name: str, due_at: float) -> None:
    """Give a job its row, if it has none."""
    tx.execute("INSERT OR IGNORE INTO jobs (name, due_at) VALUES (?, ?)", (name, due_at))


def standings(tx: Tx) -> dict[str, Standing]:
    """Every job that has a row, by name."""
    rows = tx.all("SELECT name, due_at, paused, failures, cursor FROM jobs ORDER BY name")
    return {row[0]: Standing(row[0], row[1], bool(row[2]), row[3], loads(row[4]) or {}) for row in rows}


def plan(tx: Tx, name: str, due_at: float, failures: int | None = None) -> None:
    """Due then; with ``failures`` runs in a row that failed (None: as many as before)."""
    tx.execute("UPDATE jobs SET due_at = ?, failures = coalesce(?, failures) WHERE name = ?", (due_at, failures, name))


def pause(tx: Tx, name: str, *, paused: bool) -> None:
    """Leave it alone, or no more."""
    tx.execute("UPDATE jobs SET paused = ? WHERE name = ?", (int(paused), name))


def put_cursor(tx: Tx, name: str, cursor: Mapping[str, object]) -> None:
    """Where the job goes on if it is cut off from here."""
    tx.execute("UPDATE jobs SET cursor = ? WHERE name = ?", (dumps(dict(cursor)), name))


def begin(tx: Tx, name: str, *, at: float) -> int:
    """A run begins; its number."""
    row = tx.one("INSERT INTO job_runs (job, started_at, state) VALUES (?, ?, 'running') RETURNING id", (name, at))
    assert row is not None
    tx.execute(
        "DELETE FROM job_runs WHERE job = ?1 AND id <="
        " (SELECT id FROM job_runs WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (name, RUNS_KEPT),
    )
    return int(row[0])


def end(tx: Tx, run: int, state: str, counts: Counts, *, at: float) -> None:
    """How it went."""
    tx.execute(
        "UPDATE job_runs SET ended_at = ?, state = ?, seen = ?, made = ?, drops = ?, errors = ?, error = ?"
        " WHERE id = ?",
        (
            at, state, counts.seen, counts.made, dumps(dict(counts.drops)), counts.errors, counts.error[:REASON], run,
        ),
    )  # fmt: skip


def cut_off(tx: Tx, *, at: float) -> list[str]:
    """Mark the runs that no end was written of, since homed was killed in them; their jobs, each once."""
    cut = tx.all("SELECT DISTINCT job FROM job_runs WHERE state = 'running'")
    tx.execute("UPDATE job_runs SET state = 'cut', ended_at = ? WHERE state = 'running'", (at,))
    return [row[0] for row in cut]


def runs(tx: Tx, name: str, limit: int) -> list[RunRecord]:
    """The last runs of a job, newest first."""
    return _runs(tx, "WHERE job = ? ORDER BY id DESC LIMIT ?", (name, limit))


def last_runs(tx: Tx) -> dict[str, RunRecord]:
    """The last run of each job that ever ran."""
    found = _runs(tx, "WHERE id IN (SELECT max(id) FROM job_runs GROUP BY job)", ())
    return {run.job: run for run in found}


def _runs(tx: Tx, where: str, params: tuple[str | int, ...]) -> list[RunRecord]:
    rows = tx.all(
        f"SELECT id, job, started_at, ended_at, state, seen, made, drops, errors, error FROM job_runs {where}", params
    )
    return [
        RunRecord(id_, job, started, ended, state, Counts(seen, made, loads(drops) or {}, errors, error))
        for id_, job, started, ended, state, seen, made, drops, errors, error in rows
    ]


def unit_failed(tx: Tx, job: str, unit: str, error: str, *, at: float, limit: int) -> bool:
    """Count a failure of a unit; True once it is in quarantine, after ``limit`` of them."""
    tx.execute(
        "INSERT INTO job_units (job, unit, failures, held, error, at) VALUES (?1, ?2, 1, 1 >= ?5, ?3, ?4)"
        " ON CONFLICT (job, unit) DO UPDATE"
        " SET failures = failures + 1, held = failures + 1 >= ?5, error = ?3, at = ?4",
        (job, unit, error[:REASON], at, limit),
    )
    return bool(tx.value("SELECT held FROM job_units WHERE job = ? AND unit = ?", (job, unit)))


def unit_done(tx: Tx, job: str, unit: str) -> None:
    """Its failures are forgotten."""
    tx.execute("DELETE FROM job_units WHERE job = ? AND unit = ?", (job, unit))


def failing(tx: Tx, job: str) -> dict[str, bool]:
    """The units of a job that failed the last time, and whether each is in quarantine."""
    return {row[0]: bool(row[1]) for row in tx.all("SELECT unit, held FROM job_units WHERE job = ?", (job,))}


def held_units(tx: Tx) -> list[HeldUnit]:
    """Those of all jobs, newest first."""
    rows = tx.all(
        "SELECT job, unit, failures, error, at FROM job_units WHERE held = 1 ORDER BY at DESC, job, unit LIMIT ?",
        (UNITS_LISTED,),
    )
    return [HeldUnit(*row) for row in rows]


def held_counts(tx: Tx) -> dict[str, int]:
    """How many units of each job are in quarantine."""
    return dict(tx.all("SELECT job, count(*) FROM job_units WHERE held = 1 GROUP BY job"))


def release(tx: Tx, job: str, unit: str) -> bool:
    """Take a unit out of quarantine; False if it is not in it."""
    tx.execute("DELETE FROM job_units WHERE job = ? AND unit = ? AND held = 1", (job, unit))
    return bool(tx.changes())


def forget_units(tx: Tx, *, at: float) -> None:
    """Drop the failures of units that never came up again."""
    tx.execute("DELETE FROM job_units WHERE held = 0 AND at < ?", (at - UNIT_FORGOTTEN,))
