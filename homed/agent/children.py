"""Agents that agents make: what they may, what they were given to do, and who is told how it ended.

Each has a thread and a temporary scope of its own, and its turns are turns like others: they run in lanes, are stopped,
suspended and taken up again like them.  What is different stands in their ``Frame``.  Nothing of an agent outlives what
it was made in: whoever stops or deletes a conversation stops or deletes them too.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import trio

from homed.agent.frame import PARENT, Frame
from homed.agent.intake import Message, Signal
from homed.agent.levels import MESSAGE, QUEUED
from homed.agent.offspring import HousePort
from homed.agent.ports import AgentPorts
from homed.agent.recovery import report_ended
from homed.agent.reports import End, report
from homed.agent.roster import Roster
from homed.agent.turn import Ending, Turn
from homed.clock import new_id
from homed.config.definitions import CHILDREN_DEPTH, CHILDREN_MAX
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, Unavailable
from homed.identity.roles import Identity, Role, intersection
from homed.memory import children as table
from homed.memory.children import ONCE, RESIDENT, Child, ChildTask, May
from homed.memory.records import Input, InputState, Outcome
from homed.memory.temporary import Front
from homed.spend.records import Kind, Purpose
from homed.store.rows import Tx

log = logging.getLogger(__name__)

MAKERS = frozenset({"spawn_child", "child_result", "resident_agents"})
"""What an agent at the lowest level does not have."""

KEPT = 32
"""One-shot agents of a conversation that can still be looked at, once they are done."""

NAME = 40

ENDED = "homed ended while this agent was working; it is not taken up again."
ENDED_HINT = "Make another one if it still matters."
NEVER_BEGUN = "homed ended before this agent began."


@dataclass(frozen=True, slots=True)
class Wish:
    """An agent that is wanted; see ``Child``."""

    kind: table.Kind
    name: str
    brief: str
    rounds: int
    tools: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a task.  ``input``: None if its message never came."""

    child: Child
    task: ChildTask | None
    input: Input | None


class Children:
    """All of them, in memory; used from the Trio thread only."""

    def __init__(self, ports: AgentPorts, house: HousePort) -> None:
        self._ports = ports
        self._house = house
        self.roster = Roster(house)
        self._quiet: set[str] = set()
        self._withdrawn: set[str] = set()
        self._collecting: Counter[str] = Counter()

    # -- lifetime --------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Take up those of an earlier run.  What was to be done once, and is not, gets its outcome here: whether it had
        an effect nobody knows, and whoever wanted it is told."""
        store = self._ports.store
        for child in await store.read(table.all_):
            self.roster.threads[child.thread] = child
        self.roster.tasks = {task.id: task for task in await store.read(table.untold)}
        for given in await store.read(lambda tx: table.unfinished(tx, ONCE)):
            await report_ended(self._ports, given, ENDED, ENDED_HINT)

    async def settle(self) -> None:
        """Tell what is owed of an earlier run, and remove those whose parent's conversation is gone."""
        gone = set(await self._ports.store.read(table.parentless))
        for child in [one for one in self.roster.threads.values() if one.id in gone]:
            await self.destroy(child)
        for task in list(self.roster.tasks.values()):
            if (child_of := self.roster.by_id(task.child)) is not None:
                await self._settle(child_of, task)

    async def _settle(self, child: Child, task: ChildTask) -> None:
        found = await self._ports.store.read(lambda tx: table.input_of(tx, child.thread, PARENT + task.id))
        if found is None:  # homed was killed between the wish and the message
            end = End(Outcome(InputState.REPORTED, error=NEVER_BEGUN, hint=ENDED_HINT))
            await self._report(child, task, end)
        elif found.outcome is not None:
            await self._report(child, task, End(found.outcome))

    # -- making and giving -----------------------------------------------------------------------------------------

    async def make(self, maker: Turn, wish: Wish) -> Child:
        """Make an agent in the turn ``maker``: it has that turn's rights, narrowed by the wish, and no others.

        Raises Unavailable beyond the settings' numbers, Conflict for a name that is taken, InvalidInput.
        """
        above = self.roster.threads.get(maker.input.thread)
        root = self._root(maker)
        self._admit(maker, wish, root, above.depth + 1 if above else 1)
        frame = maker.frame
        behalf = ((maker.input.channel, maker.input.peer), *((o.channel, o.peer) for o in maker.joined))
        may = May(
            tools=_within(wish.tools, frame.tools if frame else None),
            outputs=_within(wish.outputs, frame.outputs if frame else None),
            inputs=wish.inputs,
            behalf=tuple(dict.fromkeys((*behalf, *(frame.behalf if frame else ())))),
        )
        new = Child(
            new_id("ag"), wish.kind, wish.name, wish.brief, "", maker.input.thread, maker.input.scope, root,
            above.depth + 1 if above else 1, maker.input.peer, maker.who.role.value, maker.input.channel,
            maker.tainted_for(""), maker.no_memory, maker.input.can_ask, wish.rounds, may, self._ports.wall(),
        )  # fmt: skip
        self.roster.making[root] += 1
        try:
            child = await self._ports.store.write(lambda tx: table.add(tx, new))
        finally:
            self.roster.making[root] -= 1
        self.roster.threads[child.thread] = child
        self._ports.failpoints.reach("child.made")
        return child

    async def spawn(self, maker: Turn, wish: Wish, task: str) -> Child:
        """Make one and give it its one task.  Raises as these do."""
        root = self._root(maker)
        child = await self.make(maker, wish)
        self.roster.making[root] += 1
        try:
            await self.give(maker, child, task)
        finally:
            self.roster.making[root] -= 1
        return child

    def _root(self, maker: Turn) -> str:
        above = self.roster.threads.get(maker.input.thread)
        return above.root_scope if above else maker.input.scope

    async def give(self, maker: Turn, child: Child, text: str) -> ChildTask:
        """Give it something to do.  It interrupts what a resident one is doing, as a message does.

        Raises what ``signal`` does.  Cancelled: it was given or not; what was not begun is told at the next start.
        """
        given = maker.input
        task = ChildTask(new_id("task"), child.id, given.thread, maker.id, given.scope, maker.front, self._ports.wall())
        await self._ports.store.write(lambda tx: table.give(tx, task))
        self.roster.tasks[task.id] = task
        self._ports.failpoints.reach("child.given")
        role = intersection([Role(child.role), maker.who.role])
        try:
            await self._house.signal(
                Signal(
                    who=Identity(child.peer, child.peer.partition(":")[0], "", role, child.scope), text=text,
                    level=QUEUED if child.kind == ONCE else MESSAGE, thread=child.thread, mark=PARENT + task.id,
                    key=task.id, no_memory=child.no_memory or maker.no_memory,
                    can_ask=child.can_ask and given.can_ask, untrusted=child.untrusted or maker.tainted_for(""),
                )
            )  # fmt: skip
        except HomedError:
            await self._told(task)
            raise
        return task

    def _admit(self, maker: Turn, wish: Wish, root: str, depth: int) -> None:
        settings = self._ports.settings
        if depth > (deepest := settings.int(CHILDREN_DEPTH)):
            raise Unavailable(f"Agents may not make agents beyond a depth of {deepest}.", hint="Do it yourself.")
        most = settings.int(CHILDREN_MAX)
        if self.roster.count(root) >= most:
            raise Unavailable(
                f"{most} agents are there already.", hint="Wait for the end of one, or destroy a resident one."
            )
        if wish.kind == RESIDENT and any(one.name == wish.name for one in self.roster.residents(maker.input.scope)):
            raise Conflict(f"There is an agent named {wish.name} already.", hint="Choose another name.")
        for input_ in wish.inputs:
            taken = next((one for one in self.roster.threads.values() if input_ in one.may.inputs), None)
            if taken is not None:
                raise Conflict(f"The input {input_} goes to the agent {taken.name} already.")

    # -- turns -----------------------------------------------------------------------------------------------------

    def bind(self, turn: Turn) -> bool:
        """Bind a turn of one of them; False if there is none."""
        given = turn.input
        child = self.roster.threads.get(given.thread)
        if child is None:
            return False
        task, may = self.roster.task(given), child.may
        front = task.front if task else Front(child.thread, turn.id, child.root_scope)
        guest = child.role == Role.GUEST.value
        turn.frame = Frame(
            child.id, child.name, child.brief, child.thread, front,
            Purpose(Kind.CHILD, child.id, front.turn, front.thread, child.peer, guest), child.rounds, may.behalf,
            may.tools, may.outputs,
            MAKERS if child.depth >= self._ports.settings.int(CHILDREN_DEPTH) else frozenset(),
        )  # fmt: skip
        turn.bill_to = turn.frame.purpose
        turn.who = replace(turn.who, role=intersection([Role(child.role), turn.who.role]))
        if given.id in self._withdrawn or (task is not None and task.id in self._quiet):
            self._withdrawn.discard(given.id)
            turn.stop()
        return True

    async def ended(self, turn: Turn, ending: Ending) -> None:
        """Tell whoever gave what has ended: each conversation once, also where several messages became one turn."""
        child = self.roster.threads.get(turn.input.thread)
        if child is None:
            return
        done: set[str] = set()
        for task in self.roster.tasks_of((turn.input, *turn.joined)):
            if task.id in self._quiet or task.thread in done:
                await self._told(task)
            elif not self._collecting[task.id]:
                await self._report(child, task, End(ending.outcome, turn.broke, turn.panicked))
            done.add(task.thread)

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
        await self._told(task)

    async def _told(self, task: ChildTask) -> None:
        self.roster.tasks.pop(task.id, None)
        self._quiet.discard(task.id)
        await self._ports.store.write(lambda tx: table.tell(tx, task.id))

    # -- what came of it -------------------------------------------------------------------------------------------

    async def result(self, child: Child, wait: float) -> Result:
        """What came of the last thing it was given, after at most ``wait`` seconds.  What is given here, ended, is told
        in no interrupt.  Cancelled: it is told by one, at the next start at the latest."""
        task, found = await self._ports.store.read(lambda tx: _last(tx, child))
        if task is None or found is None:
            return Result(child, task, found)
        if found.outcome is None and wait > 0:
            with self._collected(task.id), self._house.watched(found.id) as ended:
                found = (await self._ports.store.read(lambda tx: _last(tx, child)))[1] or found
                if found.outcome is None:
                    with trio.move_on_after(wait):
                        await ended.wait()
                found = (await self._ports.store.read(lambda tx: _last(tx, child)))[1] or found
        if found.outcome is not None and task.id in self.roster.tasks:
            await self._told(task)
        return Result(child, task, found)

    @contextmanager
    def _collected(self, task: str) -> Iterator[None]:
        self._collecting[task] += 1
        try:
            yield
        finally:
            self._collecting[task] -= 1

    # -- the end ---------------------------------------------------------------------------------------------------

    async def stop(self, thread: str, turn: str = "") -> bool:
        """Stop what was begun from a thread, or from one turn of it; and what these have begun.  Nobody is told: who
        would be is stopped too."""
        stopped = False
        for child in list(self.roster.threads.values()):
            lane = self._house.lane(child.thread)
            if child.parent == thread and not turn:  # what it has made may work when it does not
                stopped = await self.stop(child.thread) or stopped
            if lane is None:
                continue
            for given in lane.waiting:
                if self._is_of(child, given, thread, turn):
                    self._withdrawn.add(given.id)
                    self._hush((given,))
                    stopped = True
            for one in [held for held in lane.turns.values() if not held.over]:
                if self._is_of(child, one.input, thread, turn):
                    self._hush((one.input, *one.joined))
                    stopped = one.stop() or stopped
                    await self.stop(child.thread)
        return stopped

    def _is_of(self, child: Child, given: Input, thread: str, turn: str) -> bool:
        task = self.roster.task(given)
        if task is None:
            return child.parent == thread and not turn
        return task.thread == thread and turn in ("", task.turn)

    def _hush(self, given: Iterable[Input]) -> None:
        self._quiet |= {task.id for task in self.roster.tasks_of(given)}

    async def destroy(self, child: Child) -> None:
        """Stop it wherever it stands, and remove it with what it made, said and kept.  Raises what ``forget`` does;
        cancelled, it is hidden at most, and removed at the next start."""
        self._quiet |= {task.id for task in self.roster.tasks.values() if task.child == child.id}
        await self.leave(child.thread)
        await self._house.forget(child.thread)

    async def leave(self, thread: str) -> None:
        """Destroy all that were made in a thread."""
        for child in [one for one in self.roster.threads.values() if one.parent == thread]:
            try:
                await self.destroy(child)
            except NotFound:
                self.gone(child.thread)

    def gone(self, thread: str) -> None:
        """Its conversation was deleted, and it with that."""
        child = self.roster.threads.pop(thread, None)
        if child is not None:
            mine = {task.id for task in self.roster.tasks.values() if task.child == child.id}
            self.roster.tasks = {id_: task for id_, task in self.roster.tasks.items() if id_ not in mine}
            self._quiet -= mine

    async def tidy(self, parent: str) -> None:
        """Remove the one-shot ones of a conversation that nobody looks at any more."""
        busy = [one.id for one in self.roster.threads.values() if one.kind == ONCE and self.roster.alive(one)]
        for id_ in await self._ports.store.read(lambda tx: table.old(tx, parent, KEPT, busy)):
            if (child := self.roster.by_id(id_)) is not None:
                await self.destroy(child)

    # -- what comes from outside -----------------------------------------------------------------------------------

    def route(self, who: Identity, message: Message) -> Message:
        """A message of no conversation in particular goes to the agent whose input it comes in by; only what would come
        to its maker's scope anyway.  One into an agent's conversation is as untrusted as the agent."""
        child = self.roster.threads.get(message.thread) if message.thread else self.roster.granted(who, message.channel)
        if child is None:
            return message
        return replace(
            message, thread=child.thread, untrusted=message.untrusted or child.untrusted,
            no_memory=message.no_memory or child.no_memory,
        )  # fmt: skip


def _within(wanted: frozenset[str] | None, above: frozenset[str] | None) -> frozenset[str] | None:
    if wanted is None or above is None:
        return above if wanted is None else wanted
    return wanted & above


def _last(tx: Tx, child: Child) -> tuple[ChildTask | None, Input | None]:
    tasks = table.tasks_of(tx, child.id)
    if not tasks:
        return None, None
    return tasks[-1], table.input_of(tx, child.thread, PARENT + tasks[-1].id)


def named(name: str) -> str:
    """A name as it is kept: one short line.  InvalidInput for none."""
    clean = " ".join(name.split())[:NAME].strip()
    if not clean or any(not char.isprintable() for char in clean):
        raise InvalidInput("An agent's name is one line of letters.")
    return clean
