"""The daemon's way to the network: HTTP clients that behave alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
import trio


@asynccontextmanager
async def open_http(transport: httpx2.AsyncBaseTransport | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for the length of the block.  Proxies of the environment are used, but never for this machine itself."""
    async with httpx2.AsyncClient(transport=transport or _Late(), follow_redirects=False, cookies=_none()) as client:
        yield client


def _none() -> CookieJar:
    """Keeps nothing: a cookie knows no port, so that of one server on this machine would go to all of them."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _connecting() -> httpx2.AsyncClient:
    direct: dict[str, httpx2.AsyncBaseTransport | None] = {
        f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")
    }
    # No pool limit: whoever asks has its own limit on concurrent requests.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=30)
    return httpx2.AsyncClient(limits=limits, mounts=direct, follow_redirects=False, cookies=_none())


class _Late(httpx2.AsyncBaseTransport):
    """Passes requests on to what connects, which is made in a thread for the first of them.

    Connections, HTTP/2 and the machine's certificates are 60 ms and 4 MB that no start has to wait for, and that a
    daemon with nothing but its built-in model never needs.
    """

    def __init__(self) -> None:
        self._making = trio.Lock()
        self._client: httpx2.AsyncClient | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, its body not read yet."""
        async with self._making:
            if self._client is None:
                self._client = await trio.to_thread.run_sync(_connecting)
        return await self._client.send(request, stream=True, auth=httpx2.Auth())  # it has its headers already

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
