"""`homed status`: is it running, and how is it."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.output import as_json, table, when
from homed.commands.place import paths_of
from homed.commands.reach import ask, running
from homed.errors import Unavailable


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "status",
        parents=[common],
        help="is it running, and how is it",
        description="Say whether homed runs, with which model, and how its plugins are.  Exits 1 when it does not run.",
        epilog="Examples:\n  homed status\n  homed status --json | jq .plugins",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the status; without a reachable daemon, what the lock file knows."""
    try:
        answer = ask(args, "admin.status")
    except Unavailable as error:
        return _unreachable(args, error)
    if args.json:
        as_json({"running": True, **answer})
    else:
        _show(answer)
    return 0


def _unreachable(args: argparse.Namespace, error: Unavailable) -> int:
    holder = running(paths_of(args)) if not args.socket else None
    if args.json:
        as_json(
            {
                "running": holder is not None,
                "reachable": False,
                "pid": holder,
                "message": error.message,
                "hint": error.hint,
            }
        )
    elif holder is not None:
        print(f"pid {holder}: {error.message}\n  {error.hint}".rstrip())
    else:
        print(f"homed is not running on {paths_of(args).data}.\n  Start it: homed --data {paths_of(args).data}")
    return 0 if holder is not None else 1


def _show(answer: dict[str, Any]) -> None:
    model, threads = answer["model"], answer["threads"]
    print(f"homed {answer['version']}, pid {answer['pid']}, since {when(answer['started_at'])}")
    print(f"data     {answer['data_dir']}")
    print(
        f"model    {model['source']} · {model['model']}" if model["configured"] else f"model    none. {model['hint']}"
    )
    for words in filter(None, (model["state"] if model["state"] != "ready" else "", model["note"])):
        print(f"         {words}")
    storage = answer["storage"]
    if storage["state"] != "ok":
        print(f"storage  {storage['reason']}\n         {storage['hint']}")
    elif storage["journal"] != "wal":
        print(f"storage  a {storage['file_system']} file system: slower, with a rollback journal")
    print(f"threads  {threads['busy']} busy, {threads['queued']} waiting")
    print()
    table(
        [(p["name"], p["state"], p["pid"] or "", p["reason"]) for p in answer["plugins"]],
        ("plugin", "state", "pid", "reason"),
    )
