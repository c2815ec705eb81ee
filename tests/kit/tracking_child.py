"""A process that is killed in the middle: ``python tracking_child.py FOLDER WHERE COUNT``.

WHERE: ``tool`` (in a tracked block), ``put`` or ``clear`` (the COUNTth step of a roll back), ``finish`` (before it is
told).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from homed.sdk.tracking import restore
from tests.homed.tracker.test_tracker import furnish, wreck
from tests.kit.tracking import open_desk


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function, at whose call of this number the process ends."""
    calls = iter(range(count))

    def call(*args: Any, **named: Any) -> Any:
        if next(calls, None) is None:
            die()
        return function(*args, **named)

    return call


async def main(tmp: Path, where: str, count: int) -> None:
    async with open_desk(tmp) as desk:
        furnish(desk.folder)
        async with desk.tracked() as set_:
            wreck(desk.folder)
            if where == "tool":
                die()
        name = {"put": "_put", "clear": "_clear", "finish": "finish"}[where]
        setattr(restore, name, dying(getattr(restore, name), count))
        await desk.back(set_)


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
