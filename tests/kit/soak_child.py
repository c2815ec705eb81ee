"""``homed`` that tells on SIGUSR2 what it holds: ``python -m tests.kit.soak_child STATS.json run --data …``.

The handler runs in the daemon's own thread between two steps of its loop, so that it may ask Trio.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import trio

from homed.__main__ import main


def watch(stats: Path) -> None:
    """From now on SIGUSR2 writes ``{"tasks", "objects", "n"}``, whole, by rename."""
    asked = 0

    def tell(_: int, __: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        gc.collect()
        found = {
            "tasks": trio.lowlevel.current_statistics().tasks_living, "objects": len(gc.get_objects()), "n": asked,
        }  # fmt: skip
        part = stats.with_suffix(".part")
        part.write_text(json.dumps(found))
        os.replace(part, stats)

    signal.signal(signal.SIGUSR2, tell)


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
