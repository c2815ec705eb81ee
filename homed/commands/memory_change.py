"""`homed memory note|edit|hide|restore|combine|reinstate`: one record, by hand, or two."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase
from homed.errors import InvalidInput

LEVELS = 40
"""Folders above this one in which a repository is looked for."""


def add(actions: Actions) -> None:
    """Add the actions to those of `homed memory`."""
    note = actions.add("note", _note, "write something down by hand", '"The spare key is at Anna\'s." --importance 8')
    note.add_argument("text", metavar="TEXT", help="one sentence, or - to read it from stdin")
    note.add_argument("--record", choices=("fact", "capsule", "l2", "l3"), default="fact")
    note.add_argument("--kind", default="", metavar="K", help="such as preference, decision, todo; profile, open_loops")
    note.add_argument("--here", action="store_true", help="only for the project of this folder; else everywhere")
    edit = actions.add("edit", _edit, "correct a record; what it said before is kept", '1a2b3c4d --text "Anna moved."')
    edit.add_argument("id", metavar="ID", help="the eight digits that are shown, or the whole id")
    edit.add_argument("--text", metavar="TEXT", default=None, help="- reads it from stdin")
    edit.add_argument("--kind", metavar="K", default=None)
    edit.add_argument("--revision", type=int, metavar="N", default=0, help="only if it is still at this revision")
    for action in (note, edit):
        action.add_argument("--title", metavar="T", default=None, help="of a capsule")
        action.add_argument("--tag", metavar="TAG", action="append", default=None, help="can be repeated")
        action.add_argument("--importance", type=int, choices=range(1, 11), metavar="1..10", default=None)
    for name, handler, text in (
        ("hide", _hide, "have a record, and what repeats it, found by nothing; it can be brought back"),
        ("restore", _restore, "have a hidden record found again"),
    ):
        actions.add(name, handler, text, "1a2b3c4d").add_argument("id", metavar="ID")
    combine = actions.add(
        "combine", _combine, "make two records one: evidence and citations of both, the words of the first",
        "1a2b3c4d 5e6f7a8b",
    )  # fmt: skip
    combine.add_argument("keep", metavar="ID", help="the one that stays")
    combine.add_argument("gone", metavar="OTHER", help="the one that becomes history of it")
    back = actions.add(
        "reinstate", _reinstate, "have a superseded record hold again; what was combined is parted", "5e6f7a8b"
    )
    back.add_argument("id", metavar="ID", help="`homed memory list --status superseded` shows those there are")


def _note(args: argparse.Namespace) -> int:
    project = _project() if args.here else ""
    if args.here and not project:
        raise InvalidInput("This folder is no project.", hint="Go to one, or leave --here out.")
    given: dict[str, Any] = {"title": args.title, "tags": args.tag, "importance": args.importance}
    done = ask_or_open(
        args, "memory.note", text=_text(args.text), record=args.record, kind=args.kind,
        reach="project" if project else "user", project=project,
        **{key: value for key, value in given.items() if value is not None},
    )  # fmt: skip
    return _done(
        args,
        done,
        {"new": phrase("Written down"), "same": phrase("Known already"), "improved": phrase("Said better now")},
    )


def _edit(args: argparse.Namespace) -> int:
    given: dict[str, Any] = {
        "text": None if args.text is None else _text(args.text), "title": args.title, "kind": args.kind,
        "tags": args.tag, "importance": args.importance,
    }  # fmt: skip
    changes = {key: value for key, value in given.items() if value is not None}
    if not changes:
        print(phrase("homed memory edit: nothing is to be changed. See `homed memory edit --help`."), file=sys.stderr)
        return 2
    revision = args.revision or ask_or_open(args, "memory.record", id=args.id, history=False)["revision"]
    done = ask_or_open(args, "memory.edit", id=args.id, revision=revision, **changes)
    return _done(args, done, {}, phrase("Changed; it is at revision {revision}", revision=done["revision"]))


def _hide(args: argparse.Namespace) -> int:
    done = ask_or_open(args, "memory.hide", id=args.id)
    along = len(done["along"]) + len(done["shortened"])
    more = phrase(", and {along} that repeat it", along=along) if along else ""
    return _done(
        args,
        done,
        {},
        phrase("Hidden{more}; `homed memory restore {shown}` brings it back", more=more, shown=done["shown"]),
    )


def _restore(args: argparse.Namespace) -> int:
    return _done(args, ask_or_open(args, "memory.restore", id=args.id), {}, phrase("It is found again"))


def _combine(args: argparse.Namespace) -> int:
    done = ask_or_open(args, "memory.combine", keep=args.keep, gone=args.gone)
    return _done(
        args, done, {}, phrase("They are one now"), history=phrase("`homed memory reinstate {id}` parts them again.")
    )


def _reinstate(args: argparse.Namespace) -> int:
    return _done(args, ask_or_open(args, "memory.reinstate", id=args.id), {}, phrase("It holds again"))


def _done(
    args: argparse.Namespace,
    done: dict[str, Any],
    words: dict[str, str],
    otherwise: str = "",
    *,
    history: str = "",
) -> int:
    """``history``: what is said of each record that became history, behind its id."""
    if args.json:
        as_json(done)
        return 0
    said = words.get(str(done.get("outcome")), otherwise) or phrase("Stored")
    text = "" if done.get("status") == "hidden" else phrase(": {text}", text=done.get("text", ""))
    print(clean(phrase("{said}{text}  (id:{shown})", said=said, text=text, shown=done["shown"])))
    for id_ in done.get("superseded") or []:
        more = f" {history.format(id=str(id_)[-8:])}" if history else ""
        print(phrase("  It took the place of id:{id}, which is history now.{more}", id=str(id_)[-8:], more=more))
    return 0


def _text(given: str) -> str:
    return sys.stdin.read().strip() if given == "-" else given


def _project() -> str:
    """The key of the project that this folder belongs to, as `waiter` has it; '' for none."""
    from homed.memory.projects import key

    try:
        here, home = Path.cwd().resolve(), Path(os.path.expanduser("~")).resolve()
    except OSError:  # the folder is gone
        return ""
    for place in (here, *list(here.parents)[:LEVELS]):
        if place in (home, Path("/")):
            break
        if (place / ".git").exists():
            return key(str(place))
    return "" if here in (home, Path("/")) else key(str(here))
