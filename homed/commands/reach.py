"""Reaching a running daemon through its socket, or else opening the data folder.

While a daemon runs on the folder nobody else writes to it: a command that can't reach the daemon then fails.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from homed.commands.place import paths_of, sockets_of
from homed.commands.saying import phrase
from homed.config.lock import holder
from homed.errors import Unavailable
from homed.paths import Paths
from homed.wire.blocking import BlockingClient

_PATIENCE = 120.0
"""Seconds: a model test may wait for a slow source; everything else answers at once."""

_LONG_PATIENCE = 12 * 3600.0
"""Seconds: the whole of memory may be read or written."""

_LONG = frozenset(
    f"admin.{name}"
    for name in ["memory_forget", "memory_export", "memory_import", "memory_doctor", "backup", "tracker_rollback"]
)

_CHANGES = frozenset(
    f"admin.{name}"
    for name in [
        "config_set",
        "config_unset",
        "config_change",
        "config_rollback",
        "models_add",
        "models_use",
        "models_remove",
        "keys_add",
        "keys_remove",
        "peers_role",
        "rules_remove",
        "embedding_set",
    ]
) | {f"memory.{name}" for name in ("note", "edit", "hide", "restore", "combine", "reinstate")}
"""Methods that change the folder: without a daemon the person is told which folder that was."""


def running(paths: Paths) -> int | None:
    """The pid of the daemon that holds the data folder (0 if it did not say), None when none does."""
    try:
        fd = os.open(paths.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder(os.pread(fd, 1000, 0))[0]
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def reachable(args: argparse.Namespace) -> bool:
    """Whether a running daemon answers."""
    client = _connected(args)
    if client is None:
        return False
    with client:
        return True


def ask(args: argparse.Namespace, method: str, **params: object) -> Any:
    """Ask the running daemon.  Raises ``Unavailable`` with what to do when it can't be reached."""
    return _ask(args, _connected(args), method, params)


def ask_or_open(args: argparse.Namespace, method: str, **params: object) -> Any:
    """Ask the running daemon; when none runs, answer from the data folder itself."""
    client = _connected(args)
    # Whatever a daemon answers is the answer, "unavailable" too: the folder is opened only where nobody is.
    if client or args.socket or running(paths_of(args)) is not None:
        return _ask(args, client, method, params)
    from homed.commands.offline import answer_offline  # the whole kernel, needed only without a daemon

    answer = answer_offline(paths_of(args), method, params)
    if method in _CHANGES:
        print(
            phrase("homed is not running on {data}: it is stored there for its next start.", data=paths_of(args).data),
            file=sys.stderr,
        )
    return answer


def _ask(args: argparse.Namespace, client: BlockingClient | None, method: str, params: Mapping[str, object]) -> Any:
    if client is None:
        raise _unreachable(args)
    with client:
        return client.call(method, params, timeout=_LONG_PATIENCE if method in _LONG else _PATIENCE)


def _connected(args: argparse.Namespace) -> BlockingClient | None:
    """A connection to the first socket where somebody answers."""
    for path in sockets_of(args):
        with suppress(Unavailable):
            return BlockingClient(path)
    return None


def _unreachable(args: argparse.Namespace) -> Unavailable:
    paths = paths_of(args)
    if args.socket:
        return Unavailable(f"Nobody answers at {args.socket}.", hint="Is homed running, and its cli plugin with it?")
    if running(paths) is not None:
        return Unavailable(
            f"homed is running, but nobody answers at {paths.socket}: "
            "it runs with --safe, or the cli plugin is stopped.",
            hint="Start the cli plugin on the page; with --safe nothing listens: stop homed, change what is wrong with "
            "`homed config`, and start it without --safe.",
        )
    return Unavailable(f"homed is not running on {paths.data}.", hint=f"Start it: homed --data {paths.data}")
