"""What follows from the end of an input, in whatever way it came: who waits is told, and whoever made the agent is."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import trio

from homed import events as notices
from homed.agent.borrowed import Lending
from homed.agent.dropping import Dropping
from homed.agent.ends import Ends
from homed.agent.intake import Signal
from homed.agent.levels import HIGHEST
from homed.agent.offspring import Offspring
from homed.agent.ports import AgentPorts
from homed.agent.turn import Ending, Turn
from homed.errors import HomedError
from homed.memory.records import Input
from homed.prompts.loader import fill, load

log = logging.getLogger(__name__)


class Endings:
    """Tells it.  ``lending``: what was lent for an input ends with it; ``signal`` raises an interrupt."""

    def __init__(
        self,
        ports: AgentPorts,
        children: Offspring,
        lending: Lending,
        signal: Callable[[Signal], Awaitable[object]],
    ) -> None:
        self._ports = ports
        self._children = children
        self._lending = lending
        self._signal = signal
        self._dropping = Dropping(ports)
        self._ends = Ends()

    def wake(self, input_id: str, ended: Input | None = None) -> None:
        """Those who wait for this input are told how it ended, or look again."""
        self._lending.end(input_id)
        self._ends.wake(input_id, ended)

    @contextmanager
    def watched(self, input_id: str) -> Iterator[trio.Event]:
        """The event of this input's end, for the length of the block."""
        with self._ends.looked_at(input_id) as ended:
            yield ended.event

    async def wait(self, input_id: str, look: Callable[[], Awaitable[tuple[Input, bool]]]) -> Input | None:
        """The input once it has its outcome; None if it has none and nothing is to come.

        ``look``: the input as it is stored, and whether somebody works on it.
        """
        for last in (False, True):
            with self._ends.looked_at(input_id) as ended:
                found, coming = await look()
                if found.state.terminal:
                    return found
                if coming and not last:
                    await ended.event.wait()
                    if ended.input is not None:
                        return ended.input
        return None

    async def turn(self, turn: Turn, ending: Ending) -> None:
        """A turn has its outcome, and what was put into it the same."""
        given = (turn.input, *turn.joined)
        for input_ in given:
            self.wake(input_.id, replace(input_, state=ending.outcome.state, outcome=ending.outcome))
        if turn.frame is None:
            await self._panic(turn)
        await self._children.ended(given, ending.outcome, broke=turn.broke, panicked=turn.panicked)

    async def dropped(self, input_: Input) -> None:
        """One for which there was no room has its outcome, and whoever sent it is told."""
        ended = await self._dropping.drop(input_)
        if ended is not None and ended.outcome is not None:
            self.wake(ended.id, ended)
            await self._children.ended((ended,), ended.outcome)

    def unstored(self, turn: Turn, error: Exception) -> None:
        """The store failed under a turn: its input stays unfinished, until it is sent again or the next start."""
        known = error if isinstance(error, HomedError) else HomedError("Something in homed itself went wrong.")
        data = {"input": turn.input.id, "error": known.message, "hint": known.hint}
        self._ports.bus.post(
            notices.AGENT_ERROR, thread=turn.input.thread, turn=turn.id, scope=turn.input.scope, data=data
        )

    async def _panic(self, turn: Turn) -> None:
        """A turn that ended by an error nobody foresaw is told of, once: one of level 4 that does so is not."""
        if not turn.panicked or turn.input.level >= HIGHEST:
            return
        text = fill(load("panic"), turn=turn.id)
        try:
            await self._signal(Signal(who=turn.who, text=text, thread=turn.input.thread, key=turn.id))
        except HomedError as error:
            log.warning("that turn %s ended by an error was not told: %s", turn.id, error.message)
