"""A browser without a page: the application on a stand-in kernel, asked as the page's scripts ask."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from quart_trio import QuartTrio

from plugins.webui.context import Site
from plugins.webui.guard import Guard
from plugins.webui.web import create_app

from .standin import StandIn

COOKIE = "homed_session_8080"


class Answer:
    """Status, headers and body."""

    def __init__(self, status: int, headers: Any, body: str) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser:
    """Asks the application; ``session`` is the cookie it sends."""

    def __init__(self, app: QuartTrio, kernel: StandIn, session: str = "session-1") -> None:
        self.app, self.kernel, self.session = app, kernel, session

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """One request.  Header names with ``_`` for ``-``."""
        if body is None:
            return await self.send(method, path, None, **headers)
        return await self.send(
            method, path, json.dumps(body).encode(), **{"Content_Type": "application/json", **headers}
        )

    async def send(self, method: str, path: str, data: bytes | None, **headers: str) -> Answer:
        """One request with these bytes as its body."""
        given = {"Host": "localhost:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if method not in ("GET", "HEAD") and "Authorization" not in given:
            given.setdefault("Origin", "http://localhost:8080")
            if not given["Origin"]:
                del given["Origin"]
        if self.session:
            given["Cookie"] = f"{COOKIE}={self.session}" + (f"; {given['Cookie']}" if "Cookie" in given else "")
        client = self.app.test_client(use_cookies=False)
        response = await client.open(path, method=method, headers=given, data=data)  # type: ignore[call-arg]
        body = bytes(await response.get_data(as_text=False))
        return Answer(response.status_code, response.headers, body.decode("utf-8", "replace"))

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return await self.ask("POST", path, {} if body is None else body, **headers)


@asynccontextmanager
async def browsing(kernel: StandIn | None = None, *, guard: Guard | None = None) -> AsyncIterator[Browser]:
    """A logged-in browser."""
    kernel = kernel or StandIn()
    site = Site.build(kernel, kernel.hub, guard or Guard(), port=8080, folder=kernel.folder)
    async with trio.open_nursery() as nursery:
        kernel.nursery = nursery
        yield Browser(create_app(site), kernel)
        nursery.cancel_scope.cancel()
