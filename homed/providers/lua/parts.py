"""What a script read in an answer, as parts; the same bounds and repairs as for the native adapters.  Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from homed.providers.answers import MAX_ANSWER, Joiner, Json, count, kept, plain, worded
from homed.providers.base import CallDelta, ContentDelta, Done, Opaque, Part, ReasoningDelta, Usage, UsagePart
from homed.providers.failures import BrokenOff, Endless, Reported
from homed.providers.lua.request import Wrong
from homed.providers.openai_answer import Calls

LONGEST_WIRE = 100
"""Characters of the name by which a script calls what its source wants back."""


class Reading:
    """Takes the parts a script made of one answer, in order.  ``wire`` names what it calls its own among opaque data.

    ``take`` and ``finish`` raise Wrong for what is no part, Reported for an error the source sent, Endless, BrokenOff;
    parts yielded before stay good.
    """

    def __init__(self, wire: str, new_call_id: Callable[[], str]) -> None:
        self._wire = wire
        self._calls = Calls(new_call_id)
        self._content, self._thought = Joiner(), Joiner()
        self._told = 0
        self._usage: Usage | None = None
        self._opaque: Opaque | None = None
        self.finished = False
        """True once the last part is out."""

    def take(self, said: object) -> Iterator[Part]:
        """The parts in one list of a script."""
        if not isinstance(said, list):
            raise Wrong("it gave no list of parts")
        for one in said:
            if self.finished:
                return
            if not isinstance(one, Mapping):
                raise Wrong("a part is no table")
            yield from self._one(one)

    def finish(self, reason: str = "") -> Iterator[Part]:
        """The body has ended: BrokenOff unless the last part came, or ``reason`` says that it was all."""
        if self.finished:
            return
        if not reason:
            raise BrokenOff
        yield from self._done(reason)

    def _one(self, part: Json) -> Iterator[Part]:
        match part.get("type"):
            case "content":
                yield from self._weighed(ContentDelta(self._content.take(part.get("text"))))
            case "reasoning":
                yield from self._weighed(ReasoningDelta(self._thought.take(part.get("text"))))
            case "call":
                yield from self._call(part)
            case "usage":
                self._usage = _usage(part)
            case "opaque":
                wire = plain(part.get("wire"))[:LONGEST_WIRE] or self._wire
                self._opaque = next(kept(wire, _value(part.get("data"))), None)
            case "done":
                yield from self._done(worded(part.get("reason")))
            case "error":
                body = part.get("body")
                raise Reported(body if isinstance(body, Mapping) else {"error": {"message": part.get("message")}})
            case other:
                raise Wrong(f"there is no part of the type {str(other)[:40]!r}")

    def _call(self, part: Json) -> Iterator[Part]:
        function = {"name": part.get("name"), "arguments": part.get("arguments")}
        index = part.get("index")
        place = index if isinstance(index, int) and not isinstance(index, bool) else None
        yield from self._weighed(self._calls.fragment({"index": place, "id": part.get("id"), "function": function}))

    def _done(self, reason: str) -> Iterator[Part]:
        yield from self._calls.mint_missing()
        if self._opaque is not None:
            yield self._opaque
        if self._usage is not None:
            yield UsagePart(self._usage)
        yield Done(reason)
        self.finished = True

    def _weighed(self, part: ContentDelta | ReasoningDelta | CallDelta) -> Iterator[Part]:
        if isinstance(part, CallDelta):
            self._told += len((part.id + part.name + part.arguments).encode())
        elif not part.text:
            return
        else:
            self._told += len(part.text.encode())
        if self._told > MAX_ANSWER:
            raise Endless(f"it is longer than {MAX_ANSWER} bytes")
        yield part


def _usage(part: Json) -> Usage:
    """``prompt`` includes ``cached``; one that says otherwise has counted them apart."""
    prompt, cached = count(part.get("prompt")), count(part.get("cached"))
    return Usage(prompt + cached if cached > prompt else prompt, count(part.get("completion")), cached)


def _value(data: object) -> object:
    """What was given as JSON text is the value in it: the text is made by us either way."""
    if not isinstance(data, str):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data
