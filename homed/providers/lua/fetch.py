"""HTTP for a script: done by homed, bounded, and to the source's own server only."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx2
import trio

from homed.errors import InvalidInput, Unavailable
from homed.providers.base import Source
from homed.providers.lua import request as requests

LIMIT = 15.0
"""Seconds for one request of a script."""
MAX_BODY = 1 << 20
"""Bytes of an answer, and of what is sent."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Serves ``http_get`` (url, headers) and ``http_post`` (url, body, headers) for one source."""

    client: httpx2.AsyncClient
    source: Source
    key: str = field(repr=False)

    async def serve(self, name: str, given: Sequence[Any]) -> object:
        """``status``, ``headers`` (names in small letters) and ``body`` of the answer.

        Raises HomedError for another server, headers that cannot be, a body over ``MAX_BODY``, or no answer in time.
        """
        arguments = [*given, None, None, None]
        url, body, said = (arguments[0], "", arguments[1]) if name == "http_get" else arguments[:3]
        try:
            address = requests.same_place(self.source, url)
            headers = requests.with_key(requests.headers(said or {}), self.key)
        except requests.Wrong as error:
            raise InvalidInput(f"{name}: {error}.") from error
        if not isinstance(body, str) or len(body) > MAX_BODY:
            raise InvalidInput(f"{name}: the body is a text of at most {MAX_BODY} bytes.")
        try:
            with trio.fail_after(LIMIT):
                return await self._ask("GET" if name == "http_get" else "POST", address, headers, body)
        except trio.TooSlowError:
            raise Unavailable(f"{name}: no answer within {LIMIT:g} s.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
            raise Unavailable(f"{name}: {type(error).__name__}.") from None

    async def _ask(self, method: str, url: str, headers: dict[str, str], body: str) -> object:
        content = body.encode("utf-8", "replace") or None
        async with self.client.stream(method, url, headers=headers, content=content) as response:
            raw = bytearray()
            async with aclosing(response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    raw += chunk
                    if len(raw) > MAX_BODY:
                        raise InvalidInput(f"The answer is over {MAX_BODY} bytes.")
            said = {name.lower(): self._clean(value) for name, value in response.headers.items()}
            body = self._clean(raw.decode("utf-8", "replace"))
            return {"status": response.status_code, "headers": said, "body": body}

    def _clean(self, text: str) -> str:
        """Without the key: some servers repeat it."""
        return text.replace(self.key, requests.KEY) if self.key else text
