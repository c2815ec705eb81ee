"""Five plugins that change one stage context at once: updates lost, by field and by copying; and what a round takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import trio

from benchmarks.figures import Figure, median_ms
from homed.host.host import Host
from tests.kit.staging import staging

ROUNDS = 10_000
COPYING_ROUNDS = 1_000
PLUGINS = 5


def measure() -> Iterator[Figure]:
    """Lost updates in percent of those made; the floor is 0.  Time is beside five empty calls of the same plugins."""
    lost, conflicts, took, calls = trio.run(_by_field)
    yield Figure(f"updates lost by field, {PLUGINS} plugins × {ROUNDS} rounds", lost, 1, "1 % (floor 0)", "%")
    yield Figure("clashes of a scalar reported", conflicts, 100 * (PLUGINS - 1) / PLUGINS, "all there were", "%")
    yield Figure("updates lost where each copies the whole", trio.run(_by_copy), 1, "1 %", "%")
    yield Figure("a stage with five handlers, by the segment", took, calls, "five pings of those plugins at once")


async def _by_field() -> tuple[float, float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        async with staging(Path(folder), PLUGINS) as five:
            took, calls = [], []
            for n in range(ROUNDS):
                took.append(await _timed(five.by_field))
                if n % 20 == 0:
                    calls.append(await _timed(lambda: _pings(five.host, five.plugins)))
            sets = ROUNDS * PLUGINS
            return 100 * five.lost(ROUNDS) / (2 * sets), 100 * five.conflicts / sets, median_ms(took), median_ms(calls)


async def _by_copy() -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with staging(Path(folder), PLUGINS) as five:
            for _ in range(COPYING_ROUNDS):
                await five.by_copy()
            return 100 * five.lost(COPYING_ROUNDS) / (2 * COPYING_ROUNDS * PLUGINS)


async def _timed(run: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await run()
    return time.perf_counter() - start


async def _pings(host: Host, plugins: tuple[str, ...]) -> None:
    async with trio.open_nursery() as nursery:
        for name in plugins:
            nursery.start_soon(_ping, host, name)


async def _ping(host: Host, plugin: str) -> None:
    await host.call(plugin, "plugin.ping", {}, timeout=30)
