"""The adapter for Ollama's own API."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homed.clock import new_id
from homed.providers import ollama_request
from homed.providers.adapter import Native
from homed.providers.base import ChatRequest, Source
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.ollama_answer import OllamaDecoder
from homed.providers.options import Quirks
from homed.providers.shaping import as_bytes


class OllamaAdapter:
    """What to send and how to read it.  Pure but for the minting of ids."""

    def __init__(self, new_call_id: Callable[[], str] = lambda: new_id("call")) -> None:
        self._new_call_id = new_call_id

    def url(self, source: Source) -> str:
        """The chat endpoint."""
        return f"{api(source)}/api/chat"

    def headers(self, source: Source, key: str) -> Mapping[str, str]:
        """A server of one's own wants no key; the one in the cloud does."""
        return {"Content-Type": "application/json", "Accept": "application/x-ndjson, application/json"} | identity(
            source, key
        )

    def body(self, source: Source, request: ChatRequest) -> bytes:
        """The request as UTF-8 JSON."""
        return as_bytes(ollama_request.build(source, request))

    def decoder(self) -> OllamaDecoder:
        """A decoder for one answer."""
        return OllamaDecoder(self._new_call_id)


def api(source: Source) -> str:
    """The server; the base URL of its OpenAI-compatible side will do too."""
    return source.base_url.rstrip("/").removesuffix("/chat").removesuffix("/api").removesuffix("/v1").rstrip("/")


def identity(source: Source, key: str) -> dict[str, str]:
    """Who asks; the person's own headers last."""
    return {**({"Authorization": f"Bearer {key}"} if key else {}), **Quirks(source.options).headers()}


def ollama(source: Source, ports: HttpPorts) -> HttpProvider:
    """An Ollama server, ready to be asked."""
    return HttpProvider(source, Native(OllamaAdapter()), ports)
