"""Trying a source out: does it answer, does it stream, does it call tools, and how fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import trio

from homed.errors import TimedOut
from homed.providers.base import (
    CallDelta,
    ChatRequest,
    ContentDelta,
    Provider,
    ProviderError,
    ReasoningDelta,
    ToolSpec,
    User,
)

TRIAL_LIMIT = 90.0
"""Seconds for the whole trial."""

_QUESTION = "Count from one to five in words."
_TOOL = ToolSpec(
    "report_number",
    "Reports a number.",
    {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_TOOL_QUESTION = "Call the tool report_number with the number 7. Do not answer in text."


@dataclass(frozen=True, slots=True)
class Trial:
    """How a source did.  ``latency_ms`` is to the end of the first answer; ``error`` and ``hint`` are for people."""

    ok: bool
    latency_ms: float = 0.0
    streaming: bool = False
    tools: bool = False
    error: str = ""
    hint: str = ""


async def try_out(provider: Provider) -> Trial:
    """Ask two short questions, the second with a tool.  Raises ProviderError if it does not answer the first one, and
    TimedOut after ``TRIAL_LIMIT`` seconds."""
    result = Trial(ok=False)
    with trio.move_on_after(TRIAL_LIMIT) as limit:
        begun = trio.current_time()
        pieces, _ = await _ask(provider, ChatRequest((User(_QUESTION),)))
        took = (trio.current_time() - begun) * 1000
        result = Trial(ok=True, latency_ms=round(took, 1), streaming=pieces > 1)
        try:
            _, calls = await _ask(provider, ChatRequest((User(_TOOL_QUESTION),), (_TOOL,)))
            result = replace(result, tools=calls > 0)
        except ProviderError as error:  # many small models refuse tools; that is an answer too
            result = replace(result, error=error.message, hint=error.hint)
    if limit.cancelled_caught and not result.ok:
        raise TimedOut(f"{provider.source.name} did not answer within {TRIAL_LIMIT:g} s; the request was closed.")
    return result


async def _ask(provider: Provider, request: ChatRequest) -> tuple[int, int]:
    """Ask once; the number of pieces of text and of calls that came."""
    pieces, calls = 0, set[int]()
    async with provider.stream(request) as parts:
        async for part in parts:
            if isinstance(part, ContentDelta | ReasoningDelta):
                pieces += 1
            elif isinstance(part, CallDelta):
                calls.add(part.index)
    return pieces, len(calls)
