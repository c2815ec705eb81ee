"""The daemon's way to the network: HTTP clients that behave alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2


@asynccontextmanager
async def open_http(transport: httpx2.AsyncBaseTransport | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for the length of the block.  Proxies of the environment are used, but never for this machine itself."""
    direct: dict[str, httpx2.AsyncBaseTransport | None] = {
        f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")
    }
    # No pool limit: whoever asks has its own limit on concurrent requests.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=30)
    async with httpx2.AsyncClient(
        limits=limits, transport=transport, mounts=None if transport else direct, follow_redirects=False
    ) as client:
        yield client
