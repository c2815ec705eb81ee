"""The door to the agents that agents make: what is behind it is loaded when there is one, or one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import trio

from homed.agent.frame import Frame
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.identity.roles import Identity
from homed.memory.records import Input, Outcome
from homed.memory.temporary import Front, is_temporary
from homed.spend.records import Kind, Purpose
from homed.store.rows import Damaged, ReadOnly

if TYPE_CHECKING:
    from homed.agent.children import Children
    from homed.agent.intake import Message, Receipt, Signal
    from homed.agent.lane import Lane


class HousePort(Protocol):
    """``homed.agent.conversations.Conversations``."""

    def lane(self, thread: str) -> Lane | None:
        """What works in a thread."""
        ...

    async def signal(self, signal: Signal) -> Receipt:
        """Raise an interrupt, or with level 0 give a message."""
        ...

    async def forget(self, thread: str) -> None:
        """Remove a thread with all that is in it."""
        ...

    def watched(self, input_id: str) -> AbstractContextManager[trio.Event]:
        """The event of an input's end."""
        ...


class Offspring:
    """Knows whether there are any."""

    def __init__(self, ports: AgentPorts, house: HousePort) -> None:
        self._ports = ports
        self._house = house
        self._children: Children | None = None

    def need(self) -> Children:
        """Them, loaded now if they are not; of an earlier run there are none then."""
        if self._children is None:
            from homed.agent.children import Children

            self._children = Children(self._ports, self._house)
        return self._children

    async def begin(self) -> None:
        """Take up those of an earlier run, before its messages are: what was to be done once ends here."""
        try:
            there = await self._ports.store.read(lambda tx: tx.value("SELECT 1 FROM children LIMIT 1") is not None)
            if there:
                await self.need().load()
        except (Damaged, ReadOnly):
            return  # as with messages: until the database is mended

    async def settle(self) -> None:
        """Tell what an earlier run still owes, once messages are taken."""
        if self._children is not None:
            await self._children.settle()

    def bind(self, turn: Turn) -> None:
        """Bind a turn that is about to begin, if it is one of theirs; of one that is gone it does nothing."""
        if not is_temporary(turn.input.scope):
            return
        if self._children is None or not self._children.bind(turn):
            turn.frame = _nothing(turn)
            turn.stop()

    async def ended(self, given: Sequence[Input], outcome: Outcome, *, broke: str = "", panicked: bool = False) -> None:
        """Inputs have their outcome, all by one turn: whoever gave what is told, if they are theirs."""
        if self._children is not None and is_temporary(given[0].scope):
            await self._children.owed.ended(given, outcome, broke=broke, panicked=panicked)

    async def stop(self, thread: str, turn: str = "") -> bool:
        """Stop what was begun from a thread (or one turn of it); whether anything was."""
        return self._children is not None and await self._children.stop(thread, turn)

    def route(self, who: Identity, message: Message) -> Message:
        """The message as it is taken in: to the agent whose it is, if it is one's."""
        return message if self._children is None else self._children.route(who, message)

    async def leave(self, thread: str) -> None:
        """A thread is about to be deleted: those that were made in it go before."""
        if self._children is not None:
            await self._children.leave(thread)

    def gone(self, thread: str) -> None:
        """A thread was deleted; perhaps one of theirs."""
        if self._children is not None:
            self._children.gone(thread)


def _nothing(turn: Turn) -> Frame:
    given = turn.input
    front = Front(given.thread, turn.id, given.scope)
    purpose = Purpose(Kind.CHILD, turn=turn.id, thread=given.thread, peer=given.peer)
    none: frozenset[str] = frozenset()
    return Frame(given.scope, "", "", given.thread, front, purpose, 1, tools=none, outputs=none)
