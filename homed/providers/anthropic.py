"""The adapter for Anthropic's Messages API and what speaks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homed.clock import new_id
from homed.providers import anthropic_request
from homed.providers.adapter import Native
from homed.providers.anthropic_answer import AnthropicDecoder
from homed.providers.base import ChatRequest, Source
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.options import Quirks
from homed.providers.shaping import as_bytes


class AnthropicAdapter:
    """What to send and how to read it.  Pure but for the minting of ids."""

    def __init__(self, new_call_id: Callable[[], str] = lambda: new_id("call")) -> None:
        self._new_call_id = new_call_id

    def url(self, source: Source) -> str:
        """The messages endpoint, with a base URL that ends in ``/v1`` or does not."""
        return f"{api(source)}/messages"

    def headers(self, source: Source, key: str) -> Mapping[str, str]:
        """The key goes in a header of its own; a gateway that wants another one has it in ``headers``."""
        return {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"} | identity(
            source, key
        )

    def body(self, source: Source, request: ChatRequest) -> bytes:
        """The request as UTF-8 JSON."""
        return as_bytes(anthropic_request.build(source, request))

    def decoder(self) -> AnthropicDecoder:
        """A decoder for one answer."""
        return AnthropicDecoder(self._new_call_id)


def api(source: Source) -> str:
    """The base URL with its version."""
    base = source.base_url.rstrip("/").removesuffix("/messages")
    return base if base.endswith("/v1") else f"{base}/v1"


def identity(source: Source, key: str) -> dict[str, str]:
    """Who asks, and for which release of the API; the person's own headers last."""
    quirks = Quirks(source.options)
    betas = {"anthropic-beta": quirks.text("betas")} if quirks.text("betas") else {}
    return {
        **({"x-api-key": key} if key else {}), "anthropic-version": quirks.text("version"), **betas, **quirks.headers(),
    }  # fmt: skip


def anthropic(source: Source, ports: HttpPorts) -> HttpProvider:
    """A source that speaks the Messages API, ready to be asked."""
    return HttpProvider(source, Native(AnthropicAdapter()), ports)
