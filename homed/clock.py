"""Wall-clock time as a port, so that everything that stores a time can be tested without waiting.

Durations and deadlines use ``trio.current_time()`` (and so ``MockClock`` in tests); only what is written to disk or
shown to a person uses a wall clock.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

WallClock = Callable[[], float]
"""Returns UTC seconds since the epoch."""


def system_wall_clock() -> float:
    """The machine's own wall clock, in UTC seconds since the epoch."""
    return time.time()


def new_id(prefix: str) -> str:
    """A fresh random id, ``prefix`` + ``_`` + 16 hex digits (64 random bits): ``new_id("turn")``."""
    return f"{prefix}_{secrets.token_hex(8)}"
