"""The doctor of memory as the rest of the kernel has it: there from the start, loaded when somebody asks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import trio

from homed import events as notices
from homed.clock import WallClock, system_wall_clock
from homed.failpoints import Failpoints, NoFailpoints
from homed.paths import Paths
from homed.redact import Redactor
from homed.store.rows import Storage

if TYPE_CHECKING:
    from homed.config.definitions import Definition
    from homed.jobs.memcheck.findings import Progress, Report
    from homed.jobs.memcheck.room import Vectors
    from homed.jobs.proof import ScrubbingStore

_REGISTRY = "homed.jobs.memcheck.registry"

TELL = 1.0
"""Seconds of work before anybody is told of it, and at the least between two notices."""


class Bus(Protocol):
    """``homed.events.Bus``."""

    def post(self, type_: str, *, data: dict[str, object]) -> object:
        """Post a notice."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorPorts:
    """What it looks at; see ``homed.jobs.memcheck.room.Room``.  ``bus``: hears how far a long look is."""

    store: Storage
    paths: Paths
    redactor: Redactor
    definitions: Callable[[], Iterable[Definition]]
    running: bool = False
    local: bool = True
    looking: bool = False
    vectors: Vectors | None = None
    busy: Callable[[], Collection[str]] = tuple
    scrub: ScrubbingStore | None = None
    bus: Bus | None = None
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


class MemoryDoctor:
    """Looks at memory when asked.  Of deep looks and repairs one at a time: each reads all there is."""

    def __init__(self, ports: DoctorPorts) -> None:
        self._ports = ports
        self._one = trio.Lock()

    async def examine(
        self, *, deep: bool = False, repair: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> Report:
        """Every check once; ``repair`` mends what is safe.  See ``homed.jobs.memcheck.doctor.examine``.

        ``progress`` hears of each check before it is made, and so does the bus once it takes more than a second.
        """
        if not (deep or repair):
            return await self._examine(deep, repair, progress)
        async with self._one:
            return await self._examine(deep, repair, progress)

    async def _examine(self, deep: bool, repair: bool, progress: Callable[[Progress], None] | None) -> Report:
        if _REGISTRY not in sys.modules:  # numpy is among what it needs, which takes 0.1 s
            await trio.to_thread.run_sync(importlib.import_module, _REGISTRY)
        from homed.jobs.memcheck import doctor
        from homed.jobs.memcheck.registry import CHECKS
        from homed.jobs.memcheck.room import Gentle, Room

        ports = self._ports
        room = Room(
            store=Gentle(ports.store), paths=ports.paths, now=ports.wall(), redactor=ports.redactor, deep=deep,
            running=ports.running, local=ports.local, looking=ports.looking, vectors=ports.vectors,
            definitions=ports.definitions, busy=ports.busy, scrub=ports.scrub, failpoints=ports.failpoints,
        )  # fmt: skip
        told = _Told(ports.bus, progress)
        try:
            return await doctor.examine(room, CHECKS, repair=repair, progress=told)
        finally:
            told.end()


class _Told:
    """Hands progress on; to the bus no more often than ``TELL``."""

    def __init__(self, bus: Bus | None, progress: Callable[[Progress], None] | None) -> None:
        self._bus = bus
        self._progress = progress
        self._next = trio.current_time() + TELL
        self._last: Progress | None = None

    def __call__(self, now: Progress) -> None:
        if self._progress is not None:
            self._progress(now)
        if trio.current_time() >= self._next:
            self._next, self._last = trio.current_time() + TELL, now
            self._post(now, "mending" if now.mending else "looking")

    def end(self) -> None:
        """Whoever heard of it hears that it is over, however it ended."""
        if self._last is not None:
            self._post(self._last, "end")

    def _post(self, now: Progress, phase: str) -> None:
        if self._bus is not None:
            data: dict[str, object] = {
                "what": "doctor", "phase": phase, "done": now.done, "total": now.of, "kind": now.check,
            }  # fmt: skip
            self._bus.post(notices.MEMORY, data=data)
