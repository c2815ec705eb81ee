"""The body of an OpenAI chat answer as parts, whichever way it comes and however it is cut.  Sans-io and pure.

Whether it is a stream of events or one JSON object is told by its first character, not by what was asked for or by the
label: some gateways stream to a plain request, and some answer a streaming one whole (E16).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.base import CallDelta, ContentDelta, Done, Part, ReasoningDelta, Usage, UsagePart
from homed.providers.failures import BrokenOff, Endless, Reported, Unreadable
from homed.providers.sse import MAX_EVENT, ServerEvent, SseDecoder

Json = Mapping[str, object]

MAX_ANSWER = 512 * 1024
"""UTF-8 bytes of text, reasoning and arguments in one answer: far more than any model says, a bound for one that never
ends, and little enough to be shown to stage handlers in one wire line."""
MAX_CALLS = 64
"""Tool calls in one answer; each has a result to be stored and sent back, whether it ran or not."""


class AnswerDecoder:
    """``feed`` it the body's bytes, then ``end``; iterate what they return to the end.

    Raises Unreadable, Endless, Reported, BrokenOff; parts yielded before stay good.  Every call gets an id of its own,
    minted by ``new_call_id`` where the source gave none or the same twice (A14), and comes under a place of its own.
    """

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        self._sse: SseDecoder | None = None
        self._whole: list[bytes] | None = None
        self._size = 0
        self._told = 0
        self._calls = _Calls(new_call_id)
        self._reason = ""
        self._usage: Usage | None = None
        self._thought = _Joiner()
        self._content = _Joiner()
        self.finished = False
        """True once the last part is out; what still comes can be left unread."""

    def feed(self, chunk: bytes) -> Iterator[Part]:
        """Yield the parts that this chunk completes."""
        if self._sse is None and self._whole is None:
            chunk = chunk.lstrip()
            if not chunk:
                return
            self._begin(chunk)
        if self._whole is not None:
            self._size += len(chunk)
            if self._size > MAX_EVENT:
                raise Endless(f"it is larger than {MAX_EVENT} bytes")
            self._whole.append(chunk)
        elif self._sse is not None:
            for event in self._sse.feed(chunk):
                yield from self._event(event)

    def end(self) -> Iterator[Part]:
        """Yield what is left when the body has ended."""
        if self._whole is not None:
            yield from self._complete(b"".join(self._whole))
        elif self._sse is not None and not self.finished:
            for event in self._sse.end():
                try:
                    yield from self._event(event)
                except Unreadable as error:
                    raise BrokenOff from error
        if not self.finished:
            if not self._reason:
                raise BrokenOff
            yield from self._finish()

    def _begin(self, first: bytes) -> None:
        if first[:1] == b"<":
            raise Unreadable("it is a web page, not an API's answer")
        if first[:1] in (b"{", b"["):
            self._whole = []
        else:
            self._sse = SseDecoder()

    def _event(self, event: ServerEvent) -> Iterator[Part]:
        if self.finished:
            return
        if event.data.strip() == "[DONE]":
            yield from self._finish()
        elif event.data.strip():
            yield from self._chunk(_object(event.data), "delta")

    def _complete(self, raw: bytes) -> Iterator[Part]:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Unreadable("it is not UTF-8") from None
        yield from self._chunk(_object(text), "message")
        yield from self._finish()

    def _chunk(self, chunk: Json, holder: str) -> Iterator[Part]:
        if chunk.get("error"):
            raise Reported(chunk)
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = usage_of(usage)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return
        said = choice.get(holder) or choice.get("message") or choice.get("delta")
        if isinstance(said, Mapping):
            for part in self._said(said):
                self._weigh(part)
                yield part
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._reason = reason

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

    def _weigh(self, part: Part) -> None:
        match part:
            case ContentDelta(text) | ReasoningDelta(text):
                self._told += len(text.encode())
            case CallDelta(_, id_, name, arguments):
                self._told += len((id_ + name + arguments).encode())
        if self._told > MAX_ANSWER:
            raise Endless(f"it is longer than {MAX_ANSWER} bytes")

    def _finish(self) -> Iterator[Part]:
        yield from self._calls.mint_missing()
        if self._usage is not None:
            yield UsagePart(self._usage)
        yield Done(self._reason or "stop")
        self.finished = True


class _Joiner:
    """Text that comes in pieces, as text: a surrogate pair cut between two of them is joined again.

    A half that stays alone becomes U+FFFD: neither the store nor the wire takes it.
    """

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: object) -> str:
        """What ``piece`` completes; nothing for what is no text."""
        text = self._half + piece if isinstance(piece, str) else ""
        if not text:
            return ""
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        return text[: len(text) - len(self._half)].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Calls:
    """Gives every call a place and an id of its own, whatever the source says about either (E14)."""

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        self._new_call_id = new_call_id
        self._ids: dict[int, str] = {}  # our place → the source's id, "" as long as it gave none
        self._places: dict[object, int] = {}  # the source's index → our place
        self._named: set[int] = set()
        self._arguments: dict[int, _Joiner] = {}
        self._last = -1

    def fragment(self, fragment: Json) -> CallDelta:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        id_, name = _text(fragment.get("id")), _text(function.get("name"))
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
        joiner = self._arguments.setdefault(place, _Joiner())
        return CallDelta(place, fresh, name, joiner.take(_arguments(function.get("arguments"))))

    def mint_missing(self) -> Iterator[CallDelta]:
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
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    cached = cached or _count(usage.get("prompt_cache_hit_tokens"))
    prompt = _count(usage.get("prompt_tokens"))
    # More from the cache than there was in all: this source counts the two apart.
    prompt = prompt + cached if cached > prompt else prompt
    return Usage(prompt, _count(usage.get("completion_tokens")), cached)


def _object(text: str) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable(f"it is broken JSON: {text[:80]!r}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"it is not a JSON object: {text[:80]!r}")
    return value


def _joined(parts: list[object], kind: str) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == kind:
            inner = part.get(kind)
            texts.append(_joined(inner, "text") if isinstance(inner, list) else _text(inner))
    return "".join(texts)


def _arguments(value: object) -> str:
    """Argument text; some sources send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return _Joiner().take(value)


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 < value < 10**12 else 0
