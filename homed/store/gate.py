"""Who may use the file at once: in WAL anybody, with a rollback journal either the readers or the writer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import trio


class Gate(Protocol):
    """Entered around every read and every batch of writes."""

    def reading(self) -> AbstractAsyncContextManager[None]:
        """For one read."""
        ...

    def writing(self) -> AbstractAsyncContextManager[None]:
        """For one batch."""
        ...


class OpenGate:
    """Keeps nobody waiting: in WAL readers and the writer do not meet."""

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """See ``Gate``."""
        yield

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """See ``Gate``."""
        yield


class Turnstile:
    """Readers together, the writer alone, in the order of asking, so that neither starves.

    With a rollback journal SQLite would find this out too, by "busy" and by waiting; but a reader that holds its
    snapshot for longer than a connection's patience would fail the commit of everybody's messages.
    """

    def __init__(self, readers: int) -> None:
        """``readers``: the most reads at once."""
        self._readers = readers
        self._places = trio.Semaphore(readers, max_value=readers)
        self._order = trio.Lock()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """See ``Gate``.  Cancelled while waiting: nothing is held."""
        async with self._order:
            await self._places.acquire()
        try:
            yield
        finally:
            self._places.release()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """See ``Gate``.  Cancelled while waiting: nothing is held."""
        taken = 0
        try:
            async with self._order:
                while taken < self._readers:
                    await self._places.acquire()
                    taken += 1
            yield
        finally:
            for _ in range(taken):
                self._places.release()
