"""`homed memory doctor`: does what is remembered still stand on what it came from?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, counted, padded, width
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated

MARKS = {"pass": "ok  ", "warn": "warn", "fail": "FAIL", "error": "ERR "}


def add(actions: Actions) -> None:
    """Add the action to those of `homed memory`."""
    doctor = actions.add("doctor", _doctor, "check memory against what it rests on, and say what to do", "--deep")
    doctor.epilog = f"{doctor.epilog}\n  homed memory doctor --repair"
    doctor.description = f"{doctor.description} Exits 1 when something is wrong."
    doctor.add_argument("--deep", action="store_true", help="open every original, hash it again, find it again")
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended without losing what was said")
    doctor.add_argument("--all", action="store_true", help="print what is as it should be, too")


def _doctor(args: argparse.Namespace) -> int:
    if (args.deep or args.repair) and sys.stderr.isatty() and not args.json:
        print(phrase("All of memory is read; this may take a while."), file=sys.stderr)
    found = ask_or_open(args, "admin.memory_doctor", deep=args.deep, repair=args.repair)
    if args.json:
        as_json(found)
    else:
        print("\n".join(clean(line) for line in lines_of(found, everything=args.all)))
    return int(any(one["status"] in ("fail", "error") and not _mended(one) for one in found["checks"]))


def lines_of(found: Mapping[str, Any], *, everything: bool) -> list[str]:
    """The report as lines: what is wrong with what to do, and how much was looked at."""
    checks = found["checks"]
    shown = [one for one in checks if everything or one["status"] != "pass" or one["mended"]]
    wide = max((width(translated(one["name"])) for one in shown), default=0)
    lines = []
    for one in shown:
        lines.append(
            f"{phrase(MARKS[one['status']])}  {padded(translated(one['name']), wide)}  {translated(one['evidence'])}"
        )
        lines += [f"      {'':<{wide}}  ✓ {translated(one['mended'])}"] if one["mended"] else []
        if one["fix"] and not _mended(one):
            mends = phrase(" (`--repair` does it)") if one["repairable"] and not found["repair"] else ""
            lines.append(f"      {'':<{wide}}  → {translated(one['fix'])}{mends}")
        lines += [f"      {'':<{wide}}    {', '.join(one['ids'])}"] if one["ids"] else []
    counts = counted((status, count) for status, count in found["counts"].items() if count)
    seconds = found["ms"] / 1000
    how = phrase("deep" if found["deep"] else "fast")
    return [
        *lines,
        phrase(
            "{checks} checks ({how}) read {read} rows and files in {seconds:.1f} s: {counts}.",
            checks=len(checks),
            how=how,
            read=found["read"],
            seconds=seconds,
            counts=counts,
        ),
    ]


def _mended(one: Mapping[str, Any]) -> bool:
    """Whether a repair has put all of it right."""
    return bool(one["mended"]) and int(one["mends"]) >= int(one["wrong"])
