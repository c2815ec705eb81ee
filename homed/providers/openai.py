"""The adapter for OpenAI's chat completions and everything that speaks them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from homed.clock import new_id
from homed.providers import openai_request
from homed.providers.base import ChatRequest, ProviderError, Source, User
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.openai_answer import AnswerDecoder

UNREADABLE_CALL = "error parsing tool call"
"""What some servers answer (HTTP 500) when their model wrote a tool call with broken JSON (A15)."""

ADVICE = (
    "[The last answer could not be read: its tool call was not valid JSON. Write the arguments as one complete JSON"
    " object.]"
)


class OpenAIAdapter:
    """What to send and how to read it.  Pure but for the minting of ids."""

    def __init__(self, new_call_id: Callable[[], str] = lambda: new_id("call")) -> None:
        self._new_call_id = new_call_id

    def url(self, source: Source) -> str:
        """The chat endpoint under the source's base URL."""
        return f"{source.base_url.rstrip('/')}/chat/completions"

    def headers(self, source: Source, key: str) -> Mapping[str, str]:
        """Without a key no Authorization is sent: local servers want none."""
        extra = source.options.get("headers")
        own = {str(k): str(v) for k, v in extra.items()} if isinstance(extra, Mapping) else {}
        auth = {"Authorization": f"Bearer {key}"} if key else {}
        return {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **auth, **own}

    def body(self, source: Source, request: ChatRequest) -> bytes:
        """The request as UTF-8 JSON."""
        text = json.dumps(openai_request.build(source, request), ensure_ascii=False, separators=(",", ":"))
        # A lone surrogate in the text is no UTF-8; it goes out as a question mark rather than failing the turn.
        return text.encode("utf-8", "replace")

    def decoder(self) -> AnswerDecoder:
        """A decoder for one answer."""
        return AnswerDecoder(self._new_call_id)

    def amended(self, request: ChatRequest, error: ProviderError) -> ChatRequest:
        """A model whose call could not be parsed is told so on the one retry there is; else nothing changes."""
        if UNREADABLE_CALL not in error.message:
            return request
        return replace(request, messages=(*request.messages, User(ADVICE)))


def openai(source: Source, ports: HttpPorts) -> HttpProvider:
    """An OpenAI-compatible source, ready to be asked."""
    return HttpProvider(source, OpenAIAdapter(), ports)
