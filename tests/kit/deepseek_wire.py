"""DeepSeek's chat completions as a wire of the fake server: OpenAI's shape, another strictness.  Pure.

Whether what comes back is what was sent is not checked: nothing says that the real server does.
Sources: api-docs.deepseek.com "Thinking mode" (reasoning_content of every turn with tool calls goes back whole, else
400; "may be empty, may not be missing" is what its users found: deepseek-ai/deepseek-harness discussion 739), "Error
codes" (401, 402, 422, 429, 500, 503), "Context caching", and "Rate limit" (a waiting request gets empty lines, or
``: keep-alive`` comments when it streams).  The words of the deserialiser: faults.md A4.  Older ``deepseek-reasoner``:
"Reasoning model" of 2025 (the field must not be in the input; successive messages of one role are refused).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.kit import openai_rules as rules
from tests.kit.fake_script import Json, objects
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Refused, tokens_in
from tests.kit.openai_script import events, json_body, minted, usage_of
from tests.kit.openai_wire import OpenAIWire

_EXTRA = frozenset({"thinking", "logprobs", "top_logprobs"})
_KINDS = {400: "invalid_request_error", 401: "authentication_error", 402: "unknown_error", 429: "rate_limit_error"}


class DeepSeekWire(OpenAIWire):
    """See ``fake_wire.Wire``.  ``Contract.reasoning``: required (since 2026) or forbidden (the older reasoner)."""

    name = "deepseek"
    base = ""

    def contract(self) -> Contract:
        return Contract(reasoning="required", cache_min=64, cache_unit=64)

    def is_chat(self, path: str) -> bool:
        return path.removeprefix("/v1") == "/chat/completions"

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        given = request.headers.get("authorization", "").removeprefix("Bearer").strip()
        if contract.key and given != contract.key:
            shown = f"****{given[-4:]}"
            raise Refused(
                f"Authentication Fails, Your api key: {shown} is invalid", code="invalid_request_error", status=401
            )
        if request.method == "GET" and request.path.removeprefix("/v1") == "/models":
            return {
                "object": "list",
                "data": [{"id": m, "object": "model", "owned_by": "fake"} for m in contract.models],
            }
        if request.method != "POST" or not self.is_chat(request.path):
            raise Refused("Not Found", status=404)
        return None

    def parse(self, raw: bytes) -> dict[str, object]:
        try:
            return rules.parse(raw)
        except Refused:
            message = "Failed to parse the request body as JSON: expected value at line 1 column 1"
            raise Refused(message, code="invalid_request_error") from None

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        known = {key: value for key, value in body.items() if key not in _EXTRA}
        if contract.models and body.get("model") not in contract.models:
            raise Refused("Model Not Exist", code="invalid_request_error")
        messages = objects(body.get("messages"))
        _check_shapes(messages)
        without = {**known, "messages": [_without_reasoning(m) for m in messages]}
        try:
            rules.check(Contract(contract.key, contract.models, 10**9, vision=True), without)
        except Refused as refused:
            told = refused.message.partition(" The following tool_call_ids did not")
            message = f"{told[0]} (insufficient tool messages following tool_calls message)" if told[1] else told[0]
            raise Refused(message, code="invalid_request_error", status=refused.status) from None
        if contract.reasoning == "required":
            _check_returned(ledger, messages)
        if contract.reasoning == "forbidden":
            _check_old(messages)
        _check_length(contract, body)

    def whole(self, exchange: Exchange) -> bytes:
        _remember(exchange)
        body = json_body(exchange.reply, exchange.body, exchange.number, _usage(exchange))
        return b"\n\n\n" + body if exchange.reply.keepalive else body

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        _remember(exchange)
        return events(exchange.reply, exchange.body, exchange.number, _usage(exchange))

    def error(self, refused: Refused) -> object:
        kind = _KINDS.get(refused.status, "api_error")
        return {"error": {"message": refused.message, "type": kind, "param": None, "code": refused.code}}


def _usage(exchange: Exchange) -> Json:
    prompt = exchange.prompt
    return {
        **usage_of(exchange),
        "prompt_cache_hit_tokens": prompt.cached,
        "prompt_cache_miss_tokens": prompt.tokens - prompt.cached,
    }


def _remember(exchange: Exchange) -> None:
    for place in range(len(exchange.reply.calls)):
        id_ = exchange.reply.call_id(place, minted(exchange.number, place))
        if id_:
            exchange.ledger.calls[id_] = exchange.reply.think


def _without_reasoning(message: Json) -> Json:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _check_shapes(messages: Sequence[Json]) -> None:
    """What its deserialiser refuses before anything is understood (faults A4 and E17)."""
    start = "Failed to deserialize the JSON body into the target type: messages"
    for i, message in enumerate(messages):
        if message.get("role") == "tool" and "tool_call_id" not in message:
            raise _unread(f"{start}[{i}]: missing field `tool_call_id` at line 1 column 1")
        content = message.get("content")
        for part in objects(content):
            if part.get("type") != "text":
                raise _unread(f"{start}[{i}]: unknown variant `{part.get('type')}`, expected `text` at line 1 column 1")
        for call in objects(message.get("tool_calls")):
            function = call.get("function")
            if isinstance(function, Mapping) and not isinstance(function.get("arguments"), str):
                raise _unread(f"{start}[{i}]: invalid type: map, expected a string at line 1 column 1")


def _unread(message: str) -> Refused:
    return Refused(message, code="invalid_request_error")


def _check_returned(ledger: Ledger, messages: Sequence[Json]) -> None:
    for message in messages:
        for call in objects(message.get("tool_calls")):
            sent = ledger.calls.get(str(call.get("id")))
            back = message.get("reasoning_content")
            if back is None or (sent and not back):
                raise Refused(
                    "The `reasoning_content` in the thinking mode must be passed back to the API.",
                    code="invalid_request_error",
                )


def _check_old(messages: Sequence[Json]) -> None:
    last = ""
    for i, message in enumerate(messages):
        if "reasoning_content" in message:
            raise Refused(
                "The reasoning_content is not allowed in the input messages of deepseek-reasoner.",
                code="invalid_request_error",
            )
        role = str(message.get("role"))
        if role == last and role in ("user", "assistant"):
            raise Refused(
                f"deepseek-reasoner does not support successive user or assistant messages (messages[{i - 1}] and"
                f" messages[{i}] in your input). You should interleave the user/assistant messages in the message"
                " sequence.",
                code="invalid_request_error",
            )
        last = role


def _check_length(contract: Contract, body: Json) -> None:
    count = tokens_in("".join(unit.text for unit in rules.units(body)))
    limit = body.get("max_tokens")
    wanted = limit if isinstance(limit, int) else 0
    if count + wanted > contract.context:
        raise Refused(
            f"This model's maximum context length is {contract.context} tokens. However, you requested"
            f" {count + wanted} tokens ({count} in the messages, {wanted} in the completion). Please reduce the length"
            " of the messages or completion.",
            code="invalid_request_error",
        )
