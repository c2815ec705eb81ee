"""What a source wants back byte for byte, between its answer and the next prompt.  Pure.

It is stored beside the event, not in its data: nobody but the prompt reads it, and no page, stage, notice, log or
export has it.  It holds for the message it came with and for no other: once the words or calls of that differ, or a
secret would stand in it, it is left out whole (A9).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from homed.agent.model import Said
from homed.memory.records import Event
from homed.providers.base import Opaque, ToolCall

_END = "\n"
"""Between the wire's name and its data; no name has one."""


def seal(said: Said, text: str, calls: Sequence[ToolCall], redact: Callable[[str], str]) -> str:
    """What is stored with the message as it became: ``text`` and ``calls``; empty for nothing."""
    opaque = said.opaque
    if opaque is None or text != said.text or list(map(_form, calls)) != list(map(_form, said.calls)):
        return ""
    return f"{opaque.wire}{_END}{opaque.data}" if redact(opaque.data) == opaque.data else ""


def unsealed(event: Event) -> Opaque | None:
    """What was stored with it, if it is shown as it was."""
    wire, end, data = event.opaque.partition(_END)
    return Opaque(wire, data) if end else None


def _form(call: ToolCall) -> tuple[str, str, object]:
    return call.id, call.name, None if call.arguments is None else dict(call.arguments)
