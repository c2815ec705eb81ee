"""Which data folder and which socket a command is about."""

from __future__ import annotations

import argparse
from pathlib import Path

from homed.errors import InvalidInput
from homed.paths import Paths, default_data_dir, socket_candidates


def paths_of(args: argparse.Namespace) -> Paths:
    """The data folder from ``--data``, ``--profile`` or the environment; nothing is created."""
    if args.data and args.profile:
        raise InvalidInput("--data and --profile both name a folder.", hint="Give one of them.")
    if args.data:
        return Paths(Path(args.data).expanduser().absolute())
    return Paths(default_data_dir(profile=args.profile or "default"))


def sockets_of(args: argparse.Namespace) -> list[Path]:
    """Where a running daemon may be reached, best first."""
    if args.socket:
        return [Path(args.socket).expanduser().absolute()]
    if args.data or args.profile:
        return [paths_of(args).socket]
    return socket_candidates()
