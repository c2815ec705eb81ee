"""From the command line to the plugin that runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import trio

from homed import sdk
from homed.errors import HomedError
from homed.sdk.entry import DESCRIBE

from .plugin import plugin


def main() -> None:
    """Run the plugin lua, or the Lua plugin in the folder given; ``--describe`` prints what that one registers."""
    words = sys.argv[1:]
    if not words or words == [DESCRIBE]:
        sdk.run(plugin)
        return
    from .runner import Runner  # with lupa, which only who runs Lua needs

    try:
        runner = Runner(Path(words[0]))
        if words[1:] == [DESCRIBE]:
            described = trio.run(runner.describe)
            sys.stdout.write(json.dumps(described, ensure_ascii=False, indent=2) + "\n")
            return
    except HomedError as error:
        raise SystemExit(str(error)) from error
    sdk.run(runner.plugin)
