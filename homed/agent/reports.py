"""What whoever made an agent is told of it: an interrupt that carries its id.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from homed.agent import notes
from homed.agent.frame import CHILD
from homed.agent.intake import Signal
from homed.agent.levels import CRITICAL, TIMER
from homed.agent.results import head_and_tail
from homed.identity.roles import Identity, Role
from homed.memory.children import Child, ChildTask
from homed.memory.records import Input, Outcome
from homed.prompts.loader import fill, load

REPORT_BYTES = 12_000
"""Bytes of a report; of a longer one head and tail, and ``child_result`` gives the whole."""

OVERFULL = "overfull"
"""The code of the error by which a turn ends that cannot be made to fit."""


@dataclass(frozen=True, slots=True)
class End:
    """How what an agent was given ended; ``broke``: the code of the error that it ended by, ``panicked``: one nobody
    foresaw; ``given``: the input it was given by, None if that never came."""

    outcome: Outcome
    given: Input | None = None
    broke: str = ""
    panicked: bool = False


def report(child: Child, task: ChildTask, end: End) -> Signal:
    """The interrupt that tells it, on behalf of whoever gave the task, with their rights.

    Level 3 with what it found.  Of one that has no room left, or met an error of homed's own, level 4 with no more
    than the signal: what it was about must not come into a prompt that way.
    """
    if end.broke == OVERFULL:
        return _signal(child, task, end, CRITICAL, fill(load("child_full"), id=child.id))
    if end.panicked:
        return _signal(child, task, end, CRITICAL, fill(load("child_panic"), id=child.id))
    outcome = end.outcome
    said = "\n".join(filter(None, [outcome.text, outcome.error and f"({outcome.error})"])) or "(nothing was said)"
    shown = notes.fenced("agent", head_and_tail(said, REPORT_BYTES))
    if len(said.encode()) > REPORT_BYTES:
        shown = f'{shown}\n`child_result` with child="{child.id}" gives the whole.'
    text = fill(
        load("child_report"), id=child.id, name=notes.neutral(child.name), state=outcome.state.value, report=shown
    )
    return _signal(child, task, end, TIMER, text, untrusted=True)


def _signal(child: Child, task: ChildTask, end: End, level: int, text: str, *, untrusted: bool = False) -> Signal:
    by = end.given or child
    who = Identity(by.peer, by.peer.partition(":")[0], "", Role(by.role), task.scope)
    return Signal(
        who=who, text=text, level=level, thread=task.thread, mark=f"{CHILD}{child.id}", key=task.id,
        no_memory=by.no_memory, can_ask=by.can_ask, untrusted=untrusted,
    )  # fmt: skip
