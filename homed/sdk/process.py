"""The only way a plugin starts programs: an own group, killed whole on cancel, timeout and when the kernel goes."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from homed.proc.bounded import Completed, run_bounded
from homed.proc.marks import MARK
from homed.proc.spawn import Command, Exit

__all__ = ["Completed", "Exit", "environment", "own_mark", "run"]


def own_mark() -> str:
    """The mark that the kernel gave this process; whatever it starts carries one nested in it."""
    return os.environ.get(MARK) or f"sdk-{os.getpid()}"


def environment() -> dict[str, str]:
    """This process's environment without homed's own variables: what a program started here gets by default."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HOMED_")}


async def run(
    argv: Sequence[str],
    *,
    cwd: Path | str,
    env: Mapping[str, str] | None = None,
    input: bytes = b"",
    timeout: float = math.inf,
    limit: int = 1 << 20,
) -> Completed:
    """Run a program to its end and return how it ended and what it wrote, at most ``limit`` bytes a stream.

    After ``timeout`` seconds the group is killed and the result says ``timed_out``, with the output so far.  Cancelling
    kills the group with SIGKILL, reaps it and leaves nothing behind.  Raises `ConfigError` if there is no such program.
    """
    command = Command(tuple(argv), Path(cwd), environment() if env is None else env)
    mark = f"{own_mark()}/{secrets.token_hex(4)}"
    return await run_bounded(command, input=input, limit=limit, timeout=timeout, mark=mark)
