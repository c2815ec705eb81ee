"""`homed link`: a fresh login link."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.output import as_json
from homed.commands.reach import ask


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "link",
        parents=[common],
        help="print a fresh login link",
        description="Print a link that logs you in to the page once, within five minutes.",
        epilog="Examples:\n  homed link\n  homed link --json",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the link."""
    answer = ask(args, "admin.link")
    if args.json:
        as_json(answer)
    else:
        print(answer["url"])
    return 0
