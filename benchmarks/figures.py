"""A figure beside the one it is compared with."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CACHING = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of what is started: where no bytecode may be written, each start would compile what was changed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """``value`` and ``against`` in ``unit``, medians of the same run; ``against_what`` is the limit or the peer."""

    name: str
    value: float
    against: float
    against_what: str
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        """How many times the limit or the peer this takes."""
        return self.value / self.against


def median_ms(samples: Sequence[float]) -> float:
    """Median of seconds, in milliseconds."""
    return statistics.median(samples) * 1000


def p99_ms(samples: Sequence[float]) -> float:
    """99th percentile of seconds, in milliseconds."""
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * 0.99))] * 1000


def times(run: Callable[[], object], rounds: int) -> list[float]:
    """Seconds of each of ``rounds`` calls."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return taken
