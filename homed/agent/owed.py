"""What agents owe to those who gave them something to do: to be told once, by an interrupt or where they ask."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from homed.agent.frame import PARENT
from homed.agent.offspring import HousePort
from homed.agent.ports import AgentPorts
from homed.agent.reports import End, report
from homed.agent.roster import Roster
from homed.errors import HomedError, NotFound, StorageError
from homed.memory import children as table
from homed.memory import inputs
from homed.memory.children import Child, ChildTask
from homed.memory.records import Input, InputState, Outcome
from homed.store.rows import Tx

log = logging.getLogger(__name__)

TELL_LIMIT = 10.0
"""Seconds that it may take, shielded, to tell what came of a task when whoever waited for that has gone."""

ENDED_HINT = "Make another one if it still matters."
NEVER_BEGUN = "homed ended before this agent began."


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a task.  ``input``: None if its message never came."""

    child: Child
    task: ChildTask | None
    input: Input | None


class Owed:
    """Pays it.  ``quiet``: tasks of which nobody is told, by id: who would be was stopped, or the agent is removed."""

    def __init__(self, ports: AgentPorts, house: HousePort, roster: Roster) -> None:
        self._ports = ports
        self._house = house
        self._roster = roster
        self.quiet: set[str] = set()
        self._collecting: Counter[str] = Counter()
        self._uncollected: dict[str, End] = {}

    async def settle(self, child: Child, task: ChildTask) -> None:
        """Tell what an earlier run did not; of what is still under way nothing.  A store that fails is logged."""
        try:
            found = await self._ports.store.read(lambda tx: table.input_of(tx, child.thread, PARENT + task.id))
        except StorageError as error:
            log.warning("what became of the agent %s is not known: %s", child.id, error.message)
            return
        if found is None:  # homed was killed between the wish and the message
            end = End(Outcome(InputState.REPORTED, error=NEVER_BEGUN, hint=ENDED_HINT))
            await self._report(child, task, end)
        elif found.outcome is not None:
            await self._report(child, task, End(found.outcome, found))

    async def ended(self, given: Iterable[Input], outcome: Outcome, *, broke: str, panicked: bool) -> None:
        """Tell whoever gave what has ended: each conversation once, also where several messages became one turn."""
        done: set[str] = set()
        for input_ in given:
            child, task = self._roster.threads.get(input_.thread), self._roster.task(input_)
            if child is None or task is None:
                continue
            if task.id in self.quiet or task.thread in done:
                await self.told(task)
                continue
            done.add(task.thread)
            end = End(outcome, input_, broke, panicked)
            if self._collecting[task.id]:
                self._uncollected[task.id] = end
            else:
                await self._report(child, task, end)

    async def _report(self, child: Child, task: ChildTask, end: End) -> None:
        """The interrupt first, which comes once however often it is sent; then that it was told."""
        try:
            await self._house.signal(report(child, task, end))
        except NotFound:
            log.info("nobody is left to be told of the agent %s", child.id)
        except HomedError as error:  # homed is stopping, or the disk is full: the next start tells it
            log.warning("what became of the agent %s was not told yet: %s", child.id, error.message)
            return
        self._ports.failpoints.reach("child.reported")
        await self.told(task)

    async def told(self, task: ChildTask) -> None:
        """It is owed no more.  Where that can not be stored the next start tells it: an interrupt comes once."""
        self._roster.tasks.pop(task.id, None)
        self.quiet.discard(task.id)
        try:
            await self._ports.store.write(lambda tx: table.tell(tx, task.id))
        except StorageError as error:
            log.warning("that the task %s was told is not stored; the next start tells it: %s", task.id, error.message)

    # -- what came of it -------------------------------------------------------------------------------------------

    async def result(self, child: Child, wait: float, asker: str) -> Result:
        """What came of the last thing it was given, after at most ``wait`` seconds.  What the conversation ``asker``
        gave, and is given here, ended, is told it in no interrupt.  Cancelled, or out of time: by one."""
        task, found = await self._ports.store.read(lambda tx: _last(tx, child))
        if task is None or found is None:
            return Result(child, task, found)
        if task.thread != asker:
            return Result(child, task, await self._awaited(found, wait))
        async with self._collected(child, task):
            found = await self._awaited(found, wait)
            if found.outcome is not None:
                self._uncollected.pop(task.id, None)
                if task.id in self._roster.tasks:
                    await self.told(task)
        return Result(child, task, found)

    async def _awaited(self, given: Input, wait: float) -> Input:
        with self._house.watched(given.id) as ended:
            found = await self._ports.store.read(lambda tx: inputs.get(tx, given.id)) or given
            if found.outcome is not None or wait <= 0:
                return found
            with trio.move_on_after(wait):
                await ended.wait()
        return await self._ports.store.read(lambda tx: inputs.get(tx, given.id)) or given

    @asynccontextmanager
    async def _collected(self, child: Child, task: ChildTask) -> AsyncIterator[None]:
        """No interrupt tells it meanwhile; afterwards one does, if it ended and nobody has taken it."""
        self._collecting[task.id] += 1
        try:
            yield
        finally:
            self._collecting[task.id] -= 1
            if not self._collecting[task.id]:
                del self._collecting[task.id]
                end = self._uncollected.pop(task.id, None)
                if end is not None and task.id in self._roster.tasks:
                    with trio.move_on_after(TELL_LIMIT, shield=True):
                        await (self.told(task) if task.id in self.quiet else self._report(child, task, end))


def _last(tx: Tx, child: Child) -> tuple[ChildTask | None, Input | None]:
    tasks = table.tasks_of(tx, child.id)
    if not tasks:
        return None, None
    return tasks[-1], table.input_of(tx, child.thread, PARENT + tasks[-1].id)
