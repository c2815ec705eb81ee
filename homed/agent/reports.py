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
from homed.memory.records import Outcome
from homed.prompts.loader import fill, load

REPORT_BYTES = 12_000
"""Bytes of a report; of a longer one head and tail, and ``child_result`` gives the whole."""

OVERFULL = "overfull"
"""The code of the error by which a turn ends that cannot be made to fit."""


@dataclass(frozen=True, slots=True)
class End:
    """How a turn of an agent ended; ``broke``: the code of the error that it ended by, ``panicked``: one nobody
    foresaw."""

    outcome: Outcome
    broke: str = ""
    panicked: bool = False


def report(child: Child, task: ChildTask, end: End) -> Signal:
    """The interrupt that tells it.

    Level 3 with what it found.  Of one that has no room left, or met an error of homed's own, level 4 with no more
    than the signal: what it was about must not come into a prompt that way.
    """
    if end.broke == OVERFULL:
        return _signal(child, task, CRITICAL, fill(load("child_full"), id=child.id), untrusted=False)
    if end.panicked:
        return _signal(child, task, CRITICAL, fill(load("child_panic"), id=child.id), untrusted=False)
    outcome = end.outcome
    said = "\n".join(filter(None, [outcome.text, outcome.error and f"({outcome.error})"])) or "(nothing was said)"
    shown = notes.fenced("agent", head_and_tail(said, REPORT_BYTES))
    if len(said.encode()) > REPORT_BYTES:
        shown = f'{shown}\n`child_result` with child="{child.id}" gives the whole.'
    text = fill(
        load("child_report"), id=child.id, name=notes.neutral(child.name), state=outcome.state.value, report=shown
    )
    return _signal(child, task, TIMER, text, untrusted=True)


def _signal(child: Child, task: ChildTask, level: int, text: str, *, untrusted: bool) -> Signal:
    who = Identity(child.peer, child.peer.partition(":")[0], "", Role(child.role), task.scope)
    return Signal(
        who=who, text=text, level=level, thread=task.thread, mark=f"{CHILD}{child.id}", key=task.id,
        no_memory=child.no_memory, can_ask=child.can_ask, untrusted=untrusted,
    )  # fmt: skip
