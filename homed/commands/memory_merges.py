"""`homed memory merges …`: names that may mean the same, for a person to decide."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase
from homed.errors import InvalidInput

EXAMPLES = (
    "\n  homed memory merges accept 1a2b3c4d-5e6f7a8b --keep 2\n  homed memory merges reject 1a2b3c4d-5e6f7a8b"
    "\n  homed memory merges undo 7"
)


def add(actions: Actions) -> None:
    """Add the action to those of `homed memory`."""
    parser = actions.add("merges", _merges, "people and things that may be one, for you to decide")
    parser.epilog = f"{parser.epilog}{EXAMPLES}"
    parser.add_argument(
        "what", nargs="?", default="list", choices=list(_ACTIONS), metavar="ACTION",
        help="list, accept (make them one), reject (they are two), undo (take a merge back)",
    )  # fmt: skip
    parser.add_argument("merge", nargs="?", default="", metavar="ID", help="as the list has it; for undo the number")
    parser.add_argument("--keep", type=int, choices=(1, 2), default=0, help="for accept: which of the two stays")


def _merges(args: argparse.Namespace) -> int:
    if args.what != "list" and not args.merge:
        print(
            phrase("homed memory merges: {what} needs an ID. See `homed memory merges --help`.", what=args.what),
            file=sys.stderr,
        )
        return 2
    return _ACTIONS[args.what](args)


def _list(args: argparse.Namespace) -> int:
    answer = ask_or_open(args, "admin.merges_list")
    if args.json:
        as_json(answer)
        return 0
    if not answer["merges"]:
        print(phrase("No two names are waiting to be told apart."))
    for one in answer["merges"]:
        print(
            phrase(
                "{merge}  {score:.0%} alike, in {scope}",
                merge=one["merge"],
                score=one["score"],
                scope=clean(one["scope"]),
            )
        )
        for number, side in enumerate(one["sides"], 1):
            print(f"  {number}. {_side(side)}")
    if done := answer["done"]:
        print(phrase("\nMerged; `homed memory merges undo NUMBER` takes one back:"))
        for one in done:
            print(f"  {one['done']}  {clean(one['gone'])} → {clean(one['kept'])}, {when(one['at'])}")
    return 0


def _side(side: Mapping[str, Any]) -> str:
    facts = "; ".join(map(clean, side["facts"]))
    return phrase(
        "{name} ({type}, mentioned {mentions} times){facts}",
        name=clean(side["name"]),
        type=side["type"],
        mentions=side["mentions"],
        facts=f": {facts}" if facts else "",
    )


def _accept(args: argparse.Namespace) -> int:
    done = ask_or_open(args, "admin.merges_accept", merge=args.merge, keep=args.keep)
    if args.json:
        as_json(done)
    else:
        print(
            phrase(
                "{gone} is {kept} now. `homed memory merges undo {done}` takes it back.",
                gone=clean(done["gone"]),
                kept=clean(done["kept"]),
                done=done["done"],
            )
        )
    return 0


def _reject(args: argparse.Namespace) -> int:
    answer = ask_or_open(args, "admin.merges_reject", merge=args.merge)
    if args.json:
        as_json(answer)
    else:
        print(phrase("They stay two, and are not proposed again for a while."))
    return 0


def _undo(args: argparse.Namespace) -> int:
    if not args.merge.isdecimal():
        raise InvalidInput("A merge is taken back by its number.", hint="`homed memory merges` lists them.")
    answer = ask_or_open(args, "admin.merges_undo", done=int(args.merge))
    if args.json:
        as_json(answer)
    else:
        print(phrase("{name} is by itself again.", name=clean(answer["name"])))
    return 0


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": _list, "accept": _accept, "reject": _reject, "undo": _undo,
}  # fmt: skip
