"""`homed run`, also plain `homed`: the daemon in the foreground."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.output import clean, complain
from homed.commands.place import paths_of
from homed.errors import HomedError
from homed.log import LEVELS


def options(parser: argparse.ArgumentParser) -> None:
    """The daemon's own options; they stand on the top level too, where `run` may be left out."""
    parser.add_argument("--listen", metavar="HOST:PORT", default=argparse.SUPPRESS, help="where the web page listens")
    parser.add_argument("--log-level", choices=LEVELS, default=argparse.SUPPRESS, help="how much goes to the log")
    parser.add_argument("--safe", action="store_true", default=argparse.SUPPRESS, help="start without any plugin")


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "run",
        parents=[common],
        help="start the daemon",
        description="Start the daemon in the foreground and print a login link.",
        epilog="Examples:\n  homed run --data /srv/mine --listen 127.0.0.1:9000\n  homed run --safe",
    )
    options(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes.  0 after an orderly stop, 1 when it could not start."""
    from homed.app import Options, serve  # half a second of imports that no other command needs

    try:
        return serve(
            Options(
                paths=paths_of(args),
                listen=getattr(args, "listen", None),
                log_level=getattr(args, "log_level", None),
                safe=getattr(args, "safe", False),
                say=lambda line: print(clean(line), flush=True),
            )
        )
    except HomedError as error:
        complain(error)
        return 1
