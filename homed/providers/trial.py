"""Trying a source out: does it answer, does it stream, think, call tools and see pictures, and how fast."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import trio

from homed.errors import TimedOut
from homed.providers.base import (
    CallDelta,
    ChatRequest,
    ContentDelta,
    Image,
    Provider,
    ProviderError,
    ReasoningDelta,
    ToolSpec,
    UsagePart,
    User,
)

TRIAL_LIMIT = 90.0
"""Seconds for the whole trial."""

ENOUGH = 20
"""Pieces of text that show that a source streams; a small model may never stop, and each word may cost money."""
ENOUGH_WITHOUT_A_CALL = 100
"""Pieces of text after which no tool call is to be expected any more."""

SIDE = 64
"""Pixels of the picture that is shown; some models take none below 28."""

_QUESTION = "Count from one to five in words."
_TOOL = ToolSpec(
    "report_number",
    "Reports a number.",
    {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_TOOL_QUESTION = "Call the tool report_number with the number 7. Do not answer in text."
_PICTURE_QUESTION = "Which colour is this picture? Answer with one word in English."
_COLOUR = "red"


@dataclass(frozen=True, slots=True)
class Trial:
    """How a source did.

    ``latency_ms`` is to the first piece of the first answer, ``total_ms`` to its end (or to ``ENOUGH`` of it);
    ``error`` and ``hint`` are for people.  ``images`` is None where it was not shown any, as it is not said to take
    them.  ``usage``: it tells what was used.  ``notes``: what was found out on the way, in sentences.
    """

    ok: bool
    latency_ms: float = 0.0
    total_ms: float = 0.0
    streaming: bool = False
    reasoning: bool = False
    usage: bool = False
    tools: bool = False
    images: bool | None = None
    error: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Heard:
    """One answer."""

    first: float = 0.0
    pieces: int = 0
    thoughts: int = 0
    texts: list[str] = field(default_factory=list)
    calls: set[int] = field(default_factory=set)
    usage: bool = False


async def try_out(provider: Provider, adjustments: Sequence[str] = ()) -> Trial:
    """Ask up to three short questions: plainly, with a tool, with a picture.

    ``adjustments`` is read when all is done: what the source turned out to want otherwise.  Raises ProviderError if it
    does not answer the first one, and TimedOut after ``TRIAL_LIMIT`` seconds.
    """
    result = Trial(ok=False)
    with trio.move_on_after(TRIAL_LIMIT) as limit:
        begun = trio.current_time()
        heard = await _ask(provider, ChatRequest((User(_QUESTION),)), enough=ENOUGH)
        result = Trial(
            ok=True, latency_ms=_since(begun, heard.first), total_ms=_since(begun, trio.current_time()),
            streaming=heard.pieces > 1, reasoning=heard.thoughts > 0, usage=heard.usage,
        )  # fmt: skip
        result = await _with_tool(provider, result)
        result = await _with_picture(provider, result)
    if limit.cancelled_caught and not result.ok:
        raise TimedOut(f"{provider.source.name} did not answer within {TRIAL_LIMIT:g} s; the request was closed.")
    notes = [f"It wants to be asked otherwise; to keep that, set it up with {setting}." for setting in adjustments]
    return replace(result, notes=tuple(dict.fromkeys(notes)))


async def _with_tool(provider: Provider, result: Trial) -> Trial:
    if not provider.source.tools:
        return result
    try:
        request = ChatRequest((User(_TOOL_QUESTION),), (_TOOL,))
        heard = await _ask(provider, request, enough=ENOUGH_WITHOUT_A_CALL)
    except ProviderError as error:  # many small models refuse tools; that is an answer too
        return replace(result, error=error.message, hint=error.hint)
    return replace(result, tools=bool(heard.calls), reasoning=result.reasoning or heard.thoughts > 0)


async def _with_picture(provider: Provider, result: Trial) -> Trial:
    if not provider.source.vision:
        return result
    try:
        request = ChatRequest((User(_PICTURE_QUESTION, (Image("image/png", red_picture()),)),))
        heard = await _ask(provider, request, enough=ENOUGH)
    except ProviderError as error:
        return replace(result, images=False, error=error.message, hint=error.hint)
    return replace(result, images=_COLOUR in "".join(heard.texts).lower())


def red_picture() -> bytes:
    """A PNG of nothing but red."""
    row = b"\x00" + b"\xff\x00\x00" * SIDE
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * SIDE)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _since(begun: float, at: float) -> float:
    """Milliseconds."""
    return round(max(0.0, at - begun) * 1000, 1)


async def _ask(provider: Provider, request: ChatRequest, *, enough: int) -> _Heard:
    """Ask once.  After ``enough`` pieces of text the rest is not waited for, and the connection closed."""
    heard = _Heard()
    async with provider.stream(request) as parts:
        async for part in parts:
            heard.first = heard.first or trio.current_time()
            match part:
                case ContentDelta(text):
                    heard.texts.append(text)
                    heard.pieces += 1
                case ReasoningDelta():
                    heard.thoughts += 1
                    heard.pieces += 1
                case CallDelta(index):
                    heard.calls.add(index)
                case UsagePart():
                    heard.usage = True
            if len(heard.texts) >= enough:
                break
    return heard
