"""`homed plugin …`: see, start, stop, read logs, make and check."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Any

from homed.builtin.names import RESERVED
from homed.commands import packages
from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, table, when
from homed.commands.reach import ask
from homed.commands.saying import about_plugin, phrase, translated


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "plugin",
        parents=[common],
        help="see, start and stop plugins, read their logs, make and check one",
        description="Plugins are processes of their own; homed starts them and brings them back when they crash.",
        epilog="Examples:\n  homed plugin list\n  homed plugin start shell\n  homed plugin logs webui\n"
        "  homed plugin install ./greeter-0.1.0.hmap\n  homed plugin new greeter\n  homed plugin check ./greeter",
    )
    actions = Actions(parser, common)
    listed = actions.add("list", _list, "every plugin with its state")
    listed.add_argument("--tools", action="store_true", help="every tool by its plugin, counted")
    for name, handler, text in (
        ("start", _start, "start it, also after too many crashes or a stop"),
        ("stop", _stop, "stop it until it is started again"),
        ("logs", _logs, "the last lines it wrote to stderr, and its last crash"),
    ):
        action = actions.add(name, handler, text, "shell")
        action.add_argument("name", metavar="NAME")
        if name == "logs":
            action.add_argument("--limit", type=int, default=200, help="how many lines")
    packages.register(actions)
    new = actions.add("new", _new, "write a new plugin with its test", "greeter", json=False)
    new.add_argument("name", metavar="NAME")
    new.add_argument("--dir", default=".", help="where to put its folder")
    new.add_argument("--lang", default="python", help="what it is written in: python, lua, c, node")
    check = actions.add("check", _check, "check a plugin's folder by running it", "./greeter", json=False)
    check.add_argument("dir", metavar="DIR")


def _list(args: argparse.Namespace) -> int:
    plugins = ask(args, "admin.plugins")["plugins"]
    if args.tools:
        return _tools(args, plugins)
    if args.json:
        as_json(plugins)
    else:
        rows = [(p["name"], phrase(p["state"]), phrase(p["trust"]), len(p["tools"]), _what(p)) for p in plugins]
        table(rows, ("plugin", "state", "from", "tools", "reason or what it is"))
    return 0


def _what(plugin: dict[str, Any]) -> str:
    about = plugin["description"]
    return translated(plugin["reason"]) or (
        about_plugin(plugin["name"], about) if plugin["trust"] == "packaged" else about
    )


def _tools(args: argparse.Namespace, plugins: list[dict[str, Any]]) -> int:
    """Every tool there is, the kernel's own apart, and how many that makes."""
    by_plugin = {plugin["name"]: plugin["tools"] for plugin in plugins if plugin["tools"]}
    kernel, count = sorted(RESERVED.names), sum(map(len, by_plugin.values()))
    if args.json:
        as_json({"plugins": by_plugin, "kernel": kernel, "count": count, "kernel_count": len(kernel)})
        return 0
    rows = [(tool, name) for name, tools in by_plugin.items() for tool in tools]
    table([*rows, *((tool, "kernel") for tool in kernel)], ("tool", "plugin"))
    print(
        phrase(
            "{count} tools of {by_plugin} plugins, and {kernel} of the kernel's own.",
            count=count,
            by_plugin=len(by_plugin),
            kernel=len(kernel),
        )
    )
    return 0


def _start(args: argparse.Namespace) -> int:
    return _after(args, ask(args, "admin.plugin_start", name=args.name))


def _stop(args: argparse.Namespace) -> int:
    return _after(args, ask(args, "admin.plugin_stop", name=args.name))


def _after(args: argparse.Namespace, plugin: dict[str, Any]) -> int:
    if args.json:
        as_json(plugin)
    else:
        reason = phrase(": {text}", text=translated(plugin["reason"])) if plugin["reason"] else ""
        print(clean(f"{plugin['name']}{phrase(': {text}', text=phrase(plugin['state']))}{reason}"))
    return 0


def _logs(args: argparse.Namespace) -> int:
    lines = ask(args, "admin.plugin_logs", name=args.name, limit=args.limit)["lines"]
    if args.json:
        as_json(lines)
        return 0
    for line in lines:
        print(clean(line))
    if not lines:
        print(phrase("{name} wrote nothing yet.", name=args.name), file=sys.stderr)
    crashes = next(p["crashes"] for p in ask(args, "admin.plugins")["plugins"] if p["name"] == args.name)
    if crashes:
        last = crashes[-1]
        how = (
            phrase("signal {signal}", signal=last["signal"])
            if last["signal"]
            else phrase("exit code {code}", code=last["code"])
        )
        pending = ", ".join(map(str, last["pending"])) or phrase("none")
        print(
            phrase(
                "-- last crash {at}: {how}; calls then open: {pending}", at=when(last["at"]), how=how, pending=pending
            )
        )
    return 0


def _new(args: argparse.Namespace) -> int:
    return _sdk("new", args.name, "--dir", args.dir, "--lang", args.lang)


def _check(args: argparse.Namespace) -> int:
    return _sdk("check", args.dir)


def _sdk(*words: str) -> int:
    """The kit is the SDK's, and the kernel does not import it: run it as the program it is."""
    return subprocess.call([sys.executable, "-m", "homed.sdk", *words])
