"""`homed run`, also plain `homed`: the daemon in the foreground."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from homed.commands.options import Parser, common
from homed.commands.output import clean, complain
from homed.commands.place import paths_of
from homed.commands.saying import translated_lines
from homed.config.environment import child_environment
from homed.errors import HomedError
from homed.log import LEVELS
from homed.paths import Paths
from homed.proc.zygote_begin import begin

if TYPE_CHECKING:
    from homed.proc.zygote import Zygote

PRELOADED = ("trio", "homed.sdk", "homed.sdk.clients", "datetime", "typing_extensions", "pkgutil")
"""What most Python plugins import, or is imported to run them: their zygote has done so before it forks them."""


def options(parser: argparse.ArgumentParser) -> None:
    """The daemon's own options; they stand on the top level too, where `run` may be left out."""
    parser.add_argument("--listen", metavar="HOST:PORT", default=argparse.SUPPRESS, help="where the web page listens")
    parser.add_argument("--log-level", choices=LEVELS, default=argparse.SUPPRESS, help="how much goes to the log")
    parser.add_argument("--safe", action="store_true", default=argparse.SUPPRESS, help="start without any plugin")


def register(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "run",
        parents=[shared],
        help="start the daemon",
        description="Start the daemon in the foreground and print a login link.",
        epilog="Examples:\n  homed run --data /srv/mine --listen 127.0.0.1:9000\n  homed run --safe",
    )
    options(parser)
    parser.set_defaults(handler=run)


def read_start(argv: Sequence[str]) -> argparse.Namespace | None:
    """What plain `homed` and `homed run` were told; None if it is another command, a call for help or a mistake.

    A start reads its command line so, because the modules of all commands take half as long to load as Trio.
    """
    parser = _Start(add_help=False, parents=[common(None)])
    options(parser)
    parser.set_defaults(handler=run, json=False)
    try:
        args, rest = parser.parse_known_args(argv)
    except _Mistake:
        return None
    return args if rest in ([], ["run"]) else None


class _Mistake(Exception):
    """The whole parser knows better what to say about it."""


class _Start(Parser):
    def error(self, message: str) -> NoReturn:
        """Leave it to the whole parser."""
        raise _Mistake(message)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes.  0 after an orderly stop, 1 when it could not start."""
    try:
        paths, safe = paths_of(args), getattr(args, "safe", False)
        zygote = nullcontext if safe else begin_zygote(paths)
        from homed.app import Options, serve  # imports that no other command needs; the zygote does its own meanwhile

        return serve(
            Options(
                paths=paths,
                listen=getattr(args, "listen", None),
                log_level=getattr(args, "log_level", None),
                safe=safe,
                say=lambda line: print(clean(translated_lines(line)), flush=True),
                zygote=zygote,
            )
        )
    except HomedError as error:
        complain(error)
        return 1


def begin_zygote(paths: Paths) -> Callable[[], AbstractAsyncContextManager[Zygote]]:
    """Start what plugins are forked from; how to take it into the daemon's hands.  Nobody's, it leaves with us."""
    modules, env, family = PRELOADED, child_environment(), f"{paths.family}-zygote"
    try:
        begun = begin(modules, env, family)
    except OSError:  # the daemon tries again, and says so
        begun = None
    from homed.proc.zygote import open_zygote  # Trio, which the process that was begun loads at the same time

    return partial(open_zygote, modules, env, family, begun)
