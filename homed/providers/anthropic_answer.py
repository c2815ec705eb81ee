"""The body of an answer of Anthropic's Messages API as parts, streamed or whole.  Sans-io and pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.answers import MAX_CALLS, Decoding, Joiner, Json, Piece, count, json_object, kept, plain
from homed.providers.anthropic_request import WIRE
from homed.providers.base import CallDelta, ContentDelta, Part, ReasoningDelta, Usage
from homed.providers.failures import Endless, Reported

REASONS: Mapping[str, str] = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "tool_use": "tool_calls",
}  # fmt: skip
DECLINED = {"error": {"type": "refusal", "message": "the model declined to answer this"}}


class AnthropicDecoder(Decoding):
    """See ``Decoding``.  Calls without an id of their own get one by ``new_call_id``.

    Thinking is told as reasoning, and kept with its signature as the message's opaque part, with the order of blocks.
    """

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        super().__init__()
        self._new_call_id = new_call_id
        self._blocks: dict[int, _Block] = {}
        self._ids: list[str] = []
        self._counted: dict[str, int] = {}

    def _take(self, piece: Piece) -> Iterator[Part]:
        data = json_object(piece.text)
        match data.get("type"):
            case "error":
                raise Reported(data)
            case "message":
                yield from self._message(data)
            case "message_start":
                message = data.get("message")
                self._count(message.get("usage") if isinstance(message, Mapping) else None)
            case "content_block_start":
                yield from self._start(_index(data), data.get("content_block"))
            case "content_block_delta":
                yield from self._delta(_index(data), data.get("delta"))
            case "message_delta":
                self._count(data.get("usage"))
                delta = data.get("delta")
                self._stop(delta.get("stop_reason") if isinstance(delta, Mapping) else None)
            case "message_stop":
                yield from self._finish()
            case _ if data.get("error"):
                raise Reported(data)

    def _message(self, data: Json) -> Iterator[Part]:
        """A whole answer; an answer that came in one piece is told as one that came in many."""
        self._count(data.get("usage"))
        content = data.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            yield from self._start(index, block)
        self._stop(data.get("stop_reason"))
        yield from self._finish()

    def _start(self, index: int, block: object) -> Iterator[Part]:
        if not isinstance(block, Mapping):
            return
        known = self._blocks[index] = _Block(str(block.get("type") or ""), dict(block))
        match known.kind:
            case "text":
                yield from known.text(block.get("text"))
            case "thinking":
                yield from known.thought(block.get("thinking"))
                known.signature = plain(block.get("signature"))
            case "tool_use":
                yield self._call(known, block)

    def _call(self, known: _Block, block: Json) -> CallDelta:
        if len(self._ids) >= MAX_CALLS:
            raise Endless(f"it makes more than {MAX_CALLS} tool calls")
        id_ = plain(block.get("id"))
        known.id = id_ if id_ and id_ not in self._ids else self._new_call_id()
        known.place = len(self._ids)
        self._ids.append(known.id)
        given = block.get("input")
        # A stream begins with an empty object and sends the arguments behind it; a whole answer has them here.
        arguments = json.dumps(given, ensure_ascii=False) if given else ""
        return CallDelta(known.place, known.id, plain(block.get("name")), known.joiner.take(arguments))

    def _delta(self, index: int, delta: object) -> Iterator[Part]:
        known = self._blocks.get(index)
        if known is None or not isinstance(delta, Mapping):
            return
        match delta.get("type"):
            case "text_delta":
                yield from known.text(delta.get("text"))
            case "thinking_delta":
                yield from known.thought(delta.get("thinking"))
            case "signature_delta":
                known.signature += plain(delta.get("signature"))
            case "input_json_delta" if known.id:
                if text := known.joiner.take(delta.get("partial_json")):
                    yield CallDelta(known.place, arguments=text)

    def _stop(self, reason: object) -> None:
        if not isinstance(reason, str) or not reason:
            return
        if reason == "refusal":
            raise Reported(DECLINED)
        self.reason = REASONS.get(reason, reason)

    def _count(self, usage: object) -> None:
        """Later counts are of the whole so far, and need not repeat what was said before."""
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"):
            value = count(usage.get(name)) if isinstance(usage, Mapping) else 0
            self._counted[name] = max(value, self._counted.get(name, 0))
        if isinstance(usage, Mapping):
            self.usage = usage_of(self._counted)

    def _tail(self) -> Iterator[Part]:
        blocks = [block for _, block in sorted(self._blocks.items())]
        if any(block.kind in ("thinking", "redacted_thinking") for block in blocks):
            yield from kept(WIRE, [laid for block in blocks if (laid := block.laid_out()) is not None])


class _Block:
    """A content block as it comes in."""

    def __init__(self, kind: str, began: dict[str, object]) -> None:
        self.kind = kind
        self._began = began
        self.joiner = Joiner()
        self.id = ""
        self.place = -1
        self.signature = ""
        self._length = 0
        self._thought: list[str] = []

    def text(self, piece: object) -> Iterator[Part]:
        if text := self.joiner.take(piece):
            self._length += len(text)
            yield ContentDelta(text)

    def thought(self, piece: object) -> Iterator[Part]:
        if text := self.joiner.take(piece):
            self._thought.append(text)
            yield ReasoningDelta(text)

    def laid_out(self) -> dict[str, object] | None:
        """As ``anthropic_request`` reads it; None for what is not sent back."""
        match self.kind:
            case "text":
                return {"t": self._length} if self._length else None
            case "tool_use":
                return {"c": self.id}
            case "thinking":
                return {**self._began, "thinking": "".join(self._thought), "signature": self.signature}
            case "redacted_thinking":
                return self._began
        return None


def _index(data: Json) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0


def usage_of(counted: Mapping[str, int]) -> Usage:
    """What was read is three numbers here, each token in one of them: new, put into the cache, out of it (E47)."""
    cached = counted.get("cache_read_input_tokens", 0)
    prompt = counted.get("input_tokens", 0) + counted.get("cache_creation_input_tokens", 0) + cached
    return Usage(prompt, counted.get("output_tokens", 0), cached)
