"""What binds the turns of an agent that an agent made: what it may use, for whom it works, who is told.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homed import events as notices
from homed.host.registry import OUTPUT_PREFIX
from homed.memory.temporary import Front
from homed.spend.records import Purpose

PARENT = "parent:"
"""What the mark of a message begins with that an agent's maker gave it; behind it stands the task."""

CHILD = "child:"
"""What the mark of an interrupt begins with that tells of an agent; behind it stands its id."""

HELP = "_help"
"""What the name of the tool ends in that explains an output."""

READING = "result_read"
"""Reads on in a result that was cut: whoever has any tool has it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """``front``: where a person sees what it does, and is asked; ``behalf``: channel and peer of those it was made for,
    whose rules bind it; ``tools`` and ``outputs``: those it was given, None for all that its maker may use;
    ``barred``: tools that it must not have in any case; ``rounds``: of tool calls in one turn."""

    child: str
    name: str
    brief: str
    thread: str
    front: Front
    purpose: Purpose
    rounds: int
    behalf: tuple[tuple[str, str], ...] = ()
    tools: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    barred: frozenset[str] = frozenset()

    def may(self, tool: str) -> bool:
        """Whether it was given this tool.  What its maker may not do, it may not do either: that is asked apart."""
        if tool in self.barred:
            return False
        if tool.startswith(OUTPUT_PREFIX):
            output = tool.removeprefix(OUTPUT_PREFIX)
            return self.outputs is None or output in self.outputs or output.removesuffix(HELP) in self.outputs
        return self.tools is None or tool in self.tools or tool == READING


def progress(frame: Frame, type_: str, data: Mapping[str, object]) -> Mapping[str, object] | None:
    """What the conversation at its front is told when a notice of one of its turns goes out; None for most.

    Ids, states and names of tools, and never what is said: that stands in the agent's own conversation.
    """
    shown: dict[str, object] = {"child": frame.child, "name": frame.name, "in": frame.thread}
    match type_:
        case notices.TURN:
            phase = str(data.get("phase"))
            ended = {"state": data.get("state"), "error": data.get("error", "")} if phase == "end" else {}
            return {**shown, "phase": phase, **ended}
        case notices.TOOL_CALL:
            named = {name: data.get(name) for name in ("tool", "call", "status", "step", "ms")}
            return {**shown, "phase": "tool", **named}
        case notices.AGENT_LLM_CHAIN:
            return {**shown, "phase": "step", "step": data.get("step")}
        case _:
            return None
