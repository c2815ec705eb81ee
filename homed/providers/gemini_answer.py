"""The body of an answer of Gemini's generateContent as parts, streamed or whole.  Sans-io and pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.answers import MAX_CALLS, Decoding, Joiner, Json, Piece, count, json_object, kept, plain
from homed.providers.base import CallDelta, ContentDelta, Part, ReasoningDelta, Usage
from homed.providers.failures import Endless, Reported, Unreadable
from homed.providers.gemini_request import WIRE

REASONS: Mapping[str, str] = {"STOP": "stop", "MAX_TOKENS": "length"}
REFUSED = frozenset(
    {
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
    }
)  # fmt: skip
"""Reasons to end that mean: the source will not answer this."""
BROKEN_CALL = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
"""The model made a call that its own server could not read; told of it, it does better (A15)."""


class GeminiDecoder(Decoding):
    """See ``Decoding``.  Every call gets an id by ``new_call_id``, unless the source gave one of its own.

    Thought signatures are kept as the message's opaque part, each with the part it came with.
    """

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        super().__init__()
        self._new_call_id = new_call_id
        self._content = Joiner()
        self._thought = Joiner()
        self._ids: list[str] = []
        self._layout: list[dict[str, object]] = []

    def _take(self, piece: Piece) -> Iterator[Part]:
        for chunk in _chunks(piece):
            yield from self._chunk(chunk)
        if piece.whole:
            yield from self._finish()

    def _chunk(self, chunk: Json) -> Iterator[Part]:
        if chunk.get("error"):
            raise Reported(chunk)
        if isinstance(usage := chunk.get("usageMetadata"), Mapping):
            self.usage = usage_of(usage)
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, Mapping) and feedback.get("blockReason"):
            raise Reported(_declined(str(feedback["blockReason"])))
        candidates = chunk.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(candidate, Mapping):
            return
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                yield from self._part(part)
        self._stop(candidate)

    def _part(self, part: Json) -> Iterator[Part]:
        signature = plain(part.get("thoughtSignature"))
        call = part.get("functionCall")
        if isinstance(call, Mapping):
            yield self._call(call, signature)
        elif part.get("thought"):
            if text := self._thought.take(part.get("text")):
                yield ReasoningDelta(text)
        else:
            text = self._content.take(part.get("text"))
            self._lay(len(text), signature)
            if text:
                yield ContentDelta(text)

    def _lay(self, length: int, signature: str) -> None:
        """Texts without a signature are one; one with a signature is joined to nothing."""
        last = self._layout[-1] if self._layout else {}
        if not signature and "t" in last and "s" not in last:
            last["t"] = int(str(last["t"])) + length
        elif length or signature:
            self._layout.append({"t": length, "s": signature} if signature else {"t": length})

    def _call(self, call: Json, signature: str) -> CallDelta:
        if len(self._ids) >= MAX_CALLS:
            raise Endless(f"it makes more than {MAX_CALLS} tool calls")
        given = plain(call.get("id"))
        own = bool(given) and given not in self._ids
        id_ = given if own else self._new_call_id()
        self._ids.append(id_)
        self._layout.append({"c": id_} | ({"s": signature} if signature else {}) | ({"i": True} if own else {}))
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        return CallDelta(len(self._ids) - 1, id_, plain(call.get("name")), plain(arguments))

    def _stop(self, candidate: Json) -> None:
        reason = candidate.get("finishReason")
        if not isinstance(reason, str) or not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        if reason in REFUSED:
            raise Reported(_declined(reason))
        if reason in BROKEN_CALL:
            why = plain(candidate.get("finishMessage")) or reason
            raise Reported({"error": {"type": "broken_call", "message": f"error parsing tool call: {why}"}})
        self.reason = REASONS.get(reason, reason.lower())

    def _tail(self) -> Iterator[Part]:
        if self._ids and self.reason == "stop":
            self.reason = "tool_calls"
        if any("s" in part or "i" in part for part in self._layout):
            yield from kept(WIRE, self._layout)


def _chunks(piece: Piece) -> Iterator[Json]:
    """The responses in a piece: a stream that was not asked for as events is one list of them."""
    if not piece.whole or not piece.text.lstrip().startswith("["):
        yield json_object(piece.text)
        return
    try:
        listed = json.loads(piece.text)
    except (ValueError, RecursionError):
        raise Unreadable("it is a broken list") from None
    yield from (one for one in listed if isinstance(one, dict))


def _declined(reason: str) -> dict[str, object]:
    return {"error": {"type": "refusal", "message": f"the content was blocked ({reason})"}}


def usage_of(usage: Json) -> Usage:
    """What came out of the cache is part of the prompt already; thoughts are written like any other word (E47)."""
    cached = count(usage.get("cachedContentTokenCount"))
    prompt = count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount"))
    written = count(usage.get("candidatesTokenCount")) + count(usage.get("thoughtsTokenCount"))
    return Usage(max(prompt, cached), written, cached)
