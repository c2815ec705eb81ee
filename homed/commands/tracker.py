"""`homed tracker …`: what tools changed in your files, and putting it back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from homed.commands.output import as_json, clean, table, when
from homed.commands.reach import ask, ask_or_open
from homed.commands.saying import phrase
from homed.errors import Conflict, InvalidInput

_MARKS = {"created": "+", "deleted": "-", "changed": "~", "renamed": ">", "moved": "<"}

_WHY = {
    "changed": "changed since then", "not_empty": "the folder holds something else, and stays",
    "not_kept": "what it held was not kept (too large, or not readable)",
    "missing": "what it held is not kept any more",
    "special": "it is no file, folder or link", "failed": "could not be written",
}  # fmt: skip


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "tracker",
        parents=[common],
        help="what tools changed in your files; put it back",
        description="Every change that a tool made in your files, as far as the settings core.tracker.* have it"
        " tracked: what there was before, and the way back. A roll back is a change too, and can be put back.",
        epilog="Examples:\n  homed tracker list\n  homed tracker show 1a2b3c4d\n"
        "  homed tracker diff 1a2b3c4d src/main.py\n"
        "  homed tracker rollback 1a2b3c4d\n  homed tracker forget --path /home/me/notes.txt",
    )
    parser.add_argument(
        "what", nargs="?", default="list", choices=list(_ACTIONS), metavar="ACTION",
        help="list (as it is without one), show, diff, rollback, forget",
    )  # fmt: skip
    parser.add_argument("set", nargs="?", default="", metavar="ID", help="the change's id, or the end of it")
    parser.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="of diff: this one alone, by name or number"
    )
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="of list: so many (20)")
    parser.add_argument("--thread", default="", metavar="ID", help="of list: those of this conversation")
    parser.add_argument("--path", default="", metavar="FILE", help="of forget: a file or folder, in every change")
    parser.add_argument(
        "--force",
        action="store_true",
        help="of rollback: replace files that were changed since; what they hold is kept",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_run)


def _run(args: argparse.Namespace) -> int:
    if args.what != "list" and not args.set and not (args.what == "forget" and args.path):
        print(phrase("homed tracker: {what} needs ID. See `homed tracker --help`.", what=args.what), file=sys.stderr)
        return 2
    return _ACTIONS[args.what](args)


def _list(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "admin.tracker_list", limit=min(max(args.limit, 1), 200), thread=args.thread)
    if args.json:
        as_json(found)
        return 0
    if not found["changes"]:
        print(phrase("No tool has changed a file that is tracked."))
        return 0
    rows = [
        (one["id"][-8:], when(one["at"]), _by(one), _counts(one), f"{one['folder']}{_note(one)}")
        for one in found["changes"]
    ]
    table(rows, ("id", "at", "by", "changes", "folder"))
    return 0


def _by(one: Mapping[str, Any]) -> str:
    return phrase("roll back of {undoes}", undoes=one["undoes"][-8:]) if one["undoes"] else one["tool"] or one["plugin"]


def _counts(one: Mapping[str, Any]) -> str:
    return " ".join(f"{_MARKS[kind]}{one[kind]}" for kind in ("created", "changed", "deleted") if one[kind]) or "-"


def _note(one: Mapping[str, Any]) -> str:
    if one["state"] == "open":
        return phrase(" (under way)")
    if one["state"] == "untracked":
        return phrase(" (not tracked: {note})", note=one["note"])
    return phrase(" (put back by {undone_by})", undone_by=one["undone_by"][-8:]) if one["undone_by"] else ""


def _show(args: argparse.Namespace) -> int:
    found = _whole(args)
    if args.json:
        as_json(found)
        return 0
    print(f"{found['id']}  {when(found['at'])}  {clean(_by(found))}  {clean(found['folder'])}{clean(_note(found))}")
    if found["cut"]:
        print(
            phrase("Its tool was ended before it could tell; what was different when it was looked at again is in it.")
        )
    for file in found["files"]:
        print(f"  {_MARKS[file['change']]} {clean(_line(file))}")
    return 0


def _whole(args: argparse.Namespace) -> dict[str, Any]:
    """A change with every file of it."""
    found: dict[str, Any] = ask_or_open(args, "admin.tracker_show", set=args.set)
    while found["more"]:
        page = ask_or_open(args, "admin.tracker_show", set=found["id"], after=len(found["files"]))
        found = {**page, "files": found["files"] + page["files"]}
    return found


def _line(file: Mapping[str, Any]) -> str:
    then, now = file["before"], file["after"]
    said = [phrase("from {from_}", from_=file["from"])] if "from" in file else []
    if then and now and then["kind"] != now["kind"]:
        said.append(f"{then['kind']} → {now['kind']}")
    elif then and now and then["mode"] != now["mode"]:
        said.append(phrase("mode {before} → {after}", before=then["mode"], after=now["mode"]))
    if any(state and state.get("unkept") for state in (then, now)):
        said.append(phrase("content not kept"))
    path: str = file["path"]
    return path + ("/" if file["folder"] else "") + (f"  ({', '.join(said)})" if said else "")


def _diff(args: argparse.Namespace) -> int:
    found = _whole(args)
    wanted = [one for one in found["files"] if not args.file or args.file in (one["path"], str(one["number"]))]
    if args.file and not wanted:
        raise InvalidInput(f"This change has no file {args.file}.", hint=f"homed tracker show {args.set}")
    told = [ask_or_open(args, "admin.tracker_diff", set=found["id"], number=one["number"]) for one in wanted]
    if args.json:
        as_json(told)
        return 0
    for one in told:
        print(f"{_MARKS[one['change']]} {clean(_line(one))}")
        for sign, text in one["lines"]:
            print(clean(text if sign == "@" else f"{sign}{text}"))
        if one["kind"] in ("binary", "large", "unkept") or one["more"]:
            print(f"  ({phrase('there is more') if one['more'] else _KINDS[one['kind']]})")
    return 0


_KINDS = {"binary": "binary content differs", "large": "too large to compare", "unkept": "its content was not kept"}


def _rollback(args: argparse.Namespace) -> int:
    if not args.yes:
        _ask_first(args)
    try:
        done = ask(args, "admin.tracker_rollback", set=args.set, force=args.force)
    except Conflict as error:
        for one in error.detail.get("files", []):  # type: ignore[attr-defined]
            print(f"  {clean(one['path'])}: {_why(one)}", file=sys.stderr)
        raise Conflict(error.message, hint=error.hint.replace("Force it", "Say --force")) from None
    if args.json:
        as_json(done)
        return 1 if done["troubles"] else 0
    print(
        phrase("{restored} put back.", restored=done["restored"])
        + (phrase(" The roll back is {set}.", set=done["set"][-8:]) if done["set"] else "")
    )
    for one in done["troubles"]:
        print(phrase("  not {path}: {why}", path=clean(one["path"]), why=_why(one)))
    return 1 if done["troubles"] else 0


def _why(one: Mapping[str, Any]) -> str:
    why = phrase(_WHY[one["why"]]) if one["why"] in _WHY else str(one["why"])
    return why + (f" ({clean(one['detail'])})" if one["detail"] else "")


def _ask_first(args: argparse.Namespace) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("Nobody is at a terminal to be asked.", hint="Say --yes.")
    _show(args)
    if input(phrase("Put this back? [y/N] ")).strip().lower() not in ("y", "yes", "是", "д", "да"):
        raise InvalidInput("Nothing was put back.")


def _forget(args: argparse.Namespace) -> int:
    params = {"path": str(Path(args.path).absolute())} if args.path else {"set": args.set}
    done = ask_or_open(args, "admin.tracker_forget", **params)
    if args.json:
        as_json(done)
    else:
        print(phrase("What was kept of {entries} files is gone; the files stay as they are.", entries=done["entries"]))
    return 0


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": _list, "show": _show, "diff": _diff, "rollback": _rollback, "forget": _forget,
}  # fmt: skip
