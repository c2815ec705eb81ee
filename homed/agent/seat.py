"""The place of one turn in its lane: the scheduler's side of ``place``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Protocol

import trio

from homed.agent.lane import Lane
from homed.agent.place import Look
from homed.agent.schedule import Command, Insert, Phase, Start, Suspend
from homed.agent.turn import Ending, Turn


class Driver(Protocol):
    """Whoever does what a schedule says; ``lanes.Lanes``."""

    def do(self, lane: Lane, commands: Sequence[Command]) -> None:
        """Carry the commands out."""
        ...

    async def left(self, frame: Turn, ending: Ending) -> None:
        """What was to be put into a turn has ended by itself."""
        ...


class Seat:
    """The place of one turn in its lane."""

    def __init__(self, lanes: Driver, lane: Lane, id_: str) -> None:
        self._lanes = lanes
        self._lane = lane
        self._id = id_
        self._step: tuple[trio.CancelScope, Phase] | None = None
        self._resumed = trio.Event()
        self.met: list[str] = []
        """Turns that ended while this one was suspended."""

    @property
    def suspended(self) -> frozenset[str]:
        """See ``Place``."""
        return frozenset(turn.id for turn in self._lane.suspended)

    def look(self, *, joins: bool = True) -> Look:
        """See ``Place``."""
        commands = self._lane.schedule.safe_point(self._id, joins=joins)
        if any(isinstance(command, Suspend) for command in commands):
            self._resumed, self.met = trio.Event(), []
        self._lanes.do(self._lane, commands)
        by = next((command.task.id for command in commands if isinstance(command, Start)), "")
        inserted = [command.task.id for command in commands if isinstance(command, Insert)]
        return Look(bool(by), by, tuple(self._lane.joined[id_][0] for id_ in inserted))

    async def parted(self, frame: Turn, ending: Ending) -> None:
        """See ``Place``."""
        self._lane.joined.pop(frame.input.id, None)
        await self._lanes.left(frame, ending)

    async def resumed(self) -> Sequence[str]:
        """See ``Place``."""
        await self._resumed.wait()
        return self.met

    def resume(self) -> None:
        """It is this turn's time again."""
        self._resumed.set()

    def cancel(self) -> None:
        """Something more urgent has come, and a step is under way that can be cancelled."""
        if self._step is not None:
            self._step[0].cancel()

    def model(self) -> CancellableStep:
        """See ``Place``."""
        return CancellableStep(self, Phase.MODEL)

    def asking(self) -> CancellableStep:
        """See ``Place``."""
        return CancellableStep(self, Phase.ASKING)

    def begin(self, scope: trio.CancelScope, phase: Phase) -> None:
        """What runs in this scope from now on can be cancelled."""
        self._step = scope, phase
        self._enter(phase)

    def end(self) -> None:
        """It has ended."""
        self._step = None
        self._enter(Phase.CRITICAL)

    def critical(self) -> AbstractContextManager[None]:
        """See ``Place``."""
        return self._within(Phase.CRITICAL)

    def answering(self) -> AbstractContextManager[None]:
        """See ``Place``."""
        return self._within(Phase.ASKING)

    @contextmanager
    def _within(self, phase: Phase) -> Iterator[None]:
        """A part of the step that is in another phase than the rest of it."""
        self._enter(phase)
        try:
            yield
        finally:
            if self._step is not None:
                self._enter(self._step[1])

    def _enter(self, phase: Phase) -> None:
        self._lanes.do(self._lane, self._lane.schedule.enter(self._id, phase))


class CancellableStep:
    """The block of ``Seat.model`` and of ``Seat.asking``."""

    def __init__(self, seat: Seat, phase: Phase) -> None:
        self._seat = seat
        self._phase = phase
        self._scope = trio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._seat.begin(self._scope, self._phase)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._seat.end()
        return self._scope.__exit__(kind, error, trace)
