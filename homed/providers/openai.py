"""The adapter for OpenAI's chat completions and everything that speaks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homed.clock import new_id
from homed.providers import openai_request
from homed.providers.adapter import Native
from homed.providers.base import ChatRequest, Source
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.openai_answer import AnswerDecoder
from homed.providers.options import Quirks
from homed.providers.shaping import as_bytes


class OpenAIAdapter:
    """What to send and how to read it.  Pure but for the minting of ids."""

    def __init__(self, new_call_id: Callable[[], str] = lambda: new_id("call")) -> None:
        self._new_call_id = new_call_id

    def url(self, source: Source) -> str:
        """The chat endpoint under the source's base URL."""
        return f"{source.base_url.rstrip('/')}/chat/completions"

    def headers(self, source: Source, key: str) -> Mapping[str, str]:
        """Without a key no Authorization is sent: local servers want none."""
        return {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"} | identity(
            source, key
        )

    def body(self, source: Source, request: ChatRequest) -> bytes:
        """The request as UTF-8 JSON."""
        return as_bytes(openai_request.build(source, request))

    def decoder(self) -> AnswerDecoder:
        """A decoder for one answer."""
        return AnswerDecoder(self._new_call_id)


def identity(source: Source, key: str) -> dict[str, str]:
    """Who asks; the person's own headers last."""
    return {**({"Authorization": f"Bearer {key}"} if key else {}), **Quirks(source.options).headers()}


def openai(source: Source, ports: HttpPorts) -> HttpProvider:
    """An OpenAI-compatible source, ready to be asked."""
    return HttpProvider(source, Native(OpenAIAdapter()), ports)
