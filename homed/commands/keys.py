"""`homed keys …`: API keys, with or without a running daemon."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, table, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase
from homed.identity.keys import SCOPES


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "keys",
        parents=[common],
        help="API keys: list, add, remove",
        description="A key lets a program in as you, or as a peer of its own, through the page's interfaces.",
        epilog="Examples:\n  homed keys add laptop\n  homed keys add backup --scope admin\n  homed keys remove laptop",
    )
    actions = Actions(parser, common)
    actions.add("list", _list, "the keys by name, what they are for and when they were used; never a key")
    add = actions.add("add", _add, "make a key and print it, this once", "laptop --scope chat --scope memory")
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it is for, once for each; chat when left out",
    )
    add.add_argument(
        "--peer",
        metavar="NAME",
        default="owner",
        help="whom it acts as: you when left out; another name is somebody of the page's, a guest until you give "
        "them a role (`homed peers role webui:NAME …`)",
    )
    actions.add("remove", _remove, "remove a key; it is refused at once", "laptop").add_argument("name", metavar="NAME")


def _list(args: argparse.Namespace) -> int:
    keys = ask_or_open(args, "admin.keys_list")["keys"]
    if args.json:
        as_json(keys)
    elif not keys:
        print(phrase("No API key yet.\n  Make one: homed keys add NAME"))
    else:
        rows = [
            (k["name"], k["peer"], ", ".join(k["scopes"]), when(k["created_at"]), when(k["used_at"]) or phrase("never"))
            for k in keys
        ]
        table(rows, ("key", "acts as", "for", "made", "used"))
    return 0


def _add(args: argparse.Namespace) -> int:
    made = ask_or_open(args, "admin.keys_add", name=args.name, scopes=args.scope or ["chat"], **_of(args.peer))
    if args.json:
        as_json(made)
    else:
        print(made["key"])
    return 0


def _of(peer: str) -> dict[str, str]:
    return {} if peer == "owner" else {"acts_as": peer if peer.startswith("webui:") else f"webui:{peer}"}


def _remove(args: argparse.Namespace) -> int:
    answer = ask_or_open(args, "admin.keys_remove", name=args.name)
    if args.json:
        as_json(answer)
    else:
        print(phrase("{name} is gone.", name=args.name))
    return 0
