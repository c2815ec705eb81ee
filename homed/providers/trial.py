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

ENOUGH = 20
"""Pieces of text that show that a source streams; a small model may never stop, and each word may cost money."""
ENOUGH_WITHOUT_A_CALL = 100
"""Pieces of text after which no tool call is to be expected any more."""

_QUESTION = "Count from one to five in words."
_TOOL = ToolSpec(
    "report_number",
    "Reports a number.",
    {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_TOOL_QUESTION = "Call the tool report_number with the number 7. Do not answer in text."


@dataclass(frozen=True, slots=True)
class Trial:
    """How a source did.  ``latency_ms`` is to the first piece of the answer; ``error`` and ``hint`` are for people."""

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
        pieces, _, first = await _ask(provider, ChatRequest((User(_QUESTION),)), enough=ENOUGH)
        result = Trial(ok=True, latency_ms=round((first - begun) * 1000, 1), streaming=pieces > 1)
        try:
            request = ChatRequest((User(_TOOL_QUESTION),), (_TOOL,))
            _, calls, _ = await _ask(provider, request, enough=ENOUGH_WITHOUT_A_CALL)
            result = replace(result, tools=calls > 0)
        except ProviderError as error:  # many small models refuse tools; that is an answer too
            result = replace(result, error=error.message, hint=error.hint)
    if limit.cancelled_caught and not result.ok:
        raise TimedOut(f"{provider.source.name} did not answer within {TRIAL_LIMIT:g} s; the request was closed.")
    return result


async def _ask(provider: Provider, request: ChatRequest, *, enough: int) -> tuple[int, int, float]:
    """Ask once: the number of pieces and of calls that came, and when the first did (Trio's clock).

    After ``enough`` pieces of text the rest is not waited for, and the connection closed.
    """
    pieces, texts, calls, first = 0, 0, set[int](), 0.0
    async with provider.stream(request) as parts:
        async for part in parts:
            first = first or trio.current_time()
            if isinstance(part, ContentDelta | ReasoningDelta):
                pieces += 1
                texts += isinstance(part, ContentDelta)
            elif isinstance(part, CallDelta):
                calls.add(part.index)
            if texts >= enough:
                break
    return pieces, len(calls), first
