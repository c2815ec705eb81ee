"""Whether the work that goes on by itself goes on: runs end, nothing waits for ever, nothing is left alone."""

from __future__ import annotations

from collections.abc import Sequence

from homed.jobs import book
from homed.jobs.memcheck.check import Check, RowCheck
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Rows
from homed.memory import passes
from homed.store.rows import Row, Tx

LONGEST_RUN = 6 * 3600.0
"""Seconds that a run may take: heavy ones give way to turns, but not all day."""

WAITED = 86_400.0
"""Seconds that a turn may wait for its pass, and a wish to forget for its end."""

FAILED = 3
"""Runs in a row that failed: one or two are an outage."""


def _busy(room: Room) -> str:
    """SQL of the names of jobs that run now."""
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(room.busy()))
    return f"({names})" if names else "('')"


def _unended(room: Room) -> Rows:
    """A run that nothing ended: its job does not run now (of a stopped folder none does), or runs for too long."""
    mine = f"j.job IN {_busy(room)} AND j.id = (SELECT max(id) FROM job_runs o WHERE o.job = j.job)"
    if room.running and room.looking:  # a daemon that nobody reaches: which of its jobs run nobody knows
        mine = "1"
    return Rows(
        "job_runs j", ("j.id",), "j.job",
        f"(j.state = 'running' AND NOT ({mine} AND j.started_at > {room.now - LONGEST_RUN:f}))"
        " OR (j.state <> 'running' AND j.ended_at IS NULL)",
        also=(f"{mine}",),
    )  # fmt: skip


def _cut(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """As a start does with what a kill left; one that really runs is left to end."""
    count = 0
    for id_, _, _, runs in rows:
        if not runs:
            tx.execute(
                "UPDATE job_runs SET state = iif(state = 'running', 'cut', state), ended_at = ? WHERE id = ?",
                (room.now, id_),
            )
            count += 1
    return count


def _release(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    return sum(book.release(tx, str(row[0]), str(row[1])) for row in rows)


def _settle(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    passes.settle(tx, [str(row[0]) for row in rows])
    return len(rows)


def _due_now(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """The job looks at what waits at once, and what failed of it is tried again."""
    for row in rows:
        tx.execute("DELETE FROM job_units WHERE job = ? AND unit = ?", (passes.JOB, row[0]))
    tx.execute("UPDATE jobs SET due_at = ?, failures = 0 WHERE name = ?", (room.now, passes.JOB))
    return len(rows)


CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="runs", name="Runs of background work", what="runs", fault="never ended, or run for more than six hours",
        fix="Repair notes those as cut off that nothing works on any more; pause a job that hangs"
        " (`homed memory jobs pause NAME`) and look at the log.",
        rows=_unended, cure=_cut,
    ),
    RowCheck(
        id="jobs_failing", name="Background work that fails", what="jobs", fault="failed three times in a row or more",
        fix="`homed memory jobs` says why each failed last; most need the model source to answer.", status=Status.WARN,
        rows=Rows("jobs j", ("j.name",), "j.name", f"j.failures >= {FAILED}", start=("",)),
    ),
    RowCheck(
        id="held_units", name="Work that is left alone", what="pieces of work that failed",
        fault="are in quarantine: they failed too often and are left alone", status=Status.WARN,
        fix="Repair lets them be tried again; `homed memory jobs` tells them and why each failed.",
        rows=Rows("job_units u", ("u.job", "u.unit"), "u.unit", "u.held = 1", start=("", "")),
        cure=_release,
    ),
    RowCheck(
        id="passes_gone", name="Turns that are owed a pass", what="turns that wait for their pass", fault="are gone",
        fix="Repair strikes them off the list.",
        rows=Rows(
            "passes p", ("p.turn",), "p.turn", "NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = p.turn)", start=("",)
        ),
        cure=_settle,
    ),
    RowCheck(
        id="passes_old", name="How long turns wait for their pass", what="turns that wait for their pass",
        fault="wait for more than a day", status=Status.WARN,
        fix="Repair has them tried at once. If they stay, look at the model source, the limits of spending, and"
        " `homed memory jobs`.",
        # what is recorded and only waits to be read better is no fault: it may be that there never is a model
        rows=lambda room: Rows(
            "passes p", ("p.turn",), "p.turn", f"p.told = 0 AND p.at < {room.now - WAITED:f}", start=("",)
        ),
        cure=_due_now,
    ),
    RowCheck(
        id="forgets", name="What is to be forgotten", what="wishes to forget",
        fault="are not done after more than a day",
        fix="Start homed anew: it goes on with them at each start, and the log says what is in the way.",
        rows=lambda room: Rows(
            "forgets f", ("f.seq",), "f.id", f"f.done_at IS NULL AND f.at < {room.now - WAITED:f}"
        ),
    ),
)  # fmt: skip
"""In this order."""
