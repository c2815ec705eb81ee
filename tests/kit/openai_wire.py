"""OpenAI's chat completions as a wire of the fake server.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit import openai_rules as rules
from tests.kit.fake_script import Asked, Json, objects, texts
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Refused, Unit
from tests.kit.openai_script import events, json_body, usage_of


class OpenAIWire:
    """See ``fake_wire.Wire``."""

    name = "openai"
    base = "/v1"
    stream_type = "text/event-stream"

    def contract(self) -> Contract:
        return Contract()

    def is_chat(self, path: str) -> bool:
        return path == f"{self.base}/chat/completions"

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        rules.check_key(contract, request.headers.get("authorization", ""))
        if request.method == "GET" and request.path == f"{self.base}/models":
            listed = [{"id": m, "object": "model", "created": 1, "owned_by": "fake"} for m in contract.models]
            return {"object": "list", "data": listed}
        if request.method != "POST" or not self.is_chat(request.path):
            raise Refused(f"Invalid URL ({request.method} {request.path})", status=404)
        return None

    def parse(self, raw: bytes) -> dict[str, object]:
        return rules.parse(raw)

    def plain(self, contract: Contract, request: Incoming, body: Json) -> object | None:
        return None

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        rules.check(contract, body)

    def streamed(self, request: Incoming, body: Json) -> bool:
        return body.get("stream") is True

    def asked(self, body: Json) -> Asked:
        return asked(body)

    def units(self, body: Json) -> list[Unit]:
        return rules.units(body)

    def whole(self, exchange: Exchange) -> bytes:
        return json_body(exchange.reply, exchange.body, exchange.number, usage_of(exchange))

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        return events(exchange.reply, exchange.body, exchange.number, usage_of(exchange))

    def error(self, refused: Refused) -> object:
        kind = "invalid_request_error" if refused.status < 500 else "server_error"
        if refused.status == 429:
            kind = "requests"
        return {"error": {"message": refused.message, "type": kind, "param": refused.param, "code": refused.code}}


def asked(body: Json) -> Asked:
    """What of an OpenAI-shaped request chooses the answer (Ollama's has the same shape there)."""
    messages = objects(body.get("messages"))
    place = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    tool = next((texts(m.get("content")) for m in reversed(messages) if m.get("role") == "tool"), "")
    user = texts(messages[place].get("content")) if place >= 0 else ""
    return Asked(user, tool, sum(m.get("role") == "assistant" for m in messages[place + 1 :]))
