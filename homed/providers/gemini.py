"""The adapter for Google's Gemini API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from homed.clock import new_id
from homed.providers import gemini_request
from homed.providers.adapter import Native
from homed.providers.base import ChatRequest, Source
from homed.providers.gemini_answer import GeminiDecoder
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.options import Quirks
from homed.providers.shaping import as_bytes

_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*$")


class GeminiAdapter:
    """What to send and how to read it.  Pure but for the minting of ids."""

    def __init__(self, new_call_id: Callable[[], str] = lambda: new_id("call")) -> None:
        self._new_call_id = new_call_id

    def url(self, source: Source) -> str:
        """The endpoint of the model; a stream is asked for as events."""
        model = source.model if "/" in source.model else f"models/{source.model}"
        how = "streamGenerateContent?alt=sse" if Quirks(source.options).on("stream") else "generateContent"
        return f"{api(source)}/{quote(model)}:{how}"

    def headers(self, source: Source, key: str) -> Mapping[str, str]:
        """The key goes in a header, never in the address, which logs keep."""
        return {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"} | identity(
            source, key
        )

    def body(self, source: Source, request: ChatRequest) -> bytes:
        """The request as UTF-8 JSON."""
        return as_bytes(gemini_request.build(source, request))

    def decoder(self) -> GeminiDecoder:
        """A decoder for one answer."""
        return GeminiDecoder(self._new_call_id)


def api(source: Source) -> str:
    """The base URL with its version; the one of the OpenAI-compatible side will do too."""
    base = source.base_url.rstrip("/").removesuffix("/openai")
    return base if _VERSION.search(base) else f"{base}/v1beta"


def identity(source: Source, key: str) -> dict[str, str]:
    """Who asks; the person's own headers last."""
    return {**({"x-goog-api-key": key} if key else {}), **Quirks(source.options).headers()}


def gemini(source: Source, ports: HttpPorts) -> HttpProvider:
    """A Gemini source, ready to be asked."""
    return HttpProvider(source, Native(GeminiAdapter()), ports)
