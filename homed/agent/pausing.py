"""The safe points of a turn: where it stands still for something more urgent, and where messages are put into it."""

from __future__ import annotations

from dataclasses import dataclass

import trio

from homed.agent.hearing import Hearing
from homed.agent.journal import Journal
from homed.agent.turn import Turn
from homed.clock import new_id
from homed.identity.roles import Identity, Role
from homed.memory.records import Input


@dataclass(frozen=True, slots=True)
class Paused:
    """What happened at a safe point.  ``met``: turns that ended while this one stood still; ``joined``: something was
    put into it."""

    met: tuple[str, ...] = ()
    joined: bool = False


class Pausing:
    """Holds nothing of any turn."""

    def __init__(self, journal: Journal, hearing: Hearing) -> None:
        self._journal = self.journal = journal
        self._hearing = hearing

    async def before_model(self, turn: Turn) -> Paused:
        """Stand still for as long as something more urgent runs, then put in what is to be put in.

        Cancelled (a stop, or the end of homed) while it stands still: the turn ends as any other, in its own task.
        """
        joined = len(turn.joined)
        while (look := turn.place.look()).suspended:
            await self._stand(turn, look.by, turn.step)
        for input_ in look.inserted:
            await self._insert(turn, input_)
        met, turn.met = turn.met, []
        return Paused(tuple(met), len(turn.joined) > joined)

    async def aside(self, turn: Turn) -> None:
        """Stand still for as long as something more urgent runs, in the midst of a step of which nothing runs now.

        What it met is for its next model call.  Cancelled as `before_model`.
        """
        while (look := turn.place.look(joins=False)).suspended:
            await self._stand(turn, look.by, turn.step + 1)  # what it said in this step is stored, and stays

    async def _stand(self, turn: Turn, by: str, step: int) -> None:
        self._journal.suspended(turn, by)
        turn.met += await turn.place.resumed()
        self._journal.resumed(turn, step)

    async def _insert(self, turn: Turn, input_: Input) -> None:
        """``on_input`` for a message that goes into a running turn, as for any; what is ended there ends by itself."""
        frame = _frame(turn, turn.id, input_)
        if not self._hearing.needed:
            await self._journal.join(turn, input_, self._hearing.heard(input_.text), no_memory=input_.no_memory)
            return
        checked = await self._hearing.check(frame)
        if checked.ending is None:
            await self._journal.join(turn, input_, checked.heard, no_memory=frame.no_memory)
            return
        own = _frame(turn, new_id("turn"), input_)
        if await self._journal.begin(own):
            await self._journal.heard(own, checked.heard)
            await self._journal.finish(own, checked.ending)
            await turn.place.parted(own, checked.ending)


def _frame(turn: Turn, id_: str, input_: Input) -> Turn:
    """A frame of its own for a message: a stage must see who said this, not who asked for what runs (E18)."""
    frame = Turn(id_, input_, who_of(input_), gate=turn.gate, began=trio.current_time())
    frame.describe()
    return frame


def who_of(input_: Input) -> Identity:
    """Who said it, as it was when it came in."""
    return Identity(input_.peer, input_.peer.partition(":")[0], "", Role(input_.role), input_.scope)
