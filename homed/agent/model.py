"""One model call: the stream in, what was said out, the deltas shown on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

from homed import events as notices
from homed.agent.deltas import Coalescer
from homed.agent.journal import Journal
from homed.agent.ports import AgentPorts
from homed.agent.turn import Turn
from homed.clock import new_id
from homed.providers.base import (
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    Opaque,
    Part,
    Progress,
    Provider,
    ProviderError,
    ReasoningDelta,
    Retrying,
    ToolCall,
    Usage,
    UsagePart,
)


@dataclass(slots=True)
class _Fragments:
    """One tool call as it comes in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Said:
    """What one model call gave, complete or up to where it broke."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    opaque: Opaque | None = None
    source: str = ""
    model: str = ""
    instead_of: tuple[tuple[str, str], ...] = ()

    def answered_by(self) -> dict[str, object]:
        """Who said it, as stored and told: ``instead_of`` are the sources that did not answer, with why."""
        gone = [{"source": name, "why": why} for name, why in self.instead_of]
        return {"source": self.source, "model": self.model, **({"instead_of": gone} if gone else {})}


class Gatherer:
    """Builds ``Said`` from parts; fragments of parallel calls are kept apart by their index (E14).  Pure."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Fragments] = {}
        self._usage = Usage()
        self._reason = ""
        self._opaque: Opaque | None = None

    def take(self, part: Part) -> None:
        """One more part."""
        match part:
            case ContentDelta(text):
                self._text.append(text)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case CallDelta(index, id_, name, arguments):
                call = self._calls.setdefault(index, _Fragments())
                call.id = call.id or id_
                call.name = call.name or name
                call.arguments.append(arguments)
            case Opaque():
                self._opaque = part
            case UsagePart(usage):
                self._usage = usage
            case Done(reason):
                self._reason = reason
            case Retrying() | Progress():
                pass

    def said(self) -> Said:
        """What came so far; calls in the order of their index, each with an id of its own."""
        used: set[str] = set()
        calls = []
        for _, got in sorted(self._calls.items()):
            id_ = got.id if got.id and got.id not in used else new_id("call")
            used.add(id_)
            raw = "".join(got.arguments)
            calls.append(ToolCall(id_, got.name, decode(raw), raw))
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        return Said(text, reasoning, tuple(calls), self._usage, self._reason, self._opaque)


def decode(raw: str) -> Mapping[str, object] | None:
    """Arguments as an object; nothing means none (E15); what cannot be decoded is None, not half-parsed (A15).

    Nor is what Python alone takes for JSON (NaN, numbers without end, half a character): no wire carries it, and no
    page could show the call.
    """
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Broken(Exception):
    """The stream failed after ``said`` had come."""

    def __init__(self, said: Said, error: ProviderError) -> None:
        super().__init__(error.message)
        self.said = said
        self.error = error


class Model:
    """Asks the source and shows the answer as it grows."""

    def __init__(self, ports: AgentPorts, journal: Journal) -> None:
        self._ports = ports
        self._journal = journal

    async def ask(self, turn: Turn, provider: Provider, request: ChatRequest, gatherer: Gatherer) -> Said:
        """Stream one answer through ``gatherer``.  Raises Broken with what had come.

        Cancelled: the connection is closed, and the turn's ``live`` holds what was shown.
        """
        turn.live.next_step(turn.step)
        redact, begun = self._ports.redactor.redact, self._ports.redactor.begun
        content = Coalescer(redact, lambda at, text: self._show_text(turn, at, text), begun)
        thought = Coalescer(redact, lambda at, text: self._show_reasoning(turn, at, text), begun)
        failed: ProviderError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(content.beat)
            nursery.start_soon(thought.beat)
            try:
                async with provider.stream(request) as parts:
                    async for part in parts:
                        gatherer.take(part)
                        self._pass_on(turn, part, content, thought)
            except ProviderError as error:
                failed = error
            nursery.cancel_scope.cancel()
        thought.finish()
        content.finish()
        said = gatherer.said()
        if failed is not None:
            raise Broken(said, failed)
        return said

    def _pass_on(self, turn: Turn, part: Part, content: Coalescer, thought: Coalescer) -> None:
        if isinstance(part, Retrying):
            message = f"The model source is busy ({part.why}); again in {part.wait:.0f} s."
            self._journal.post(turn, notices.SYSTEM, {"code": "retrying", "message": message})
        elif isinstance(part, Progress):
            data = {"what": part.what, "done": part.done, "total": part.total}
            self._journal.post(turn, notices.PROGRESS, data)
        elif turn.withheld or turn.muted:
            return
        elif isinstance(part, ReasoningDelta):
            thought.feed(part.text)
        elif isinstance(part, ContentDelta):
            thought.flush()
            content.feed(part.text)

    def _show_text(self, turn: Turn, at: int, text: str) -> None:
        if not turn.stopping:
            turn.live.text += text
        self._journal.post(turn, notices.CONTENT_DELTA, {"step": turn.step, "at": at, "text": text})

    def _show_reasoning(self, turn: Turn, at: int, text: str) -> None:
        if not turn.stopping:
            turn.live.reasoning += text
        self._journal.post(turn, notices.REASONING_DELTA, {"step": turn.step, "at": at, "text": text})
