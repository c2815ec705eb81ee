"""The body of an answer of Ollama's chat endpoint as parts: a line of JSON each, or one object.  Sans-io and pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.answers import MAX_CALLS, Decoding, Joiner, Json, Piece, count, json_object, plain
from homed.providers.base import CallDelta, ContentDelta, Part, ReasoningDelta, Usage
from homed.providers.failures import Endless, Reported


class OllamaDecoder(Decoding):
    """See ``Decoding``.  Calls come whole; each gets an id by ``new_call_id`` where the server gave none (A14)."""

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        super().__init__(lines=True)
        self._new_call_id = new_call_id
        self._content = Joiner()
        self._thought = Joiner()
        self._ids: list[str] = []

    def _take(self, piece: Piece) -> Iterator[Part]:
        chunk = json_object(piece.text)
        if chunk.get("error"):
            raise Reported(chunk)
        message = chunk.get("message")
        if isinstance(message, Mapping):
            yield from self._said(message)
        if chunk.get("done"):
            self.reason = plain(chunk.get("done_reason")) or "stop"
            self.usage = usage_of(chunk)
            yield from self._finish()

    def _said(self, message: Json) -> Iterator[Part]:
        if text := self._thought.take(message.get("thinking")):
            yield ReasoningDelta(text)
        if text := self._content.take(message.get("content")):
            yield ContentDelta(text)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                yield self._call(call)

    def _call(self, call: Json) -> CallDelta:
        if len(self._ids) >= MAX_CALLS:
            raise Endless(f"it makes more than {MAX_CALLS} tool calls")
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        given = plain(call.get("id"))
        id_ = given if given and given not in self._ids else self._new_call_id()
        self._ids.append(id_)
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        return CallDelta(len(self._ids) - 1, id_, plain(function.get("name")), plain(text))

    def _tail(self) -> Iterator[Part]:
        if self._ids and self.reason == "stop":
            self.reason = "tool_calls"
        return iter(())


def usage_of(chunk: Json) -> Usage:
    """Tokens read and written; what came out of the server's cache is not told."""
    return Usage(count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count")))
