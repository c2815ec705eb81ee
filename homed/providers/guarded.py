"""A source that learns from its refusals: quirks it names, the window it really has, a history it would not take.

What it would not take never goes out again as it was (A2): the calls of that history, with their results, are told in
words from then on.  All of it lasts as long as the source is set up as it is; the window is kept for good.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace

from homed.errors import HomedError
from homed.providers import shaping
from homed.providers.adjust import MOST, adjusted
from homed.providers.base import (
    ChatRequest,
    ErrorKind,
    Message,
    Part,
    Progress,
    Provider,
    ProviderError,
    Retrying,
    Source,
    User,
)

log = logging.getLogger(__name__)

REMEMBERED = 8192
"""Calls and pictures that a source would not take; of more the oldest are tried again."""

UNSHOWN = "[What was attached here cannot be shown to this model.]"


@dataclass(frozen=True, slots=True)
class GuardPorts:
    """``make``: a provider of a source; ``window``: what was learnt of it, or 0; ``learn``: keep it."""

    make: Callable[[Source], Provider]
    window: Callable[[], int]
    learn: Callable[[int], Awaitable[object]]


class Guarded:
    """See ``Provider``."""

    def __init__(self, source: Source, ports: GuardPorts) -> None:
        self._ports = ports
        self._source = source
        self._inner = ports.make(source)
        self._longest = 0
        self._refused: OrderedDict[str, None] = OrderedDict()
        self.adjustments: list[str] = []
        """What a person can set to make lasting what was found out."""

    def __repr__(self) -> str:
        return f"Guarded({self._source.name!r})"

    @property
    def source(self) -> Source:
        """The source as it is asked: with the window it really has, and without what it turned out not to take."""
        window = self._ports.window()
        return replace(self._source, context_window=window) if window else self._source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``."""
        answer = _Answer(self, request)
        try:
            yield answer
        finally:
            await answer.aclose()

    def open(self, request: ChatRequest) -> tuple[AbstractAsyncContextManager[AsyncIterator[Part]], int]:
        """Ask for what is left of ``request`` when everything that is known of the source has been left out; and how
        much was known then, for ``failed``."""
        return self._inner.stream(self.prepared(request)), len(self.adjustments)

    def prepared(self, request: ChatRequest) -> ChatRequest:
        """``request`` as this source takes it, as far as that is known."""
        messages = request.messages
        if self._refused or not self._source.tools:
            messages = shaping.in_words(messages, self._in_words)
        if not self._source.vision or not self._source.audio or self._refused:
            messages = tuple(self._shown(message) for message in messages)
        most = request.max_tokens and min(request.max_tokens, self._longest or request.max_tokens)
        tools = request.tools if self._source.tools else ()
        return replace(request, messages=messages, tools=tools, max_tokens=most)

    def _in_words(self, call_id: str) -> bool:
        return call_id in self._refused or not self._source.tools

    def _shown(self, message: Message) -> Message:
        if not isinstance(message, User):
            return message
        images = tuple(one for one in message.images if self._source.vision and _mark(one.data) not in self._refused)
        audio = tuple(one for one in message.audio if self._source.audio and _mark(one.data) not in self._refused)
        if (images, audio) == (message.images, message.audio):
            return message
        return replace(message, text=f"{message.text}\n{UNSHOWN}".strip(), images=images, audio=audio)

    async def failed(self, error: ProviderError, request: ChatRequest, tries: int, known: int) -> bool:
        """Learn from a failure before anything came; True when asking again, at once, is another question.

        ``known``: as ``open`` gave it.  What another answer has found out since makes it another one, too.
        """
        if error.kind is ErrorKind.CONTEXT_FULL and error.window:
            await self._learn(error.window)
            return False
        if len(self.adjustments) > known and tries < MOST and error.kind is ErrorKind.BAD_REQUEST:
            return True  # it is about how it was asked before: learnt from, it would undo what the other has learnt
        users = [message for message in request.messages if isinstance(message, User)]
        found = adjusted(
            self._source,
            error,
            shows=any(user.images for user in users),
            hears=any(user.audio for user in users),
            tools=bool(request.tools),
        )
        if found is not None and tries < MOST:
            log.warning("%s is asked differently from now on, since it said: %s", self._source.name, error.message)
            self.adjustments.append(found.setting)
            self._source = found.source
            self._longest = found.longest or self._longest
            self._inner = self._ports.make(found.source)
            return True
        if error.kind is ErrorKind.BAD_REQUEST and error.status in (400, 422) and not error.unparsed:
            self._refuse(request, users)
        return False

    def _refuse(self, request: ChatRequest, users: Iterable[User]) -> None:
        media = [one.data for user in users for one in user.images]
        media += [one.data for user in users for one in user.audio]
        marks = [*shaping.call_ids(request.messages), *map(_mark, media)]
        if marks:
            log.warning("%s refused a history; it goes in other words from now on", self._source.name)
        for mark in marks:
            self._refused[mark] = None
        while len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)

    async def _learn(self, window: int) -> None:
        if window >= self.source.context_window:
            return
        log.warning("%s takes %d tokens, not %d", self._source.name, window, self._source.context_window)
        try:
            await self._ports.learn(window)
        except HomedError as error:  # the refusal itself is what the turn must hear of
            log.warning("the window of %s could not be kept: %s", self._source.name, error.message)


class _Answer:
    """Iterates one answer; opens the stream again when the source was asked in a way it does not take."""

    def __init__(self, guarded: Guarded, request: ChatRequest) -> None:
        self._guarded = guarded
        self._request = request
        self._stream: AbstractAsyncContextManager[AsyncIterator[Part]] | None = None
        self._parts: AsyncIterator[Part] | None = None
        self._shown = False
        self._tries = 0
        self._known = 0

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        """The next part; see ``Provider.stream``."""
        while True:
            try:
                if self._parts is None:
                    self._stream, self._known = self._guarded.open(self._request)
                    self._parts = await self._stream.__aenter__()
                part = await anext(self._parts)
            except ProviderError as error:
                failed = error
            else:
                self._shown = self._shown or not isinstance(part, Retrying | Progress)
                return part
            if self._shown or not await self._guarded.failed(failed, self._request, self._tries, self._known):
                raise failed
            self._tries += 1
            await self.aclose()

    async def aclose(self) -> None:
        """Close the stream that is open."""
        stream, self._stream, self._parts = self._stream, None, None
        if stream is not None:
            await stream.__aexit__(None, None, None)


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
