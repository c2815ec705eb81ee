"""`homed config …`: see and change settings, with or without a running daemon."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from collections.abc import Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, table, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import about_setting, phrase, translated
from homed.config.dump import Line, as_toml
from homed.errors import InvalidInput, NotFound
from homed.redact import redact_json


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "config",
        parents=[common],
        help="see and change settings",
        description="Settings live in the database; homed.toml and HOMED__… variables override them.",
        epilog="Examples:\n  homed config list core.agent\n  homed config get core.agent.max_tool_turns\n"
        "  homed config set core.agent.max_tool_turns 6\n  homed config set core.web.password   (asks for it)\n"
        '  homed config set core.memory.inject_min_score 0.2 --reason "unrelated notes came"\n'
        "  homed config dump > homed.toml\n  homed config rollback   (the models as before the last change)",
    )
    actions = Actions(parser, common)
    get = actions.add("get", _get, "print one setting", "core.agent.max_tool_turns")
    get.add_argument("key", metavar="KEY")
    put = actions.add("set", _set, "change one setting", "core.agent.max_tool_turns 6")
    put.add_argument("key", metavar="KEY")
    put.add_argument(
        "value", metavar="VALUE", nargs="?", help="left out: a password is asked for, anything else read from stdin"
    )
    unset = actions.add("unset", _unset, "bring the default of settings back", "core.agent.max_tool_turns")
    unset.add_argument("keys", metavar="KEY", nargs="+")
    for action in (put, unset):
        action.add_argument(
            "--reason", metavar="TEXT", default="", help="why; thresholds of memory need one, and keep it"
        )
    listed = actions.add("list", _list, "every setting, or those that begin with PREFIX", "core.agent")
    listed.add_argument("prefix", metavar="PREFIX", nargs="?", default="")
    listed.add_argument("--changed", action="store_true", help="only those that are not at their default")
    dump = actions.add("dump", _dump, "every setting as a homed.toml, without passwords", "> homed.toml")
    dump.add_argument("prefix", metavar="PREFIX", nargs="?", default="")
    dump.add_argument("--all", action="store_true", help="write the defaults down as well, not as comments")
    actions.add("snapshots", _snapshots, "what the settings of the models were before each change")
    back = actions.add("rollback", _rollback, "bring the settings of the models back as they were", "12")
    back.add_argument(
        "snapshot", metavar="ID", type=int, nargs="?", help="of `config snapshots`; the newest if left out"
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
    done = _with_reason(args, "admin.config_set", key=args.key, value=value)
    if args.json:
        as_json(done)
    else:
        emptied = value == "" and ask_or_open(args, "admin.config_get", key=args.key)["type"] == "password"
        print(phrase("{key} is removed." if emptied else "{key} is set.", key=args.key))
        if done["note"]:
            print(clean(translated(done["note"])))
    return 0


def _with_reason(args: argparse.Namespace, method: str, **params: object) -> Any:
    """Change something; whoever sits at a terminal is asked why where that is needed and was not said."""
    try:
        return ask_or_open(args, method, **params, reason=args.reason)
    except InvalidInput as error:
        if error.detail.get("needs") != "reason" or args.reason or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        print(clean(translated(error.message)), file=sys.stderr)
        print(phrase("Why? "), end="", file=sys.stderr, flush=True)
        reason = input().strip()
        if not reason:
            raise
        return ask_or_open(args, method, **params, reason=reason)


def _asked(args: argparse.Namespace) -> str:
    view = ask_or_open(args, "admin.config_get", key=args.key)
    if view["type"] != "password":
        return sys.stdin.read().removesuffix("\n")
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass(f"{args.key}: ")
    if first != getpass.getpass(phrase("once more: ")):
        raise InvalidInput("The two are not the same.", hint="Nothing was changed; try again.")
    return first


def _unset(args: argparse.Namespace) -> int:
    done = _with_reason(args, "admin.config_change", changes=dict.fromkeys(args.keys))
    if args.json:
        as_json(done)
        return 0
    print(phrase("{keys}: the default holds again.", keys=", ".join(args.keys)))
    if done["note"]:
        print(clean(translated(done["note"])))
    return 0


def _list(args: argparse.Namespace) -> int:
    settings = ask_or_open(args, "admin.config_list", prefix=args.prefix)["settings"]
    if args.changed:
        settings = [setting for setting in settings if setting["source"] != "default"]
    if args.json:
        as_json(settings)
    else:
        rows = [
            (
                s["key"],
                json.dumps(s["value"], ensure_ascii=False)[:40],
                phrase(s["source"]),
                about_setting(s["key"], s["description"]),
            )
            for s in settings
        ]
        table(rows, ("key", "value", "from", "what it is"))
    return 0


def _dump(args: argparse.Namespace) -> int:
    settings = ask_or_open(args, "admin.config_list", prefix=args.prefix, hidden=True)["settings"]
    if args.json:
        as_json({s["key"]: redact_json(s["value"]) for s in settings if not _withheld(s)})
        return 0
    print("# The settings of homed, as they are in force.  What is a comment is a default, or is not written down.")
    print(as_toml(_line(setting, whole=args.all) for setting in settings), end="")
    return 0


def _withheld(setting: Mapping[str, Any]) -> bool:
    """A password is never written, nor is what only the daemon keeps for itself."""
    return bool(setting["masked"]) and setting["type"] != "list"


def _line(setting: Mapping[str, Any], *, whole: bool) -> Line:
    key, value = str(setting["key"]), setting["value"]
    if _withheld(setting):
        return Line(key, "", "a password: it is not written down" if value else "")
    if setting["masked"]:  # a person's own headers, which may be keys
        return Line(key, value, "with headers that are not written down: fill them in")
    if (clean := redact_json(value)) != value:  # in a text, where no key belongs
        return Line(key, clean, "what looks like a key is not written down: fill it in")
    at_default = setting["source"] == "default" or (setting["source"] == "stored" and value == setting["default"])
    return Line(key, value, "" if at_default and not whole else None)


def _snapshots(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "admin.config_snapshots")["snapshots"]
    if args.json:
        as_json(found)
        return 0
    if not found:
        print(phrase("The settings of the models have not been changed yet."))
        return 0
    table(
        [(one["id"], when(one["at"]), ", ".join(one["changed"]), _differences(one)) for one in found],
        ("id", "before", "what was changed", "what a roll back would change"),
    )
    return 0


def _differences(snapshot: Mapping[str, Any]) -> str:
    said = [f"{one['what']}: {_short(one['now'])} → {_short(one['then'])}" for one in snapshot["differences"]]
    return "; ".join(said) or phrase("nothing")


def _short(value: object) -> str:
    text = "–" if value in (None, "") else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _rollback(args: argparse.Namespace) -> int:
    number = args.snapshot
    if number is None:
        found = ask_or_open(args, "admin.config_snapshots")["snapshots"]
        if not found:
            raise NotFound("The settings of the models have not been changed yet.", hint="There is nothing to undo.")
        number = found[0]["id"]
    done = ask_or_open(args, "admin.config_rollback", snapshot=number)
    if args.json:
        as_json({"snapshot": number, **done})
        return 0
    print(phrase("The settings of the models are as they were before change {number}.", number=number))
    for note in done["notes"]:
        print(clean(translated(note)))
    return 0
