"""`homed memory jobs …`: what homed does by itself, when it is due, how it went, and what it leaves alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, table, when
from homed.commands.reach import ask
from homed.commands.saying import phrase, translated

EXAMPLES = "\n  homed memory jobs run distil\n  homed memory jobs runs distil\n  homed memory jobs release distil UNIT"


def add(actions: Actions) -> None:
    """Add the action to those of `homed memory`."""
    parser = actions.add("jobs", _jobs, "work that homed does by itself: when, how it went, what it leaves alone")
    parser.epilog = f"{parser.epilog}{EXAMPLES}"
    parser.add_argument(
        "what", nargs="?", default="list", choices=list(_ACTIONS), metavar="ACTION",
        help="list, runs (the last of a job), run (now), pause, resume, release (try a unit again)",
    )  # fmt: skip
    parser.add_argument("job", nargs="?", default="", metavar="JOB", help="its name, as the list has it")
    parser.add_argument("unit", nargs="?", default="", metavar="UNIT", help="for release: what is left alone")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="runs to show (20)")


def _jobs(args: argparse.Namespace) -> int:
    missing = phrase("a JOB") if args.what != "list" and not args.job else ""
    if args.what == "release" and not args.unit:
        missing = missing or phrase("a UNIT")
    if missing:
        print(
            phrase(
                "homed memory jobs: {what} needs {missing}. See `homed memory jobs --help`.",
                what=args.what,
                missing=missing,
            ),
            file=sys.stderr,
        )
        return 2
    return _ACTIONS[args.what](args)


def _list(args: argparse.Namespace) -> int:
    answer = ask(args, "admin.jobs_list")
    if args.json:
        as_json(answer)
        return 0
    head = ("job", "due", "last run", "seen", "made", "dropped", "errors")
    table([_row(job) for job in answer["jobs"]], head)
    if held := answer["held"]:
        print(
            phrase(
                "\nLeft alone after {failures} failures or more; `homed memory jobs release JOB UNIT`:",
                failures=held[0]["failures"],
            )
        )
        table(
            [(u["job"], u["unit"], u["failures"], translated(u["error"])) for u in held],
            ("job", "unit", "failed", "why"),
        )
    return 0


def _row(job: Mapping[str, Any]) -> tuple[object, ...]:
    due = phrase("when asked for") if job["due_at"] is None else when(job["due_at"])
    if job["paused"]:
        due = phrase("paused")
    if job["running"]:
        due = phrase("running")
    if not (last := job["last"]):
        return (job["job"], due, phrase("never"), "", "", "", "")
    return (job["job"], due, *_outcome(last))


def _outcome(run: Mapping[str, Any]) -> tuple[object, ...]:
    dropped = ", ".join(f"{gate} {count}" for gate, count in sorted(run["drops"].items())) or "0"
    errors = f"{run['errors']} ({clean(translated(run['error']))})" if run["error"] else run["errors"]
    return (f"{when(run['started_at'])} {phrase(run['state'])}", run["seen"], run["made"], dropped, errors)


def _runs(args: argparse.Namespace) -> int:
    runs = ask(args, "admin.jobs_runs", job=args.job, limit=args.limit)["runs"]
    if args.json:
        as_json(runs)
    elif not runs:
        print(phrase("{job} never ran.", job=args.job))
    else:
        rows = [
            (*_outcome(run), f"{run['ended_at'] - run['started_at']:.1f} s" if run["ended_at"] else "") for run in runs
        ]
        table(rows, ("run", "seen", "made", "dropped", "errors", "took"))
    return 0


def _told(method: str, said: str) -> Callable[[argparse.Namespace], int]:
    """An action that has nothing to show but that it was done."""

    def act(args: argparse.Namespace) -> int:
        given = {"unit": args.unit} if args.what == "release" else {}
        answer = ask(args, method, job=args.job, **given)
        if args.json:
            as_json(answer)
        else:
            print(phrase(said, job=args.job, unit=args.unit))
        return 0

    return act


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "runs": _runs,
    "run": _told("admin.jobs_run", "{job} begins now. `homed memory jobs runs {job}` says how it went."),
    "pause": _told("admin.jobs_pause", "{job} is paused; what runs ends before its next unit."),
    "resume": _told("admin.jobs_resume", "{job} runs again when it is due."),
    "release": _told("admin.jobs_release", "{unit} is tried again by the next run of {job}."),
}
