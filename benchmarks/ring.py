"""The event rings: what a post costs, how soon a reader in another process is awake, and how many it can follow."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import trio

from benchmarks.figures import Figure
from homed.events import CONTENT_DELTA, SYSTEM, Bus
from homed.host.ring import CONTENT, LifeRings, Rings
from homed.sdk.ring import Item, RingFds, RingLink, RingReader, take_rings
from homed.wire import methods
from homed.wire.layout.ring import ALL, SLOTS

POSTS, BATCHES = 20, 2000
"""Short batches: a median of long ones would measure who else is at work on the machine."""
WAKES = 400
RATES = (50_000, 75_000, 100_000, 125_000, 150_000)
SECONDS = 2.0
BOTH = frozenset({methods.NOTICES, methods.CONTENT})
DELTA = {"step": 0, "at": 1204, "text": "some words of an answer, as many as come in 30 ms "}


def measure() -> Iterator[Figure]:
    """Median of batches for posting and reading, of single wakes for waking; for following the highest rate without a
    loss, which needs two cores that nobody else uses."""
    bus = Bus()
    alone = _post_us(bus)
    rings = Rings(bus)
    try:
        with rings.of(BOTH, packaged=True) as life:
            yield Figure("a post with rings and nobody who reads", _post_us(bus), alone, "a post without rings", "µs")
            with bus.subscribe():
                queued = _post_us(bus)
            life.subscribe(None, content=True)
            posted = _post_us(bus)
            yield Figure("a post into a ring", posted, 10.0, "the limit of 10 µs", "µs")
            yield Figure("a post into a ring", posted, queued, "a post into a queue in memory", "µs")
            yield Figure("reading an event", _read_us(life, bus), 10.0, "10 µs, which are 100 000 a second", "µs")
            bare, what = _bare_wakes(), "an eventfd that wakes Trio there"
            awake, read = _ring_wakes(life, bus)
            yield Figure("from a post until its reader, in another process, is awake", awake, bare, what, "µs")
            yield Figure("from a post until its reader has the notice", read, bare, what, "µs")
            yield Figure("events a second that a reader follows without a loss", _followed(life, bus), 100_000.0,
                         "the 100 000 asked for", "/s")  # fmt: skip
    finally:
        rings.close()


def _post(bus: Bus) -> None:
    bus.post(CONTENT_DELTA, thread="thr_0123456789abcdef", turn="turn_0123456789abcdef", scope="owner", data=DELTA)


def _post_us(bus: Bus) -> float:
    taken = []
    for _ in range(BATCHES):
        begun = time.perf_counter()
        for _ in range(POSTS):
            _post(bus)
        taken.append((time.perf_counter() - begun) / POSTS)
    return statistics.median(taken) * 1e6


def _read_us(life: LifeRings, bus: Bus) -> float:
    """What the SDK takes to make a notice of an event."""
    taken, fds = [], take_rings(dict(life.env))[CONTENT]
    for _ in range(10):
        reader = RingReader(fds, bus.seq, ALL)
        for _ in range(SLOTS - 1):
            _post(bus)
        for _ in range(SLOTS // POSTS):
            begun = time.perf_counter()
            items = reader.read(POSTS)
            taken.append((time.perf_counter() - begun) / len(items))
        reader.close()
    return statistics.median(taken) * 1e6


@contextmanager
def _child(what: str, env: Mapping[str, str], fds: tuple[int, ...], seq: int = 0) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.ring", what, str(seq)], env={**os.environ, **env}, pass_fds=fds,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
        yield process
        process.kill()


def _woken(process: subprocess.Popen[str], act: Callable[[], object]) -> list[float]:
    """Median µs from ``act`` until each of the moments that the other process tells."""
    assert process.stdout is not None
    taken = []
    for _ in range(WAKES):
        time.sleep(0.002)  # it sleeps again
        begun = time.clock_gettime(time.CLOCK_MONOTONIC)
        act()
        taken.append([float(moment) - begun for moment in process.stdout.readline().split()])
    return [statistics.median(moments) * 1e6 for moments in zip(*taken, strict=True)]


def _bare_wakes() -> float:
    wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    try:
        with _child("bare", {"WAKE": str(wake)}, (wake,)) as process:
            return _woken(process, lambda: os.eventfd_write(wake, 1))[0]
    finally:
        os.close(wake)


def _ring_wakes(life: LifeRings, bus: Bus) -> list[float]:
    with _child("ring", life.env, life.pass_fds, life.subscribe(None, content=True)) as process:
        return _woken(process, lambda: _post(bus))


def _followed(life: LifeRings, bus: Bus) -> float:
    best = 0
    for rate in RATES:
        with _child("follow", life.env, life.pass_fds, life.subscribe(None, content=True)) as process:
            begun, posted = time.perf_counter(), 0
            while (passed := time.perf_counter() - begun) < SECONDS:
                while posted < rate * passed:
                    _post(bus)
                    posted += 1
                time.sleep(0.001)
            bus.post(SYSTEM, data={"code": "end"})
            assert process.stdout is not None
            seen, lost = (int(number) for number in process.stdout.readline().split())
        if lost or seen != posted + 1 or posted < 0.98 * rate * SECONDS:
            break
        best = rate
    return float(best)


# The other process.


async def _bare(wake: int) -> None:
    print("ready", flush=True)
    while True:
        await trio.lowlevel.wait_readable(wake)
        os.eventfd_read(wake)
        print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)


async def _ring(fds: RingFds, seq: int) -> None:
    reader = RingReader(fds, seq, ALL)
    print("ready", flush=True)
    while True:
        await reader.news()
        reader.drain()
        woken = time.clock_gettime(time.CLOCK_MONOTONIC)
        if reader.read():
            print(woken, time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)


class _Subscribed:
    """A kernel that has let us subscribe already."""

    def __init__(self, seq: int) -> None:
        self._seq = seq

    async def request(self, *_args: object, **_options: object) -> Any:
        """``events.subscribe``"""
        await trio.lowlevel.checkpoint()
        return {"seq": self._seq, "cursor": self._seq, "mask": ALL}


async def _follow(fds: RingFds, seq: int) -> None:
    """As the SDK follows for a plugin."""
    link, seen, lost = RingLink(_Subscribed(seq), {CONTENT: fds}), 0, 0
    await link.request("events.subscribe", {"content": True})

    async def hear(items: list[Item], _seq: int) -> None:
        nonlocal seen, lost
        await trio.lowlevel.checkpoint()
        for item in items:
            if isinstance(item, int):
                lost += item
                continue
            seen += 1
            if item.type == SYSTEM:
                print(seen, lost, flush=True)

    print("ready", flush=True)
    await link.run(hear)


def _main(what: str, seq: int) -> None:
    if what == "bare":
        trio.run(_bare, int(os.environ["WAKE"]))
        return
    trio.run(_ring if what == "ring" else _follow, take_rings(os.environ)[CONTENT], seq)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
