"""One model step: the request, the source that answers it, and what is done when that fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from homed import events as notices
from homed.agent.context import Context
from homed.agent.guard import Guard
from homed.agent.journal import Journal
from homed.agent.model import Broken, Model, Said
from homed.agent.ports import AgentPorts
from homed.agent.stages import CHECKING_ANSWERS, Stages
from homed.agent.turn import Ended, Ending, Turn
from homed.providers.base import ErrorKind, Provider


@dataclass(frozen=True, slots=True)
class StepPorts:
    """What a step touches of the loop it is a part of; ``failed``: the ending of a turn whose model gave no answer,
    from the error, what to do, and what came of the answer."""

    agent: AgentPorts
    journal: Journal
    stages: Stages
    context: Context
    guard: Guard
    failed: Callable[[Turn, str, str, str], Ending]


class Step:
    """Asks for one answer of the model, with text or tool calls; holds nothing of any turn."""

    def __init__(self, ports: StepPorts) -> None:
        self._ports = ports
        self._journal = ports.journal
        self._guard = ports.guard
        self._redact = ports.agent.redactor.redact
        self._model = Model(ports.agent, ports.journal)

    async def ask(self, turn: Turn, note: str) -> Said:
        """What the model says next.  With a ``note`` it is told that, and offered no tools.

        Raises Ended when no source gives an answer, Overfull when the turn cannot be made to fit.  Cancelled: the
        connection is closed, and the turn's ``live`` holds what was shown.
        """
        last = bool(note)  # what is noted below after a failure asks for the call again, so tools stay on offer
        while True:
            self._withhold(turn)
            provider = self._ports.agent.sources.provider()
            request = await self._guard.request(turn, provider, note, last=last)
            self._journal.reach("turn.before_model")
            try:
                said = await self._model.ask(turn, provider, request)
            except Broken as broken:
                note = await self._recover(turn, provider, broken, note)
                continue
            self._journal.reach("turn.after_model")
            return said

    def _withhold(self, turn: Turn) -> None:
        """Show nothing of the answer while it grows, if some plugin must check it first; say so once."""
        checker = self._ports.stages.checker(*CHECKING_ANSWERS)
        if checker and not turn.withheld:
            turn.withheld = True
            data = {"code": "withheld", "message": f"The answer is shown when {checker} has checked it."}
            self._journal.post(turn, notices.SYSTEM, data)

    async def _recover(self, turn: Turn, provider: Provider, broken: Broken, note: str) -> str:
        """The note to try again with; raises Ended when this failure is final, Overfull when no room can be made."""
        error, said = broken.error, broken.said
        if not (said.text or said.calls or error.partial):
            if error.kind is ErrorKind.CONTEXT_FULL:
                await self._guard.context_full(turn, provider, last=bool(note))
                return note
            if _unparsed(error.message) and not turn.counters.unparsed:
                turn.counters.unparsed += 1
                return self._ports.context.unparsed_note(error.message)
        partial = self._redact(said.text) if not turn.withheld else ""
        raise Ended(self._ports.failed(turn, self._redact(error.message), error.hint, partial))


def _unparsed(message: str) -> bool:
    """A model server that could not read its own model's tool call (A15)."""
    said = message.lower()
    return "tool call" in said and "pars" in said
