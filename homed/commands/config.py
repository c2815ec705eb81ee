"""`homed config …`: see and change settings, with or without a running daemon."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, table
from homed.commands.reach import ask_or_open
from homed.errors import InvalidInput


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "config",
        parents=[common],
        help="see and change settings",
        description="Settings live in the database; homed.toml and HOMED__… variables override them.",
        epilog="Examples:\n  homed config list core.agent\n  homed config get core.agent.max_tool_turns\n"
        "  homed config set core.agent.max_tool_turns 6\n  homed config set core.web.password   (asks for it)",
    )
    actions = Actions(parser, common)
    get = actions.add("get", _get, "print one setting", "core.agent.max_tool_turns")
    get.add_argument("key", metavar="KEY")
    put = actions.add("set", _set, "change one setting", "core.agent.max_tool_turns 6")
    put.add_argument("key", metavar="KEY")
    put.add_argument(
        "value", metavar="VALUE", nargs="?", help="left out: a password is asked for, anything else read from stdin"
    )
    actions.add("list", _list, "every setting, or those that begin with PREFIX", "core.agent").add_argument(
        "prefix", metavar="PREFIX", nargs="?", default=""
    )


def _get(args: argparse.Namespace) -> int:
    view = ask_or_open(args, "admin.config_get", key=args.key)
    if args.json:
        as_json(view)
    else:
        value = view["value"]
        print(clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
    return 0


def _set(args: argparse.Namespace) -> int:
    value = args.value if args.value is not None else _asked(args)
    done = ask_or_open(args, "admin.config_set", key=args.key, value=value)
    if args.json:
        as_json(done)
    else:
        emptied = value == "" and ask_or_open(args, "admin.config_get", key=args.key)["type"] == "password"
        later = "" if done["applied"] == "now" else "; it takes effect at the next start"
        print(f"{args.key} is {'removed' if emptied else 'set'}{later}.")
        if done["applied"] == "now" and done["note"]:
            print(clean(done["note"]))
    return 0


def _asked(args: argparse.Namespace) -> str:
    view = ask_or_open(args, "admin.config_get", key=args.key)
    if view["type"] != "password":
        return sys.stdin.read().removesuffix("\n")
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass(f"{args.key}: ")
    if first != getpass.getpass("once more: "):
        raise InvalidInput("The two are not the same.", hint="Nothing was changed; try again.")
    return first


def _list(args: argparse.Namespace) -> int:
    settings = ask_or_open(args, "admin.config_list", prefix=args.prefix)["settings"]
    if args.json:
        as_json(settings)
    else:
        rows = [
            (s["key"], json.dumps(s["value"], ensure_ascii=False)[:40], s["source"], s["description"]) for s in settings
        ]
        table(rows, ("key", "value", "from", "what it is"))
    return 0
