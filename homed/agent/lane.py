"""The work of one thread: what its scheduler knows by ids, as inputs and turns."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio

from homed.agent.schedule import Schedule, Task, Way
from homed.agent.turn import Turn
from homed.memory.records import Input


@dataclass(slots=True)
class Lane:
    """The work of one thread.  ``gate`` is held while a turn writes and tells.

    ``inputs``: what waits, by id, ``unwanted`` what of it is to be stopped.  ``turns``: the turns that were begun, by
    the input that began them; ``joined``: what was to be put into one of them, and into which.
    """

    thread: str
    schedule: Schedule = field(default_factory=Schedule)
    gate: trio.Lock = field(default_factory=trio.Lock)
    inputs: dict[str, Input] = field(default_factory=dict)
    unwanted: set[str] = field(default_factory=set)
    turns: dict[str, Turn] = field(default_factory=dict)
    joined: dict[str, tuple[Input, str]] = field(default_factory=dict)

    @property
    def current(self) -> Turn | None:
        """The turn whose time it is."""
        frame = self.schedule.running
        return self.turns.get(frame.task.id) if frame else None

    @property
    def running(self) -> Turn | None:
        """The turn that has no outcome yet, if there is one."""
        current = self.current
        return current if current is not None and not current.over else None

    @property
    def suspended(self) -> list[Turn]:
        """The turns that stand still, the one to be taken up first at the end."""
        return [self.turns[frame.task.id] for frame in self.schedule.stack]

    @property
    def waiting(self) -> list[Input]:
        """What waits, in the order in which it would be begun."""
        return [self.inputs[task.id] for task in self.schedule.waiting]

    def unwant(self, id_: str) -> bool:
        """Have what waits stopped as soon as it is begun, in a turn of its own; False if it does not wait."""
        if id_ not in self.inputs:
            return False
        self.schedule.part(id_)
        self.unwanted.add(id_)
        return True

    def holds(self, id_: str) -> bool:
        """Whether this input runs, stands still or waits here."""
        return id_ in self.inputs or id_ in self.turns or id_ in self.joined


def way_of(lane: Lane, task: Task) -> Way:
    """How it comes in.  A turn that has its outcome is not in the way, though it may have something left to do."""
    if lane.current is None or not lane.current.over:
        return lane.schedule.way(task)
    return Way.WAITS if lane.inputs or lane.schedule.stack or lane.schedule.held else Way.STARTS


def task_of(input_: Input) -> Task:
    """As the scheduler knows it.  What is to be remembered and what is not do not share a turn."""
    return Task(input_.id, input_.level, joins=not input_.no_memory)
