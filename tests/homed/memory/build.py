"""Builders of events for these tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from homed.memory.records import Event, EventKind, InputState, NewInput, Outcome, Thread


def event(
    seq: int, kind: EventKind, text: str = "", *, turn: str = "t1", data: dict[str, object] | None = None
) -> Event:
    return Event(f"ev{seq}", seq, "owner", "th", turn, "cli", "", kind, text, float(seq), data or {})


def user(seq: int, text: str = "hi", *, turn: str = "t1") -> Event:
    return event(seq, EventKind.USER, text, turn=turn)


def says(seq: int, text: str = "", *, turn: str = "t1", calls: Sequence[str] = (), arguments: str = "x") -> Event:
    made = [{"id": call, "name": "run", "arguments": {"a": arguments}} for call in calls]
    return event(seq, EventKind.ASSISTANT, text, turn=turn, data={"calls": made})


def tool(seq: int, call: str, text: str = "done", *, turn: str = "t1") -> Event:
    return event(seq, EventKind.TOOL, text, turn=turn, data={"call_id": call, "name": "run", "status": "ok"})


def new_input(thread: Thread, text: str = "hi", **more: Any) -> NewInput:
    """An owner's input to ``thread``."""
    fields = {"channel": thread.channel, "peer": "cli:owner", "role": "owner", **more}
    return NewInput(thread=thread.id, scope=thread.scope, text=text, **fields)


ANSWERED = Outcome(InputState.ANSWERED, "done", usage={"prompt": 3, "completion": 1, "cached": 0})
