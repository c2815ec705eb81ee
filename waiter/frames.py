"""Pieces of a conversation from frames of the wire, which may hold anything.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .cost import cost_of
from .model import Agent, Asked, End, Recall, Tool
from .progress import yes_of
from .terminal import as_json

Data = Mapping[str, Any]
RECORDS = ("summary", "fact", "capsule")


def tool(turn: str, data: Data, step: int) -> Tool:
    """A tool call of a notice, of a running turn or of an event; ``step`` unless the frame names one."""
    ms = data.get("ms")
    return Tool(
        f"t:{turn}:{data.get('call')}", turn, number(data, "step") if isinstance(data.get("step"), int) else step,
        str(data.get("tool") or "?"), compact(data.get("args")), str(data.get("status") or "?"),
        compact(data.get("result")), ms if isinstance(ms, int) else -1, files=files_of(data),
    )  # fmt: skip


def asked(turn: str, data: Data) -> Asked:
    """An approval."""
    id_ = text(data, "approval")
    args = as_json(data.get("args"), 2)
    tool, plugin, class_, reason = (text(data, key) for key in ("tool", "plugin", "class", "reason"))
    return Asked(
        f"p:{id_}", id_, turn, tool, plugin, class_, args, reason, text(data, "status") or "asked", yes_of(data)
    )


def recall(turn: str, data: Data) -> Recall:
    """What was brought into a turn."""
    shown, cold, facts = (tuple(str(id_) for id_ in data.get(key) or ()) for key in ("shown", "cold", "facts"))
    return Recall(
        f"r:{turn}", turn, shown, cold, number(data, "kept"), number(data, "chars"), facts=facts,
        counts=_counts(mapping(data.get("counts")), facts),
    )  # fmt: skip


def _counts(told: Data, ids: tuple[str, ...]) -> tuple[int, int, int]:
    """How many records of each kind: as homed says, or by what their ids begin with."""
    summary, fact, capsule = (
        number(told, kind) if told else sum(id_.startswith(f"{kind}_") for id_ in ids) for kind in RECORDS
    )
    return summary, fact, capsule


def end(turn: str, data: Data) -> End:
    """How a turn ended."""
    usage = mapping(data.get("usage"))
    return End(
        f"e:{turn}", turn, text(data, "state"), text(data, "error"), text(data, "hint"), number(data, "ms"),
        number(usage, "prompt"), number(usage, "completion"), cost_of(usage),
    )  # fmt: skip


def agent(data: Data, turn: str) -> Agent:
    """An agent, as a page of history has it."""
    tools = mappings(data.get("tools"))
    last = text(tools[-1], "tool") if tools else ""
    state = text(data, "state") or "running"
    return Agent(f"g:{turn}:{text(data, 'child')}", turn, text(data, "name"), state, number(data, "count"), last)


def agent_news(data: Data, turn: str, known: object) -> Agent:
    """The same after a notice of its."""
    key = f"g:{turn}:{text(data, 'child')}"
    before = known if isinstance(known, Agent) else Agent(key, turn, text(data, "name"), "running")
    match text(data, "phase"):
        case "end":
            return replace(before, state=text(data, "state"))
        case "suspended":
            return replace(before, state="suspended")
        case "tool":
            call = text(data, "call")
            count = before.count + (call not in before.calls)
            return replace(before, count=count, tool=text(data, "tool"), calls=before.calls | {call})
        case _:
            return replace(before, state="running")


def whose(data: Data, peer: str, own: str) -> str:
    """``label_of``, but for what no person said: ``@homed`` or ``@agent``, by which the words say it."""
    mark = text(data, "mark")
    if mark.startswith(("child:", "parent:")):
        return "@agent"
    return "@homed" if mark else label_of(peer, own)


def label_of(peer: str, own: str) -> str:
    """Who said it, if not whoever sits here: the channel of the owner's other places, the name of anybody else."""
    if not peer or peer == own:
        return ""
    channel, _, name = peer.partition(":")
    return channel if name in ("owner", "local", "") else peer


def files_of(data: Data) -> tuple[str, ...]:
    """Names of what was attached."""
    return tuple(text(block, "name") for block in mappings(data.get("blocks")))


def compact(value: object) -> str:
    """A value as text: text as it is, nothing as nothing, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value)


def text(data: Data, key: str) -> str:
    """A string of a frame; empty if it is something else."""
    value = data.get(key)
    return value if isinstance(value, str) else ""


def number(data: Data, key: str) -> int:
    """A whole number of a frame; 0 if it is something else."""
    value = data.get(key)
    return value if isinstance(value, int) else 0


def mapping(value: object) -> Data:
    """An object of a frame; empty if it is something else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Data]:
    """A list of objects of a frame, without what is none."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []
