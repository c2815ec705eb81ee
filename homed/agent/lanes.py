"""The turns of each thread, driven by its scheduler; threads side by side.  An idle thread has no lane and no task.

One turn of a thread runs.  Those that something more urgent has pre-empted stand still at their safe points, each in a
task of its own (see ``schedule``, which decides, and ``place``, by which a turn takes part).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import trio

from homed.agent.lane import Lane, task_of, way_of
from homed.agent.levels import QUEUED
from homed.agent.schedule import (
    Cancel,
    Command,
    Counters,
    Drop,
    Insert,
    Resume,
    Schedule,
    Start,
    Suspend,
    Way,
)
from homed.agent.seat import Seat
from homed.agent.turn import Ending, Turn
from homed.errors import Unavailable
from homed.memory.records import Input

QUEUE = 256
"""Messages that may wait in one thread: far more than a person writes, little enough to bound memory.  Interrupts have
as many places of their own."""


class Lanes:
    """Starts a task for each turn whose time has come.

    ``make`` makes the turn of an input, ``run`` runs it to its end; ``dropped`` gives an interrupt for which there was
    no room its outcome; ``parted`` is told of one that was to be put into a turn and has ended by itself, in a frame of
    its own.
    """

    def __init__(
        self,
        make: Callable[[Input, trio.Lock], Turn],
        run: Callable[[Turn], Awaitable[None]],
        dropped: Callable[[Input], Awaitable[None]],
        parted: Callable[[Turn, Ending], Awaitable[None]],
    ) -> None:
        self._make = make
        self._run = run
        self._dropped = dropped
        self._parted = parted
        self._lanes: dict[str, Lane] = {}
        self._dropping: set[str] = set()
        self._counted = Counters()
        self._held: Counter[str] = Counter()
        self._shut: dict[str, trio.Event] = {}  # thread → set when nothing more is on its way in
        self._nursery: trio.Nursery | None = None
        self._idle = trio.Event()
        self._idle.set()
        self._closed = False

    # -- lifetime --------------------------------------------------------------------------------------------------

    def open(self, nursery: trio.Nursery) -> None:
        """Work in this nursery from now on."""
        self._nursery = nursery
        for lane in list(self._lanes.values()):
            self._release(lane)

    def close(self) -> None:
        """Begin and take up nothing more; what runs may come to its end."""
        self._closed = True
        for lane in self._lanes.values():
            lane.schedule.held = True

    async def wait_idle(self) -> None:
        """Wait until no turn runs."""
        await self._idle.wait()

    # -- what is here ----------------------------------------------------------------------------------------------

    def get(self, thread: str) -> Lane | None:
        """The lane of a thread that has work."""
        return self._lanes.get(thread)

    def all(self) -> list[Lane]:
        """Those of all threads that have work."""
        return list(self._lanes.values())

    def holds(self, input_: Input) -> bool:
        """Whether this input runs, stands still, waits or is being told that there was no room."""
        lane = self._lanes.get(input_.thread)
        return input_.id in self._dropping or bool(lane and lane.holds(input_.id))

    @property
    def counts(self) -> tuple[int, int, int]:
        """Turns running, inputs waiting, turns suspended."""
        lanes = self._lanes.values()
        running = sum(1 for lane in lanes if lane.running)
        return running, sum(len(lane.inputs) for lane in lanes), sum(len(lane.schedule.stack) for lane in lanes)

    @property
    def counters(self) -> Counters:
        """What happened since the start, in all threads."""
        return sum((lane.schedule.counters for lane in self._lanes.values()), self._counted)

    # -- in and out ------------------------------------------------------------------------------------------------

    def full(self, thread: str) -> bool:
        """Whether as many messages wait in it as may."""
        return self._messages(thread) + self._held[thread] >= QUEUE

    @contextmanager
    def place(self, thread: str, *, room: bool = False) -> Iterator[None]:
        """Hold a place in the queue of ``thread`` while its input is being stored.  Raises Unavailable when it is shut,
        or full of messages; ``room``: there is always some, for an interrupt drops another one if need be, and what
        was accepted before needs none."""
        if thread in self._shut:
            raise Unavailable("This conversation is being deleted.")
        if not room and self.full(thread):
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

    def _messages(self, thread: str) -> int:
        lane = self._lanes.get(thread)
        return sum(1 for task in lane.schedule.waiting if task.level == QUEUED) if lane else 0

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
        if (lane := self._lanes.get(thread)) is not None:
            lane.schedule.held = True
        try:
            yield quiet
        finally:
            del self._shut[thread]
            if (lane := self._lanes.get(thread)) is not None:
                self._release(lane)

    def take(self, thread: str) -> list[Input]:
        """Take out what waits in a thread."""
        lane = self._lanes.get(thread)
        if lane is None:
            return []
        taken = lane.waiting
        for input_ in taken:
            lane.schedule.withdraw(input_.id)
        lane.inputs.clear()
        lane.unwanted.clear()
        for id_, turn in lane.turns.items():  # nor is what did not come into one that has its outcome put in anew
            taken += self._unjoined(lane, turn, id_) if turn.over else []
        self._forget(lane)
        return taken

    def put(self, input_: Input) -> Way:
        """Take in an accepted input; how it comes in."""
        lane = self._lane(input_.thread)
        task = task_of(input_)
        way = way_of(lane, task)
        lane.inputs[input_.id] = input_
        self.do(lane, lane.schedule.arrive(task))
        self._forget(lane)
        return way

    def restore(self, inputs: Iterable[Input]) -> None:
        """Take in what an earlier run left, oldest first: all of it, however much that is."""
        threads: dict[str, list[Input]] = {}
        for input_ in inputs:
            threads.setdefault(input_.thread, []).append(input_)
        for thread, left in threads.items():
            lane = self._lane(thread)
            lane.inputs |= {input_.id: input_ for input_ in left}
            self.do(lane, lane.schedule.restore(list(map(task_of, left))))

    # -- doing what the schedules say --------------------------------------------------------------------------------

    def do(self, lane: Lane, commands: Sequence[Command]) -> None:
        """Carry out the commands of a lane's schedule, but those that its turn at a safe point carries out itself."""
        for command in commands:
            match command:
                case Start(task):
                    self._start(lane, task.id)
                case Resume(task):
                    self._busy()
                    self._seat(lane, task.id).resume()
                case Cancel(task):
                    self._seat(lane, task.id).cancel()
                case Insert(task, into):
                    lane.joined[task.id] = lane.inputs.pop(task.id), into.id
                case Drop(task):
                    lane.unwanted.discard(task.id)
                    self._drop(lane.inputs.pop(task.id))
                case Suspend():
                    pass

    async def left(self, frame: Turn, ending: Ending) -> None:
        """What was to be put into a turn has ended by itself."""
        await self._parted(frame, ending)

    def _busy(self) -> None:
        if self._idle.is_set():
            self._idle = trio.Event()

    def _start(self, lane: Lane, id_: str) -> None:
        assert self._nursery is not None
        self._busy()
        turn = lane.turns[id_] = self._make(lane.inputs.pop(id_), lane.gate)
        turn.place = Seat(self, lane, id_)
        if id_ in lane.unwanted:
            lane.unwanted.remove(id_)
            turn.stop()
        self._nursery.start_soon(self._work, lane, turn, id_)

    async def _work(self, lane: Lane, turn: Turn, id_: str) -> None:
        ended = False
        try:
            await self._run(turn)
            ended = True
        finally:
            # what ended for good goes into the prompts of those that stand still; cancelled, all of them end
            for frame in lane.schedule.stack if ended else ():
                self._seat(lane, frame.task.id).met.append(turn.id)
            del lane.turns[id_]
            left = self._unjoined(lane, turn, id_)
            lane.schedule.held = lane.schedule.held or not ended
            self.do(lane, lane.schedule.end(id_))
            self._forget(lane)
            for input_ in left if ended else ():
                self.put(input_)
            if not any(other.current for other in self._lanes.values()):
                self._idle.set()

    def _unjoined(self, lane: Lane, turn: Turn, id_: str) -> list[Input]:
        """What was to be put into a turn that has ended, and was not: a stop came between.  It has its own turn."""
        into = {joined: input_ for joined, (input_, turn_of) in lane.joined.items() if turn_of == id_}
        lane.joined = {joined: held for joined, held in lane.joined.items() if joined not in into}
        done = {joined.id for joined in turn.joined}
        return [input_ for joined, input_ in into.items() if joined not in done]

    def _drop(self, input_: Input) -> None:
        assert self._nursery is not None
        self._dropping.add(input_.id)
        self._nursery.start_soon(self._tell_dropped, input_)

    async def _tell_dropped(self, input_: Input) -> None:
        try:
            await self._dropped(input_)
        finally:
            self._dropping.discard(input_.id)

    def _seat(self, lane: Lane, id_: str) -> Seat:
        seat = lane.turns[id_].place
        assert isinstance(seat, Seat)
        return seat

    def _lane(self, thread: str) -> Lane:
        known = self._lanes.get(thread)
        if known is None:
            held = self._nursery is None or self._closed or thread in self._shut
            known = self._lanes[thread] = Lane(thread, Schedule(held=held))
        return known

    def _release(self, lane: Lane) -> None:
        if self._nursery is not None and not self._closed and lane.thread not in self._shut:
            self.do(lane, lane.schedule.release())

    def _forget(self, lane: Lane) -> None:
        if lane.schedule.idle and not lane.turns and self._lanes.get(lane.thread) is lane:
            self._counted = self._counted + lane.schedule.counters
            del self._lanes[lane.thread]
