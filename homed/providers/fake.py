"""A provider without a network, for tests of everything above this room."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import trio

from homed.providers.base import ChatRequest, ContentDelta, Done, Part, ProviderError, Source

Step = Part | ProviderError | trio.Event
"""What a scripted answer consists of: parts, an error to fail with, an event to wait for."""


class FakeProvider:
    """Answers from a script, one list of steps a request; when it runs out it says ``default``.

    ``requests`` holds what it was asked; ``closed`` counts the streams that were left, also by cancellation.
    """

    def __init__(self, *answers: Iterable[Step] | str, source: Source | None = None, default: str = "ok") -> None:
        self._source = source or Source("fake", "http://fake.invalid/v1", "fake-1")
        self._answers = deque(answers)
        self._default = default
        self.requests: list[ChatRequest] = []
        self.closed = 0

    @property
    def source(self) -> Source:
        """What it pretends to be."""
        return self._source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``."""
        self.requests.append(request)
        answer = self._answers.popleft() if self._answers else self._default
        steps = (ContentDelta(answer), Done("stop")) if isinstance(answer, str) else answer
        try:
            yield _Steps(steps)
        finally:
            self.closed += 1


class _Steps:
    """Iterates the steps of one answer."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = iter(steps)

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        await trio.lowlevel.checkpoint()
        for step in self._steps:
            if isinstance(step, trio.Event):
                await step.wait()
            elif isinstance(step, ProviderError):
                raise step
            else:
                return step
        raise StopAsyncIteration
