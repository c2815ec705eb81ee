"""The command line: every command, its options and an example, in one place."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from homed.commands import (
    bench,
    config,
    context,
    doctor,
    keys,
    link,
    memory,
    memory_files,
    models,
    peers,
    plan,
    plugin,
    run,
    status,
    tracker,
    usage,
)
from homed.commands.options import Parser, common
from homed.wire.version import CORE

Handler = Callable[[argparse.Namespace], int]


def build() -> Parser:
    """The whole command line.  Each command leaves its function as ``args.handler``."""
    parser = Parser(
        prog="homed",
        description="A self-hosted agent kernel that remembers.",
        epilog="Examples:\n  homed                        start, and print a login link\n"
        "  homed --data /srv/mine       the same, with another data folder\n"
        "  homed models add deepseek --base-url https://api.deepseek.com/v1 --model deepseek-chat\n"
        "  homed plugin list\n  homed status --json",
        parents=[common(None)],
    )
    parser.add_argument("--version", action="version", version=f"homed {CORE}")
    run.options(parser)
    parser.set_defaults(handler=run.run, json=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for module in (
        run, status, doctor, plan, plugin, config, models, context, memory, memory_files, tracker, usage, keys, peers,
        link, bench,
    ):  # fmt: skip
        module.register(commands, common(argparse.SUPPRESS))
    return parser
