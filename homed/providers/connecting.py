"""The HTTP client of the sources, and whoever asks with it: loaded when the first source is asked.

Two megabytes that a daemon can do without until somebody says something.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import trio

from homed.loading import load
from homed.providers.base import ChatRequest, Part, Provider, Source

if TYPE_CHECKING:
    import httpx2


class Connecting:
    """A client that is made for whoever wants it first.  Used inside ``open_connecting``."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._making = trio.Lock()
        self._client: httpx2.AsyncClient | None = None

    async def client(self) -> httpx2.AsyncClient:
        """The client.  What asks with it (``homed.providers.http``) is loaded then."""
        async with self._making:
            if self._client is None:
                await load("homed.providers.http")
                from homed.net import open_http

                self._client = await self._stack.enter_async_context(open_http())
            return self._client


@asynccontextmanager
async def open_connecting() -> AsyncIterator[Connecting]:
    """For the length of the block; what was connected is closed at its end."""
    async with AsyncExitStack() as stack:
        yield Connecting(stack)


class Late:
    """See ``Provider``: one that ``make`` makes of the client for its first question."""

    def __init__(self, source: Source, connecting: Connecting, make: Callable[[httpx2.AsyncClient], Provider]) -> None:
        self._source = source
        self._connecting = connecting
        self._make = make
        self._provider: Provider | None = None

    def __repr__(self) -> str:
        return f"Late({self._source.name!r})"

    @property
    def source(self) -> Source:
        """What it was configured with."""
        return self._source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``."""
        if self._provider is None:
            client = await self._connecting.client()
            self._provider = self._provider or self._make(client)
        async with self._provider.stream(request) as parts:
            yield parts
