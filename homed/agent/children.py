"""Agents that agents make: what they may, what they were given to do, and who is told how it ended.

Each has a thread and a temporary scope of its own, and its turns are turns like others: they run in lanes, are stopped,
suspended and taken up again like them.  What is different stands in their ``Frame``.  Nothing of an agent outlives what
it was made in: whoever stops or deletes a conversation stops or deletes them too.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import trio

from homed.agent.frame import PARENT, Frame
from homed.agent.intake import Message, Signal
from homed.agent.levels import MESSAGE, QUEUED
from homed.agent.offspring import HousePort
from homed.agent.owed import ENDED_HINT, TELL_LIMIT, Owed
from homed.agent.ports import AgentPorts
from homed.agent.recovery import report_ended
from homed.agent.roster import Roster
from homed.agent.turn import Turn
from homed.clock import new_id
from homed.config.definitions import CHILDREN_DEPTH, CHILDREN_MAX
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, StorageError, Unavailable
from homed.identity.roles import Identity, Role, intersection
from homed.memory import children as table
from homed.memory.children import ONCE, RESIDENT, Child, ChildTask, May
from homed.memory.records import Input
from homed.memory.temporary import Front
from homed.spend.records import Kind, Purpose

log = logging.getLogger(__name__)

MAKERS = frozenset({"spawn_child", "child_result", "resident_agents"})
"""What an agent at the lowest level does not have."""

KEPT = 32
"""One-shot agents of a conversation that can still be looked at, once they are done."""

NAME = 40

ENDED = "homed ended while this agent was working; it is not taken up again."


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


class Children:
    """All of them, in memory; used from the Trio thread only."""

    def __init__(self, ports: AgentPorts, house: HousePort) -> None:
        self._ports = ports
        self._house = house
        self.roster = Roster(house)
        self.owed = Owed(ports, house, self.roster)

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
        """Tell what is owed of an earlier run, and remove those whose parent's conversation is gone.  What the disk
        does not bear now is logged, and done at the next start."""
        try:
            gone = set(await self._ports.store.read(table.parentless))
        except StorageError as error:
            log.warning("what earlier agents still owe was not looked for: %s", error.message)
            return
        for child in [one for one in self.roster.threads.values() if one.id in gone]:
            await self._destroyed(child)
        for task in list(self.roster.tasks.values()):
            if (child_of := self.roster.by_id(task.child)) is not None:
                await self.owed.settle(child_of, task)

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
        mine = _taking(maker, wish)
        self.roster.making[root] += 1
        self.roster.taken |= mine
        try:
            child = await self._ports.store.write(lambda tx: table.add(tx, new))
        finally:
            self.roster.making[root] -= 1
            self.roster.taken -= mine
        self.roster.threads[child.thread] = child
        self._ports.failpoints.reach("child.made")
        return child

    async def spawn(self, maker: Turn, wish: Wish, task: str) -> Child:
        """Make one and give it its one task.  Raises as these do; nothing is left of it then."""
        root = self._root(maker)
        child = await self.make(maker, wish)
        self.roster.making[root] += 1
        try:
            await self.give(maker, child, task)
        except HomedError:
            with trio.move_on_after(TELL_LIMIT, shield=True):
                await self._destroyed(child)
            raise
        finally:
            self.roster.making[root] -= 1
        return child

    def _root(self, maker: Turn) -> str:
        above = self.roster.threads.get(maker.input.thread)
        return above.root_scope if above else maker.input.scope

    async def give(self, maker: Turn, child: Child, text: str) -> ChildTask:
        """Give it something to do, on behalf of the turn ``maker``.  It interrupts what a resident one is doing, as a
        message does.

        Raises what ``signal`` does.  Cancelled: it was given or not.  If homed is stopping, what was not begun is told
        at the next start; after a stop nobody is left who wants it.
        """
        given = maker.input
        task = ChildTask(new_id("task"), child.id, given.thread, maker.id, given.scope, maker.front, self._ports.wall())
        role = intersection([Role(child.role), maker.who.role])
        signal = Signal(
            who=Identity(given.peer, given.peer.partition(":")[0], "", role, child.scope), text=text,
            level=QUEUED if child.kind == ONCE else MESSAGE, thread=child.thread, mark=PARENT + task.id, key=task.id,
            channel=given.channel, no_memory=child.no_memory or maker.no_memory,
            can_ask=child.can_ask and given.can_ask, untrusted=child.untrusted or maker.tainted_for(""),
        )  # fmt: skip
        self.roster.tasks[task.id] = task  # first: a stop that comes from here on finds it
        try:
            await self._ports.store.write(lambda tx: table.give(tx, task))
            self._ports.failpoints.reach("child.given")
            receipt = await self._house.signal(signal)
        except BaseException as error:
            if isinstance(error, HomedError) or maker.stopping:
                with trio.move_on_after(TELL_LIMIT, shield=True):
                    await self.owed.told(task)
            raise
        lane = self._house.lane(child.thread)
        if task.id in self.owed.quiet and lane is not None:
            lane.unwant(receipt.input.id)
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
        there = {one.name for one in self.roster.residents(maker.input.scope)}
        if wish.kind == RESIDENT and (wish.name in there or (maker.input.scope, wish.name) in self.roster.taken):
            raise Conflict(f"There is an agent named {wish.name} already.", hint="Choose another name.")
        for input_ in wish.inputs:
            taken = next((one.name for one in self.roster.threads.values() if input_ in one.may.inputs), None)
            if taken is not None or ("", input_) in self.roster.taken:
                raise Conflict(f"The input {input_} goes to the agent {taken or 'that is being made'} already.")

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
        if child.untrusted:
            turn.took_in()  # its brief is, whoever speaks to it
        if task is not None and task.id in self.owed.quiet:
            turn.stop()
        return True

    # -- the end ---------------------------------------------------------------------------------------------------

    async def stop(self, thread: str, turn: str = "") -> bool:
        """Stop what was begun from a thread, or from one turn of it; and what these have begun.  Nobody is told of what
        was given there: who would be is stopped too.  What is still on its way to an agent is stopped as it begins."""
        stopped = False
        mine = (task for task in self.roster.tasks.values() if task.thread == thread and turn in ("", task.turn))
        self.owed.quiet |= {task.id for task in mine}
        for child in list(self.roster.threads.values()):
            lane = self._house.lane(child.thread)
            if child.parent == thread and not turn:  # what it has made may work when it does not
                stopped = await self.stop(child.thread) or stopped
            if lane is None:
                continue
            for given in lane.waiting:
                if self._is_of(child, given, thread, turn):
                    stopped = lane.unwant(given.id) or stopped
            for one in [held for held in lane.turns.values() if not held.over]:
                if self._is_of(child, one.input, thread, turn):
                    stopped = one.stop() or stopped
                    await self.stop(child.thread)
        return stopped

    def _is_of(self, child: Child, given: Input, thread: str, turn: str) -> bool:
        task = self.roster.task(given)
        if task is None:
            return child.parent == thread and not turn
        return task.thread == thread and turn in ("", task.turn)

    async def destroy(self, child: Child) -> None:
        """Stop it wherever it stands, and remove it with what it made, said and kept.  Raises what ``forget`` does;
        cancelled, it is hidden at most, and removed at the next start."""
        self.owed.quiet |= {task.id for task in self.roster.tasks.values() if task.child == child.id}
        await self._house.forget(child.thread)

    async def leave(self, thread: str) -> None:
        """Destroy all that were made in a thread."""
        for child in [one for one in self.roster.threads.values() if one.parent == thread]:
            try:
                await self.destroy(child)
            except NotFound:
                self.gone(child.thread)

    async def _destroyed(self, child: Child) -> None:
        """Destroy one that nobody asks for; what goes wrong is logged."""
        try:
            await self.destroy(child)
        except NotFound:
            self.gone(child.thread)
        except HomedError as error:
            log.warning("the agent %s was not removed yet: %s", child.id, error.message)

    def gone(self, thread: str) -> None:
        """Its conversation was deleted, and it with that."""
        child = self.roster.threads.pop(thread, None)
        if child is not None:
            mine = {task.id for task in self.roster.tasks.values() if task.child == child.id}
            self.roster.tasks = {id_: task for id_, task in self.roster.tasks.items() if id_ not in mine}
            self.owed.quiet -= mine

    async def tidy(self, parent: str) -> None:
        """Remove the one-shot ones of a conversation that nobody looks at any more, so far as that is possible now."""
        busy = [one.id for one in self.roster.threads.values() if one.kind == ONCE and self.roster.alive(one)]
        for id_ in await self._ports.store.read(lambda tx: table.old(tx, parent, KEPT, busy)):
            if (child := self.roster.by_id(id_)) is not None:
                await self._destroyed(child)

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


def _taking(maker: Turn, wish: Wish) -> set[tuple[str, str]]:
    """What nobody else may have while it is being made."""
    name = {(maker.input.scope, wish.name)} if wish.kind == RESIDENT else set()
    return name | {("", input_) for input_ in wish.inputs}


def _within(wanted: frozenset[str] | None, above: frozenset[str] | None) -> frozenset[str] | None:
    if wanted is None or above is None:
        return above if wanted is None else wanted
    return wanted & above


def named(name: str) -> str:
    """A name as it is kept: one short line.  InvalidInput for none."""
    clean = " ".join(name.split())[:NAME].strip()
    if not clean or any(not char.isprintable() for char in clean):
        raise InvalidInput("An agent's name is one line of letters.")
    return clean
