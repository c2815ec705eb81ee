"""`homed status`: is it running, and how is it."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.output import as_json, clean, counted, table, when
from homed.commands.place import paths_of
from homed.commands.reach import ask, running
from homed.commands.saying import phrase, translated
from homed.errors import Unavailable


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "status",
        parents=[common],
        help="is it running, and how is it",
        description="Say whether homed runs, with which model, and how its plugins are.  Exits 1 when it does not run.",
        epilog="Examples:\n  homed status\n  homed status --threads\n  homed status --json | jq .plugins",
    )
    parser.add_argument("--threads", action="store_true", help="what runs, is suspended and waits in conversations")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the status; without a reachable daemon, what the lock file knows."""
    try:
        if args.threads:
            return _threads(ask(args, "admin.threads"), json=args.json)
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
        print(
            phrase(
                "pid {holder}: {message}\n  {hint}",
                holder=holder,
                message=translated(error.message),
                hint=translated(error.hint),
            ).rstrip()
        )
    else:
        print(phrase("homed is not running on {data}.\n  Start it: homed --data {data}", data=paths_of(args).data))
    return 0 if holder is not None else 1


def _show(answer: dict[str, Any]) -> None:
    model, threads = answer["model"], answer["threads"]
    print(phrase("homed {version}, pid {pid}, since {since}", **answer, since=when(answer["started_at"])))
    print(phrase("data     {data_dir}", data_dir=answer["data_dir"]))
    asked = (
        f"{model['source']} · {model['model']}"
        if model["configured"]
        else phrase("none. {hint}", hint=translated(model["hint"]))
    )
    print(phrase("model    {asked}", asked=clean(asked)))
    for words in filter(None, (model["state"] if model["state"] != "ready" else "", model["note"])):
        print(f"         {clean(translated(words))}")  # of a server's, perhaps
    storage = answer["storage"]
    if storage["state"] != "ok":
        reason, hint = translated(storage["reason"]), translated(storage["hint"])
        print(phrase("storage  {reason}\n         {hint}", reason=reason, hint=hint))
    elif storage["journal"] != "wal":
        print(
            phrase(
                "storage  a {file_system} file system: slower, with a rollback journal",
                file_system=storage["file_system"],
            )
        )
    print(phrase("threads  {busy} busy, {suspended} suspended, {queued} waiting", **threads))
    print()
    table(
        [(p["name"], phrase(p["state"]), p["pid"] or "", translated(p["reason"])) for p in answer["plugins"]],
        ("plugin", "state", "pid", "reason"),
    )


def _threads(found: dict[str, Any], *, json: bool) -> int:
    """What works now: a line a turn, the one that runs first, then those it stands on; and what waits, by level."""
    if json:
        as_json(found)
        return 0
    rows = []
    for thread in found["threads"]:
        frames = [*([thread["running"]] if thread["running"] else []), *reversed(thread["suspended"])]
        for at, frame in enumerate(frames):
            state = phrase(frame["phase"]) if at == 0 and thread["running"] else phrase("suspended")
            level = (
                str(frame["level"]) if frame["counts"] == frame["level"] else phrase("{level} (as {counts})", **frame)
            )
            rows.append((thread["thread"] if at == 0 else "", state, level, frame["turn"], frame["mark"]))
        waiting = ", ".join(
            phrase("{count} of level {level}", count=count, level=level)
            for level, count in thread["queued"].items()
            if count
        )
        if waiting:
            rows.append(("" if frames else thread["thread"], phrase("waiting"), waiting, "", ""))
    if rows:
        table(rows, ("thread", "state", "level", "turn", "raised by"))
    else:
        print(phrase("Nothing runs."))
    print(phrase("\nSince the start: {counted}", counted=counted(found["counters"].items())))
    return 0
