"""The body of an OpenAI chat answer as parts, whichever way it comes and however it is cut.  Sans-io and pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.answers import MAX_CALLS, Decoding, Joiner, Json, Piece, count, json_object, plain
from homed.providers.base import CallDelta, ContentDelta, Part, ReasoningDelta, Usage
from homed.providers.failures import Endless, Reported


class AnswerDecoder(Decoding):
    """See ``Decoding``.

    Every call gets an id of its own, minted by ``new_call_id`` where the source gave none or the same twice (A14), and
    comes under a place of its own.
    """

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        super().__init__()
        self._calls = Calls(new_call_id)
        self._thought = Joiner()
        self._content = Joiner()

    def _take(self, piece: Piece) -> Iterator[Part]:
        if piece.text.strip() == "[DONE]":
            yield from self._finish()
            return
        yield from self._chunk(json_object(piece.text), "message" if piece.whole else "delta")
        if piece.whole:
            yield from self._finish()

    def _chunk(self, chunk: Json, holder: str) -> Iterator[Part]:
        if chunk.get("error"):
            raise Reported(chunk)
        if isinstance(usage := chunk.get("usage"), Mapping):
            self.usage = usage_of(usage)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return
        said = choice.get(holder) or choice.get("message") or choice.get("delta")
        if isinstance(said, Mapping):
            yield from self._said(said)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.reason = reason

    def _said(self, said: Json) -> Iterator[Part]:
        thought = said.get("reasoning_content") or said.get("reasoning")
        content = said.get("content")
        if isinstance(content, list):  # parts, as some reasoning models send them
            thought = thought or _joined(content, "thinking")
            content = _joined(content, "text")
        if text := self._thought.take(thought):
            yield ReasoningDelta(text)
        for part in (content, said.get("refusal")):
            if text := self._content.take(part):
                yield ContentDelta(text)
        calls = said.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, Mapping):
                yield self._calls.fragment(fragment)

    def _tail(self) -> Iterator[Part]:
        return self._calls.mint_missing()


class Calls:
    """Gives every call a place and an id of its own, whatever the source says about either (E14)."""

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        self._new_call_id = new_call_id
        self._ids: dict[int, str] = {}  # our place → the source's id, "" as long as it gave none
        self._places: dict[object, int] = {}  # the source's index → our place
        self._named: set[int] = set()
        self._arguments: dict[int, Joiner] = {}
        self._last = -1

    def fragment(self, fragment: Json) -> CallDelta:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        id_, name = plain(fragment.get("id")), plain(function.get("name"))
        place = self._place(fragment.get("index"), id_, name)
        self._last = place
        # The name comes whole, once; sources that repeat it with every fragment are not taken for more of it.
        name = "" if place in self._named else name
        if name:
            self._named.add(place)
        fresh = id_ if not self._ids.get(place) and id_ not in self._ids.values() else ""
        self._ids[place] = self._ids.get(place) or fresh
        if len(self._ids) > MAX_CALLS:
            raise Endless(f"it makes more than {MAX_CALLS} tool calls")
        joiner = self._arguments.setdefault(place, Joiner())
        return CallDelta(place, fresh, name, joiner.take(_arguments(function.get("arguments"))))

    def mint_missing(self) -> Iterator[Part]:
        for place in sorted(self._ids):
            if not self._ids[place]:
                self._ids[place] = self._new_call_id()
                yield CallDelta(place, self._ids[place])

    def _place(self, index: object, id_: str, name: str) -> int:
        if isinstance(index, int):
            known = self._places.get(index)
            if known is None:
                place = index if index not in self._ids else self._next()
            elif name and known in self._named and self._is_another(known, id_):
                place = self._next()  # a second call under an index already taken
            else:
                return known
            self._places[index] = place
            return place
        if id_ and not name and id_ in self._ids.values():
            return next(place for place, known_id in self._ids.items() if known_id == id_)
        return self._next() if name or self._last < 0 else self._last

    def _is_another(self, place: int, id_: str) -> bool:
        """Whether a fragment that brings a name again begins another call; one that repeats the id does not."""
        had = self._ids.get(place)
        return not had or bool(id_ and id_ != had)

    def _next(self) -> int:
        return max(self._ids, default=-1) + 1


def usage_of(usage: Json) -> Usage:
    """Token counts in our terms: ``prompt`` includes what came from the cache, which is counted once (E47)."""
    details = usage.get("prompt_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    cached = cached or count(usage.get("prompt_cache_hit_tokens"))
    prompt = count(usage.get("prompt_tokens"))
    # More from the cache than there was in all: this source counts the two apart.
    prompt = prompt + cached if cached > prompt else prompt
    return Usage(prompt, count(usage.get("completion_tokens")), cached)


def _joined(parts: list[object], kind: str) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == kind:
            inner = part.get(kind)
            texts.append(_joined(inner, "text") if isinstance(inner, list) else plain(inner))
    return "".join(texts)


def _arguments(value: object) -> str:
    """Argument text; some sources send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
