"""Starts a plugin from its folder, outside homed: for the checker and the packer."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from homed.proc.spawn import Command
from homed.sdk.process import environment, own_mark
from homed.wire.manifest import Manifest

_PACKAGE = "homed_plugins"
"""The package that a checkout's ``plugins/`` becomes when it is installed."""


@contextmanager
def command(manifest: Manifest, folder: Path, *extra: str) -> Iterator[Command]:
    """The command that runs the plugin in ``folder``, which need not be installed; valid inside the block.

    A plugin of the ``homed_plugins`` package runs from the folder given, not from the copy that is installed.
    """
    folder = folder.resolve()
    argv = (*manifest.argv(folder), *extra)
    env = environment()
    with TemporaryDirectory(prefix="homed-plugin-") as scratch:
        if shlex.split(manifest.entry)[1:3] == ["-m", f"{_PACKAGE}.{folder.name}"]:
            (Path(scratch) / _PACKAGE).symlink_to(folder.parent)
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (scratch, env.get("PYTHONPATH"))))
        if argv[0] == sys.executable:
            # Running a plugin from its source must not litter it with caches.
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        yield Command(argv, folder, env)


def fresh_mark() -> str:
    """A mark of its own for one start."""
    return f"{own_mark()}/{secrets.token_hex(4)}"
