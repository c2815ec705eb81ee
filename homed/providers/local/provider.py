"""A local model as a ``Provider``."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from homed.providers import pairing
from homed.providers.base import ChatRequest, ErrorKind, Part, ProviderError, Source
from homed.providers.local.engine import Engine
from homed.providers.local.job import Job
from homed.providers.local.request import body_of

log = logging.getLogger(__name__)


class LocalProvider:
    """Asks one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def source(self) -> Source:
        """What it was configured with."""
        return self._engine.source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``.  Waits its turn; leaving never waits, the model is freed behind the caller's back.

        Before the answer come ``Progress`` parts, when loading or reading takes long enough to be told.
        """
        repaired = pairing.repair(request.messages)
        for note in repaired.notes:
            log.warning("history for %s repaired: %s", self.source.name, note)
        if problems := pairing.check(repaired.messages):
            raise ProviderError(ErrorKind.BAD_REQUEST, f"The history cannot be sent: {problems[0]}.")
        sent = ChatRequest(repaired.messages, request.tools, request.max_tokens, request.temperature)
        job = Job(body_of(self.source, sent), self._engine.where)
        self._engine.submit(job)
        try:
            yield _Parts(job)
        finally:
            self._engine.abandon(job)
            job.parts.close()


class _Parts:
    """Iterates the parts of one answer."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        """The next part.  Cancelled: none is lost."""
        try:
            return await self._job.parts.receive()
        except trio.EndOfChannel:
            if self._job.failure is not None:
                raise self._job.failure from None
            raise StopAsyncIteration from None
