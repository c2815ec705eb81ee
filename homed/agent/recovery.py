"""What a start does with inputs that have no outcome yet: resume them, or report that they could not be done."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import trio

from homed import events as notices
from homed.agent.journal import interrupted
from homed.agent.ports import AgentPorts
from homed.errors import Unavailable
from homed.host.states import State
from homed.memory import events, inputs
from homed.memory.records import EventKind, Input, InputState, NewEvent, Outcome
from homed.retrieval import index
from homed.store.rows import Damaged, ReadOnly, Tx

ATTEMPTS = 3
"""Runs an input may begin; one that took homed down with it so often is reported, not tried again."""

SETTLE = 10.0
"""Seconds that the first turns of a run wait for plugins that are still starting."""

COMING = frozenset({State.ABSENT, State.WAITING, State.STARTING})

GIVEN_UP = "This message was begun {attempts} times and homed ended each time before it was done."
HINT = "Send it again if it still matters; the log says why homed ended."


async def settle(ports: AgentPorts, limit: float = SETTLE) -> None:
    """Wait until the plugins that are starting are ready or have failed, so that turns find their tools and checks."""
    with trio.move_on_after(limit):
        for status in ports.host.statuses():
            if status.state in COMING:
                with suppress(Unavailable):
                    await ports.host.wait_ready(status.name)


async def recover(ports: AgentPorts) -> tuple[Sequence[Input], Sequence[Input]]:
    """The inputs to resume, oldest first; and those tried too often, which get the outcome ``reported`` here."""
    try:
        await ports.store.write(lambda _: None)
        left = await ports.store.read(inputs.unfinished)
    except (Damaged, ReadOnly):
        return (), ()  # what is unfinished stays so until the database is mended
    resumed = [input_ for input_ in left if input_.attempts < ATTEMPTS]
    reported = [input_ for input_ in left if input_.attempts >= ATTEMPTS]
    for input_ in reported:
        await report_ended(ports, input_, GIVEN_UP.format(attempts=input_.attempts), HINT)
    return resumed, reported


async def report_ended(ports: AgentPorts, input_: Input, error: str, hint: str) -> None:
    """Give an input the outcome ``reported``: why it is not done, and what to do."""
    at = ports.wall()

    def write(tx: Tx) -> None:
        open_calls = [interrupted(call) for call in events.dangling_calls(tx, input_.turn)]
        said = events.of_turn(tx, input_.turn)
        private = any(event.no_memory for event in said if event.kind in (EventKind.USER, EventKind.ASSISTANT))
        note = NewEvent(EventKind.NOTE, error, {"code": "no_answer"})
        outcome = Outcome(InputState.REPORTED, "", error, hint)
        inputs.finish(tx, input_.id, outcome, [*open_calls, note], at=at, no_memory=private)
        index.catch_up(tx)

    await ports.store.write(write)
    data = {"input": input_.id, "error": error, "hint": hint}
    ports.bus.post(notices.AGENT_ERROR, thread=input_.thread, turn=input_.turn, scope=input_.scope, data=data)
