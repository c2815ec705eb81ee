"""Ask, SIGTERM, SIGKILL: each rung only when the one before did not help."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from homed.errors import Unavailable
from homed.proc.ladder import stop_ladder
from homed.proc.spawn import Child, Command, Exit, spawn

DEAF = """
import signal, sys, time
if "term" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
if "stay" not in sys.argv: sys.stdin.read(); sys.exit(5)
time.sleep(600)
"""


def asking(child: Child) -> Callable[[], Awaitable[None]]:
    async def ask() -> None:
        await child.stdin.aclose()

    return ask


@pytest.mark.parametrize(
    ("args", "expected", "grace", "least"),
    [((), Exit(5), 20, 0), (("stay",), Exit(-1, 15), 0.5, 0.5), (("stay", "term"), Exit(-1, 9), 0.5, 0.9)],
)
async def test_each_rung_in_its_time(
    tmp_path: Path, args: tuple[str, ...], expected: Exit, grace: float, least: float
) -> None:
    command = Command((sys.executable, "-c", DEAF, *args), tmp_path, {"PATH": os.environ["PATH"]})
    async with spawn(command, mark="l") as child:
        assert bytes(await child.stdout.receive_some()) == b"up\n"
        begun = trio.current_time()
        assert await stop_ladder(child, ask=asking(child), grace=grace, term=0.4 if "term" in args else 20) == expected
        assert least <= trio.current_time() - begun < 20


async def test_a_child_that_cannot_be_asked_still_gets_its_time(tmp_path: Path) -> None:
    async def ask() -> None:
        await child.stdin.aclose()
        raise Unavailable("its pipe is broken")

    command = Command(("sh", "-c", "read x; sleep 0.2; exit 4"), tmp_path, {"PATH": os.environ["PATH"]})
    async with spawn(command, mark="l") as child:
        assert await stop_ladder(child, ask=ask) == Exit(4)


async def test_asking_that_never_ends_does_not_hold_the_ladder(tmp_path: Path) -> None:
    command = Command(("sleep", "600"), tmp_path, {"PATH": os.environ["PATH"]})
    async with spawn(command, mark="l") as child:
        assert await stop_ladder(child, ask=trio.sleep_forever, grace=0.1, term=20) == Exit(-1, 15)
