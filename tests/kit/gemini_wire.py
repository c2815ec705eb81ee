"""Gemini's generateContent and streamGenerateContent as a wire of the fake server.  Pure.

Sources: ai.google.dev (GenerateContent and its response, "List models", "API key"), see ``gemini_rules``.  A stream is
server-sent events with ``alt=sse`` and one growing JSON array without.  ``promptTokenCount`` includes what came from
the cache, ``candidatesTokenCount`` leaves out the thoughts (fault E47).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.kit import gemini_rules as rules
from tests.kit.fake_script import Asked, Json, objects
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Refused, Unit, signature

_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_CHAT = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")


class GeminiWire:
    """See ``fake_wire.Wire``."""

    name = "gemini"
    base = "/v1beta"
    stream_type = "text/event-stream"

    def contract(self) -> Contract:
        return Contract(key="AIza-fake-0123456789abcdef01234567890", context=1_048_576, vision=True, cache_unit=1)

    def is_chat(self, path: str) -> bool:
        return bool(_CHAT.fullmatch(path))

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        given = request.headers.get("x-goog-api-key") or request.query.get("key", "")
        if contract.key and not given:
            raise Refused(
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key"
                " or other form of API consumer identity to call this API.",
                status=403,
            )
        if contract.key and given != contract.key:
            info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            raise Refused("API key not valid. Please pass a valid API key.", details=(info,))
        if request.method == "GET" and request.path == f"{self.base}/models":
            return _models(contract, request)
        found = _CHAT.fullmatch(request.path)
        if request.method != "POST" or not found:
            raise Refused("Requested entity was not found.", status=404)
        if contract.models and found[1] not in contract.models:
            raise Refused(
                f"models/{found[1]} is not found for API version v1beta, or is not supported for generateContent. Call"
                " ListModels to see the list of available models and their supported methods.",
                status=404,
            )
        return None

    def parse(self, raw: bytes) -> dict[str, object]:
        return rules.parse(raw)

    def plain(self, contract: Contract, request: Incoming, body: Json) -> object | None:
        return None

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        rules.check(contract, ledger, body)

    def streamed(self, request: Incoming, body: Json) -> bool:
        return request.path.endswith(":streamGenerateContent")

    def asked(self, body: Json) -> Asked:
        contents = objects(body.get("contents"))
        place = max((i for i, c in enumerate(contents) if c.get("role") != "model" and _said(c)), default=-1)
        answers = [p["functionResponse"] for c in contents for p in objects(c.get("parts")) if "functionResponse" in p]
        after = contents[place + 1 :]
        return Asked(
            _said(contents[place]) if contents else "",
            _result(answers[-1]) if answers else "",
            sum(c.get("role") == "model" for c in after),
        )

    def units(self, body: Json) -> list[Unit]:
        return rules.units(body)

    def whole(self, exchange: Exchange) -> bytes:
        parts = [part for _, part in _parts(exchange, 10**9)]
        return _json(_chunk(exchange, parts, last=True))

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        values = self._values(exchange)
        if exchange.query.get("alt") == "sse":
            for value in values:
                if exchange.reply.keepalive:
                    yield b": keep-alive\n\n"
                yield b"data: " + _json(value) + b"\r\n\r\n"
            return
        for n, value in enumerate(values):
            yield (b",\r\n" if n else b"[") + _json(value)
        yield b"]\n"

    def _values(self, exchange: Exchange) -> Iterator[object]:
        reply = exchange.reply
        parts = list(_parts(exchange, reply.chunk))
        for n, (_, part) in enumerate(parts):
            if n == reply.error_after:
                yield self.error(Refused(reply.message or "The model is overloaded.", status=503))
                return
            yield _chunk(exchange, [part], last=False)
        if reply.done:
            yield _chunk(exchange, [], last=True)

    def error(self, refused: Refused) -> object:
        error: dict[str, object] = {
            "code": refused.status, "message": refused.message, "status": _STATUS.get(refused.status, "UNKNOWN"),
        }  # fmt: skip
        return {"error": {**error, "details": list(refused.details)} if refused.details else error}


def _said(content: Json) -> str:
    return "".join(str(part.get("text", "")) for part in objects(content.get("parts")))


def _result(answer: object) -> str:
    """The text of a result, whatever field of the object it stands in."""
    response = answer.get("response") if isinstance(answer, dict) else None
    return "".join(str(value) for value in response.values()) if isinstance(response, dict) else ""


def _models(contract: Contract, request: Incoming) -> object:
    start = int(request.query.get("pageToken") or 0)
    size = min(int(request.query.get("pageSize") or 50), contract.page)
    shown = contract.models[start : start + size]
    listed = [
        {"name": f"models/{name}", "displayName": name.title(), "inputTokenLimit": contract.context,
         "outputTokenLimit": 8192, "supportedGenerationMethods": ["generateContent", "countTokens"],
         "thinking": contract.thinks}
        for name in shown
    ]  # fmt: skip
    more = {"nextPageToken": str(start + size)} if start + size < len(contract.models) else {}
    return {"models": listed, **more}


def _parts(exchange: Exchange, chunk: int) -> Iterator[tuple[str, dict[str, object]]]:
    """The parts of the answer in pieces of ``chunk`` characters; calls are always whole."""
    reply = exchange.reply
    for i in range(0, len(reply.think), chunk):
        yield "thought", {"text": reply.think[i : i + chunk], "thought": True}
    for i in range(0, len(reply.say), chunk):
        yield "text", {"text": reply.say[i : i + chunk]}
    for i, call in enumerate(reply.calls):
        if call.raw is None:
            yield "call", _call(exchange, i)
    if reply.think and not reply.calls:  # without calls the signature comes with the last part, which may be empty
        yield "text", {"text": "", "thoughtSignature": signature("text", exchange.number)}


def _call(exchange: Exchange, place: int) -> dict[str, object]:
    reply, contract = exchange.reply, exchange.contract
    call = reply.calls[place]
    function: dict[str, object] = {"name": call.name, "args": dict(call.args)}
    if (id_ := reply.call_id(place, "")) or reply.ids == "empty":
        function["id"] = id_
    part: dict[str, object] = {"functionCall": function}
    if contract.signatures == "each" or (contract.signatures == "first" and place == 0):
        mark = signature("call", exchange.number, place)
        exchange.ledger.signatures[mark] = rules.signed_call(call.name, dict(call.args))
        part["thoughtSignature"] = mark
    return part


def _chunk(exchange: Exchange, parts: list[dict[str, object]], *, last: bool) -> dict[str, object]:
    reply = exchange.reply
    made: dict[str, object] = {"modelVersion": "fake-1", "responseId": f"resp-{exchange.number}"}
    if reply.blocked:
        made["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    else:
        candidate: dict[str, object] = {"content": {"role": "model", **({"parts": parts} if parts else {})}, "index": 0}
        if last:
            candidate["finishReason"] = reply.finish or "STOP"
            if broken := [call.arguments for call in reply.calls if call.raw is not None]:
                candidate |= {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": f"Malformed: {broken[0]}"}
        made["candidates"] = [candidate]
    if reply.usage:
        made["usageMetadata"] = _usage(exchange)
    return made


def _usage(exchange: Exchange) -> dict[str, object]:
    prompt, said = exchange.prompt, exchange.completion - exchange.thought
    used: dict[str, object] = {
        "promptTokenCount": prompt.tokens, "candidatesTokenCount": said,
        "totalTokenCount": prompt.tokens + exchange.completion,
    }  # fmt: skip
    if exchange.thought:
        used["thoughtsTokenCount"] = exchange.thought
    if prompt.cached:
        used["cachedContentTokenCount"] = prompt.cached
    return used


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
