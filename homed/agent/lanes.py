"""One queue a thread, one turn at a time in each, threads side by side.  An idle thread has no lane and no task."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from homed.agent.turn import Turn
from homed.errors import Unavailable
from homed.memory.records import Input

QUEUE = 256
"""Inputs that may wait in one thread: far more than a person writes, little enough to bound memory."""


@dataclass(slots=True)
class Lane:
    """The work of one thread: the turn that runs, and what waits.  ``gate`` is held while a turn writes and tells."""

    thread: str
    waiting: deque[Input] = field(default_factory=deque)
    current: Turn | None = None
    gate: trio.Lock = field(default_factory=trio.Lock)

    @property
    def running(self) -> Turn | None:
        """The turn that has no outcome yet, if there is one."""
        return self.current if self.current is not None and not self.current.over else None


class Lanes:
    """Starts a task for a thread that has work, and lets it go when there is none."""

    def __init__(self, make: Callable[[Input, trio.Lock], Turn], run: Callable[[Turn], Awaitable[None]]) -> None:
        self._make = make
        self._run = run
        self._lanes: dict[str, Lane] = {}
        self._held: Counter[str] = Counter()
        self._shut: dict[str, trio.Event] = {}  # thread → set when nothing more is on its way in
        self._nursery: trio.Nursery | None = None
        self._idle = trio.Event()
        self._idle.set()
        self.closed = False

    def open(self, nursery: trio.Nursery) -> None:
        """Work in this nursery from now on."""
        self._nursery = nursery
        for lane in list(self._lanes.values()):
            self._start(lane)

    def get(self, thread: str) -> Lane | None:
        """The lane of a thread that has work."""
        return self._lanes.get(thread)

    def holds(self, input_: Input) -> bool:
        """Whether this input runs or waits here."""
        lane = self._lanes.get(input_.thread)
        running = [lane.current.input] if lane and lane.current else []
        return any(held.id == input_.id for held in (*running, *(lane.waiting if lane else ())))

    @property
    def counts(self) -> tuple[int, int]:
        """Turns running, inputs waiting."""
        running = sum(1 for lane in self._lanes.values() if lane.running)
        return running, sum(len(lane.waiting) for lane in self._lanes.values())

    @contextmanager
    def place(self, thread: str) -> Iterator[None]:
        """Hold a place in the queue of ``thread`` while its input is being stored.  Raises Unavailable when full or
        shut."""
        if thread in self._shut:
            raise Unavailable("This conversation is being deleted.")
        lane = self._lanes.get(thread)
        if (len(lane.waiting) if lane else 0) + self._held[thread] >= QUEUE:
            raise Unavailable(
                f"{QUEUE} messages are waiting in this conversation already.", hint="Wait for answers, or press stop."
            )
        self._held[thread] += 1
        try:
            yield
        finally:
            self._held[thread] -= 1
            if not self._held[thread]:
                del self._held[thread]
                if thread in self._shut:
                    self._shut[thread].set()

    @contextmanager
    def shut(self, thread: str) -> Iterator[trio.Event]:
        """Take nothing more in for a thread and begin none of its turns, for the length of the block; afterwards what
        still waits goes on.  Gives an event that is set once nothing is on its way in.

        Raises Unavailable when it is shut already.
        """
        if thread in self._shut:
            raise Unavailable("This conversation is being deleted.")
        quiet = self._shut[thread] = trio.Event()
        if not self._held[thread]:
            quiet.set()
        try:
            yield quiet
        finally:
            del self._shut[thread]
            lane = self._lanes.get(thread)
            if lane is not None and lane.waiting:
                self._start(lane)

    def take(self, thread: str) -> list[Input]:
        """Take out what waits in a thread."""
        lane = self._lanes.get(thread)
        if lane is None:
            return []
        taken = list(lane.waiting)
        lane.waiting.clear()
        if lane.current is None:
            self._lanes.pop(thread)
        return taken

    def put(self, input_: Input) -> None:
        """Queue an accepted input and start its thread if it is idle."""
        lane = self._lanes.setdefault(input_.thread, Lane(input_.thread))
        lane.waiting.append(input_)
        self._start(lane)

    def _start(self, lane: Lane) -> None:
        if self._nursery is None or lane.current is not None or not self._open(lane):
            return
        self._idle = self._idle if not self._idle.is_set() else trio.Event()
        lane.current = self._make(lane.waiting.popleft(), lane.gate)
        self._nursery.start_soon(self._work, lane)

    def _open(self, lane: Lane) -> bool:
        return not self.closed and lane.thread not in self._shut

    async def _work(self, lane: Lane) -> None:
        try:
            while lane.current is not None:
                await self._run(lane.current)
                lane.current = None
                if lane.waiting and self._open(lane):
                    lane.current = self._make(lane.waiting.popleft(), lane.gate)
        finally:
            lane.current = None
            if not lane.waiting:
                self._lanes.pop(lane.thread, None)
            if not any(other.current for other in self._lanes.values()):
                self._idle.set()

    async def wait_idle(self) -> None:
        """Wait until no turn runs."""
        await self._idle.wait()
