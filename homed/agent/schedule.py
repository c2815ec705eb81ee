"""What runs in a thread, what is suspended there, and what waits.  Pure: events in, commands out.

One ``Schedule`` a thread.  Whoever drives it says what happened (``arrive``, ``enter``, ``safe_point``, ``end``) and
does what it is told; it knows no turns, no time and no tasks of its own.  The rules:

- *Queued* tasks (class 0) wait; an *interrupt* has a level 1-4 and pre-empts a strictly lower one only.
- A frame that was pre-empted counts more: effective = min(4, base + min(times pre-empted, 2)).
- A frame is suspended at a safe point, between two steps.  In a model step that point is made at once, by cancelling
  the request; what else runs (tools, a commit) is waited for, also by level 4.  A frame that only waits for a person's
  word stands at such a point, but background work takes no question from under their eyes.
- Suspended frames form a stack of at most four, of which only the top is taken up again.  Between that and the head of
  the queue the higher level wins, and the stack where they are equal.
- An interrupt of the same level as the one that runs, and arrived while it runs, is put before its next model call.
- At most 256 interrupts wait; then the oldest of the lowest level is dropped, and whoever sent it must be told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from homed.agent.levels import HIGHEST, MESSAGE, QUEUED

DEEPEST = 4
"""Frames that may be suspended in a thread: levels rise strictly from one to the next, so there can be no more."""

MOST = 256
"""Interrupts that may wait in a thread.  For queued tasks whoever accepts them keeps the same limit, and refuses."""

BOOST = 2
"""How much being pre-empted can count for at the most."""


class Phase(StrEnum):
    """What the running frame is in."""

    MODEL = "model"
    """A model step: it can be cancelled, and is asked again later."""
    ASKING = "asking"
    """A person is asked, and nothing runs: the question can be withdrawn, and is asked again later."""
    CRITICAL = "critical"
    """Everything else: it comes to its end first."""


@dataclass(frozen=True, slots=True)
class Task:
    """One input.  ``joins``: it may be put into a running turn of its level instead of having one of its own."""

    id: str
    level: int = QUEUED
    joins: bool = True


@dataclass(slots=True)
class Frame:
    """A task that was begun.  ``joining``: what is to be put before its next model call."""

    task: Task
    preempted: int = 0
    phase: Phase = Phase.CRITICAL
    cancelled: bool = False
    joining: list[Task] = field(default_factory=list)

    @property
    def effective(self) -> int:
        """The level that counts for it now."""
        return min(HIGHEST, self.task.level + min(self.preempted, BOOST))


@dataclass(frozen=True, slots=True)
class Start:
    """Begin this one."""

    task: Task


@dataclass(frozen=True, slots=True)
class Resume:
    """Take the suspended one up again."""

    task: Task


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the model request, or the question, of the one that runs; it comes to its safe point then."""

    task: Task


@dataclass(frozen=True, slots=True)
class Suspend:
    """The one that runs stays where it is, until Resume."""

    task: Task


@dataclass(frozen=True, slots=True)
class Insert:
    """Put ``task`` before the next model call of ``into``."""

    task: Task
    into: Task


@dataclass(frozen=True, slots=True)
class Drop:
    """There was no room for it: it ends here, and whoever sent it is told."""

    task: Task


Command = Start | Resume | Cancel | Suspend | Insert | Drop


class Way(StrEnum):
    """How a task comes in, as far as that can be said when it arrives."""

    STARTS = "starts"
    SUSPENDS = "suspends"
    JOINS = "joins"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Counters:
    """How often each thing happened in the life of a schedule."""

    started: int = 0
    suspended: int = 0
    resumed: int = 0
    deferred: int = 0
    """Pre-emptions that had to wait for tools or a commit."""
    cancelled: int = 0
    """Model requests that were cancelled, each to be sent again."""
    inserted: int = 0
    dropped: int = 0

    def __add__(self, other: Counters) -> Counters:
        """Of two schedules together."""
        return Counters(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


class Schedule:
    """See the module.  ``held``: nothing is begun, taken up or pre-empted; what runs may come to its end."""

    def __init__(self, *, held: bool = False, most: int = MOST) -> None:
        self.held = held
        self.running: Frame | None = None
        self.stack: list[Frame] = []
        self.counters = Counters()
        self._most = most
        self._waiting: dict[int, deque[Task]] = {level: deque() for level in range(HIGHEST, QUEUED - 1, -1)}

    # -- what can be seen ------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> Iterator[Task]:
        """What waits, in the order in which it would be begun."""
        return (task for tasks in self._waiting.values() for task in tasks)

    @property
    def idle(self) -> bool:
        """Whether nothing runs, is suspended or waits."""
        return self.running is None and not self.stack and self._head is None

    @property
    def _head(self) -> Task | None:
        return next(self.waiting, None)

    def way(self, task: Task) -> Way:
        """What ``arrive`` would lead to."""
        running = self.running
        if running is None:
            return Way.WAITS if self.held or self.stack or self._head is not None else Way.STARTS
        if task.level > running.effective and self._may_suspend(running):
            return Way.SUSPENDS
        return Way.JOINS if self._fits(task, running) else Way.WAITS

    # -- what happens ----------------------------------------------------------------------------------------------

    def restore(self, tasks: Iterable[Task]) -> list[Command]:
        """What an earlier run left, oldest first.  Nothing of it is dropped, however much it is."""
        for task in tasks:
            self._waiting[task.level].append(task)
        return self._preempt() if self.running else self._next()

    def arrive(self, task: Task) -> list[Command]:
        """A task has come in."""
        way = self.way(task)
        self._waiting[task.level].append(task)
        dropped = self._bound() if task.level > QUEUED else []
        if Drop(task) in dropped:
            return dropped
        if self.running is None:
            return [*dropped, *self._next()]
        if way is Way.JOINS:
            self.running.joining.append(task)
        return [*dropped, *self._preempt(arrived=way is Way.SUSPENDS)]

    def enter(self, id_: str, phase: Phase) -> list[Command]:
        """The running frame is in another phase.  Of a frame that does not run nothing follows."""
        running = self.running
        if running is None or running.task.id != id_:
            return []
        running.phase, running.cancelled = phase, False
        return self._preempt()

    def safe_point(self, id_: str, *, joins: bool = True) -> list[Command]:
        """The running frame stands between two steps and goes on to its next model call: Suspend it and do the other
        command, or put before that call what is to be Inserted, or go on.  ``joins`` False: it does not go on to one.
        """
        running = self.running
        if running is None or running.task.id != id_:
            return []
        running.phase, running.cancelled = Phase.CRITICAL, False
        head = self._head
        if head is not None and head.level > running.effective and self._may_suspend(running):
            running.preempted += 1
            running.joining.clear()  # they wait in the queue and have a turn of their own
            self.stack.append(running)
            self.running = None
            self._count(suspended=1)
            return [Suspend(running.task), self._begin(head)]
        return self._insert(running) if joins else []

    def end(self, id_: str) -> list[Command]:
        """A frame has ended, running or suspended."""
        self.stack = [frame for frame in self.stack if frame.task.id != id_]
        if self.running is None or self.running.task.id != id_:
            return []
        self.running = None
        return self._next()

    def withdraw(self, id_: str) -> bool:
        """Take out what waits; False if it does not wait here."""
        for tasks in self._waiting.values():
            for task in tasks:
                if task.id == id_:
                    self._take(task)
                    return True
        return False

    def part(self, id_: str) -> None:
        """What waits goes into no running turn: it has one of its own."""
        if self.running is not None:
            self.running.joining = [task for task in self.running.joining if task.id != id_]

    def release(self) -> list[Command]:
        """It is not held any more."""
        self.held = False
        return self._preempt() if self.running else self._next()

    # -- rules -----------------------------------------------------------------------------------------------------

    def _may_suspend(self, running: Frame) -> bool:
        return not self.held and len(self.stack) < DEEPEST and running.effective < HIGHEST

    def _fits(self, task: Task, running: Frame) -> bool:
        """Both of one level, and interrupts: queued messages are answered one by one."""
        return task.joins and running.task.joins and QUEUED < task.level == running.task.level and not self.held

    def _next(self) -> list[Command]:
        """The top of the stack or the head of the queue."""
        head = self._head
        if self.held or (not self.stack and head is None):
            return []
        if self.stack and (head is None or self.stack[-1].effective >= head.level):
            self.running = self.stack.pop()
            self._count(resumed=1)
            return [Resume(self.running.task)]
        assert head is not None
        return [self._begin(head)]

    def _begin(self, head: Task) -> Start:
        self._take(head)
        self.running = Frame(head)
        self._count(started=1)
        return Start(head)

    def _preempt(self, *, arrived: bool = False) -> list[Command]:
        """Cancel the running model step for something more urgent; in any other phase that has to wait."""
        running, head = self.running, self._head
        if running is None or head is None or head.level <= running.effective or not self._may_suspend(running):
            return []
        if running.phase is Phase.CRITICAL or (running.phase is Phase.ASKING and head.level < MESSAGE):
            self._count(deferred=int(arrived))
            return []
        if running.cancelled:
            return []
        running.cancelled = True
        self._count(cancelled=int(running.phase is Phase.MODEL))
        return [Cancel(running.task)]

    def _insert(self, running: Frame) -> list[Command]:
        joining, running.joining = running.joining, []
        if self.held:
            return []
        for task in joining:
            self._take(task)
        self._count(inserted=len(joining))
        return [Insert(task, running.task) for task in joining]

    def _bound(self) -> list[Command]:
        interrupts = [task for task in self.waiting if task.level > QUEUED]
        if len(interrupts) <= self._most:
            return []
        lowest = self._waiting[interrupts[-1].level]
        dropped = lowest[0]
        self._take(dropped)
        self._count(dropped=1)
        return [Drop(dropped)]

    def _take(self, task: Task) -> None:
        self._waiting[task.level].remove(task)
        if self.running is not None and task in self.running.joining:
            self.running.joining.remove(task)

    def _count(self, **more: int) -> None:
        self.counters = replace(self.counters, **{k: getattr(self.counters, k) + n for k, n in more.items()})
