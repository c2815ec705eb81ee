"""`homed doctor`: is everything as it should be, and what to do if not; and the repair of a damaged database."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from homed.commands.output import as_json, clean, padded, width
from homed.commands.place import paths_of
from homed.commands.reach import ask, reachable, running
from homed.commands.saying import phrase, translated, translated_each
from homed.errors import Conflict

MARKS = {"ok": "ok  ", "warn": "warn", "bad": "BAD "}


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "doctor",
        parents=[common],
        help="check everything, and say what to do",
        description="Check the whole installation and say what to do.  Exits 1 when something is bad, or when a repair"
        " lost something or cannot tell.",
        epilog="Examples:\n  homed doctor\n  homed doctor --deep\n  homed doctor --repair      (homed must be stopped)",
    )
    parser.add_argument(
        "--deep", action="store_true", help="read the whole database and every file, and ask the model a question"
    )
    parser.add_argument(
        "--repair", action="store_true", help="rebuild a damaged database; the damaged one is kept aside"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Look, and repair if asked to; 1 when something is bad."""
    if args.repair:
        return _repair(args)
    checks = _checks(args)
    if args.json:
        as_json({"checks": checks})
    else:
        show(checks, print)
    return worst(checks)


def worst(checks: Iterable[dict[str, Any]]) -> int:
    """The exit code: 1 if one is bad."""
    return int(any(check["state"] == "bad" for check in checks))


def show(checks: Sequence[dict[str, Any]], say: Callable[[str], None]) -> None:
    """One line a check, a second with what to do."""
    names = [phrase(check["name"]) for check in checks]
    wide = max(map(width, names))
    for name, check in zip(names, checks, strict=True):
        say(clean(f"{phrase(MARKS[check['state']])}  {padded(name, wide)}  {translated_each(check['what'])}"))
        if check["hint"]:
            say(clean(f"      {'':{wide}}  → {translated(check['hint'])}"))


def _checks(args: argparse.Namespace) -> list[dict[str, Any]]:
    if reachable(args):
        found: list[dict[str, Any]] = ask(args, "admin.doctor", deep=args.deep)["checks"]
        return found
    from homed.commands.stopped import examine  # the whole kernel, needed only without a daemon

    return [check.wire() for check in examine(paths_of(args), holder=running(paths_of(args)), deep=args.deep)]


def _repair(args: argparse.Namespace) -> int:
    paths = paths_of(args)
    holder = running(paths)
    if holder is not None or reachable(args):
        who = f" (pid {holder})" if holder else ""
        raise Conflict(
            f"homed is running on {paths.data}{who}, and nothing is repaired under it.", hint="Stop it first."
        )
    from homed.commands.stopped import repair

    done = repair(paths)
    if args.json:
        as_json(done.wire())
    else:
        for line in done.lines():
            print(clean(line))
    return int(not done.whole)
