"""``on_input``: what of a message is taken in, and whether it is answered at all."""

from __future__ import annotations

from dataclasses import dataclass

from homed.agent.journal import Heard, title_of
from homed.agent.ports import AgentPorts
from homed.agent.stages import Stages
from homed.agent.turn import Ending, Turn
from homed.memory.records import EventKind, InputState, NewEvent

WITHHELD = "[withheld: {plugin} could not check it]"


@dataclass(frozen=True, slots=True)
class Checked:
    """What goes into the window, and the ending if the stage ended the turn."""

    heard: Heard
    ending: Ending | None = None


class Hearing:
    """Runs the stage; holds nothing of any turn."""

    def __init__(self, ports: AgentPorts, stages: Stages) -> None:
        self._redact = ports.redactor.redact
        self._stages = stages

    @property
    def needed(self) -> bool:
        """Whether some plugin looks at messages before anything else does."""
        return self._stages.any("on_input")

    async def check(self, turn: Turn) -> Checked:
        """The message as the stage left it."""
        staged = await self._stages.run(turn, "on_input", {"raw_message": turn.input.text})
        if staged.closed:
            heard = self.heard(WITHHELD.format(plugin=staged.closed), withheld=True)
            error = f"The message was not taken: {staged.closed}, which must check it first, could not ({staged.why})."
            return Checked(heard, Ending(turn.outcome(InputState.REFUSED, error=error, hint=staged.remedy)))
        heard = self.heard(staged.text("raw_message"))
        return Checked(heard, None if staged.response is None else responded(turn, self._redact(staged.response)))

    def unchecked(self, turn: Turn) -> Heard:
        """What may stand in the history of a message that the stage has not let pass."""
        checker = self._stages.checker("on_input")
        return self.heard(WITHHELD.format(plugin=checker) if checker else turn.input.text, withheld=bool(checker))

    def heard(self, text: str, *, withheld: bool = False) -> Heard:
        """A message that goes into the window as it is, but for secrets."""
        clean = self._redact(text)
        return Heard(clean, title_of(clean), withheld)


def responded(turn: Turn, text: str) -> Ending:
    """The ending of a turn that a stage answered, in the model's stead."""
    event = NewEvent(EventKind.ASSISTANT, text, {"final": True, "partial": False})
    return Ending(turn.outcome(InputState.ANSWERED, text), (event,))
