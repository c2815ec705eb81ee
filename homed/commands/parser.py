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
)
from homed.wire.version import CORE

Handler = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """argparse with one house rule: a usage error ends with 2 and one line that says where help is."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> None:  # type: ignore[override]
        """Say what is wrong and where help is, then leave with 2."""
        self.exit(2, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def _common(default: object) -> Parser:
    """Options that may stand before or after the command; ``default`` keeps the later from undoing the earlier."""
    common = Parser(add_help=False)
    common.add_argument("--data", "-data", metavar="DIR", default=default, help="the data folder (also: HOMED_DATA)")
    common.add_argument(
        "--profile", metavar="NAME", default=default, help="a data folder by name; the default is `default`"
    )
    common.add_argument(
        "--socket", metavar="PATH", default=default, help="a running daemon's socket (also: HOMED_SOCKET)"
    )
    return common


def build() -> Parser:
    """The whole command line.  Each command leaves its function as ``args.handler``."""
    parser = Parser(
        prog="homed",
        description="A self-hosted agent kernel that remembers.",
        epilog="Examples:\n  homed                        start, and print a login link\n"
        "  homed --data /srv/mine       the same, with another data folder\n"
        "  homed models add deepseek --base-url https://api.deepseek.com/v1 --model deepseek-chat\n"
        "  homed plugin list\n  homed status --json",
        parents=[_common(None)],
    )
    parser.add_argument("--version", action="version", version=f"homed {CORE}")
    run.options(parser)
    parser.set_defaults(handler=run.run, json=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for module in (
        run, status, doctor, plan, plugin, config, models, context, memory, memory_files, keys, peers, link, bench,
    ):  # fmt: skip
        module.register(commands, _common(argparse.SUPPRESS))
    return parser
