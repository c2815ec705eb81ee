"""An interrupt for which there was no room: it ends, once, and whoever sent it is told."""

from __future__ import annotations

import logging
from dataclasses import replace

import trio

from homed import events as notices
from homed.agent.journal import COMMIT_LIMIT
from homed.agent.ports import AgentPorts
from homed.agent.schedule import MOST
from homed.agent.views import ending_view
from homed.errors import HomedError
from homed.memory import inputs
from homed.memory.records import Input, InputState, Outcome

log = logging.getLogger(__name__)

DROPPED = f"{MOST} interrupts were waiting in this conversation, and this was the oldest of the least urgent ones."
HINT = "Send it again later, or as a message, which waits its turn."


class Dropping:
    """Ends what was dropped."""

    def __init__(self, ports: AgentPorts) -> None:
        self._ports = ports

    async def drop(self, input_: Input) -> Input | None:
        """Give it the outcome ``refused``, and return it with that.  None for a store that fails, which is logged: it
        is taken up at the next start.

        Cancelled: as if the store had failed, or done.
        """
        outcome = Outcome(InputState.REFUSED, error=DROPPED, hint=HINT)
        at = self._ports.wall()
        try:
            with trio.move_on_after(COMMIT_LIMIT, shield=True) as limit:
                await self._ports.store.write(lambda tx: inputs.finish(tx, input_.id, outcome, [], at=at))
            if limit.cancelled_caught:
                log.error("an interrupt that was dropped could not be stored in time: %s", input_.id)
                return None
        except HomedError as error:
            log.error("an interrupt that was dropped could not be stored: %s: %s", input_.id, error.message)
            return None
        data = {"input": input_.id, "error": DROPPED, "hint": HINT}
        for type_, told in ((notices.AGENT_ERROR, data), (notices.TURN, _end(input_, outcome))):
            self._ports.bus.post(type_, thread=input_.thread, scope=input_.scope, data=told)
        return replace(input_, state=outcome.state, outcome=outcome)


def _end(input_: Input, outcome: Outcome) -> dict[str, object]:
    return {"phase": "end", "input": input_.id, **ending_view(outcome)}
