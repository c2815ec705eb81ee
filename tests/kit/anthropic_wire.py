"""Anthropic's Messages API as a wire of the fake server.  Pure.

Sources: platform.claude.com "Messages", "Streaming messages" (message_start, content_block_start/delta/stop,
message_delta, message_stop, ping, error events), "List models", "Errors" (types by status, 529 overloaded_error).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.kit import anthropic_rules as rules
from tests.kit.anthropic_thoughts import SIGNED, sealed, signed
from tests.kit.fake_script import Asked, Json, Reply, objects, texts
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Refused, Unit

_KINDS = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
_WHEN = "2026-01-01T00:00:00Z"


class AnthropicWire:
    """See ``fake_wire.Wire``."""

    name = "anthropic"
    base = "/v1"
    stream_type = "text/event-stream"

    def contract(self) -> Contract:
        return Contract(key="sk-ant-fake-0123456789abcdef", context=200_000, vision=True)

    def is_chat(self, path: str) -> bool:
        return path == "/v1/messages"

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        rules.check_head(contract, request.headers)
        if request.method == "GET" and request.path == "/v1/models":
            return _models(contract, request)
        if request.method != "POST" or not self.is_chat(request.path):
            raise Refused("Not Found", status=404)
        return None

    def parse(self, raw: bytes) -> dict[str, object]:
        return rules.parse(raw)

    def plain(self, contract: Contract, request: Incoming, body: Json) -> object | None:
        return None

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        rules.check(contract, ledger, body, request.headers.get("anthropic-version", ""))

    def streamed(self, request: Incoming, body: Json) -> bool:
        return body.get("stream") is True

    def asked(self, body: Json) -> Asked:
        messages = objects(body.get("messages"))
        place = max((i for i, m in enumerate(messages) if m.get("role") == "user" and _said(m)), default=-1)
        tool = ""
        for message in messages:
            for block in objects(message.get("content")):
                tool = texts(block.get("content")) if block.get("type") == "tool_result" else tool
        after = messages[place + 1 :]
        return Asked(_said(messages[place]) if messages else "", tool, sum(m.get("role") == "assistant" for m in after))

    def units(self, body: Json) -> list[Unit]:
        return rules.units(body)

    def whole(self, exchange: Exchange) -> bytes:
        content = _content(exchange)
        message = {**_message(exchange), "content": content, "stop_reason": _stop(exchange.reply)}
        return json.dumps({**message, "usage": _usage(exchange)}, ensure_ascii=False).encode()

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        reply = exchange.reply
        for n, event in enumerate(_events(exchange)):
            if n == reply.error_after:
                error = {"type": "overloaded_error", "message": reply.message or "Overloaded"}
                yield _frame({"type": "error", "error": error})
                return
            if reply.keepalive:
                yield b": keep-alive\n\n" + _frame({"type": "ping"})
            yield _frame(event)

    def error(self, refused: Refused) -> object:
        kind = _KINDS.get(refused.status, "invalid_request_error" if refused.status < 500 else "api_error")
        error = {"type": refused.code or kind, "message": refused.message}
        return {"type": "error", "error": error, "request_id": "req_fake"}


def _said(message: Json) -> str:
    """What the person said in a message; nothing where it only brings results."""
    content = message.get("content")
    if isinstance(content, list):
        content = [block for block in objects(content) if block.get("type") == "text"]
    return texts(content)


def _models(contract: Contract, request: Incoming) -> object:
    names = list(contract.models)
    after = request.query.get("after_id")
    start = names.index(after) + 1 if after in names else 0
    size = min(int(request.query.get("limit", "20")), contract.page)
    shown = names[start : start + size]
    data = [
        {"type": "model", "id": name, "display_name": name.title(), "created_at": _WHEN,
         "max_input_tokens": contract.context, "max_tokens": 8192}
        for name in shown
    ]  # fmt: skip
    ends = {"first_id": shown[0], "last_id": shown[-1]} if shown else {"first_id": None, "last_id": None}
    return {"data": data, "has_more": start + size < len(names), **ends}


def _content(exchange: Exchange) -> list[dict[str, object]]:
    """The blocks of the answer, and in the ledger what must come back with its calls."""
    reply, blocks = exchange.reply, list[dict[str, object]]()
    if reply.think:
        blocks.append({"type": "thinking", "thinking": reply.think, "signature": signed(reply.think)})
    if reply.redacted:
        data = sealed(reply.redacted)
        exchange.ledger.signatures[data] = reply.redacted
        blocks.append({"type": "redacted_thinking", "data": data})
    thoughts = [dict(block) for block in blocks if block["type"] in SIGNED]
    if reply.say:
        blocks.append({"type": "text", "text": reply.say, "citations": None})
    for i, call in enumerate(reply.calls):
        id_ = reply.call_id(i, f"toolu_{exchange.number:04d}_{i}")
        block: dict[str, object] = {"type": "tool_use", "name": call.name, "input": dict(call.args)}
        blocks.append(block if id_ is None else {**block, "id": id_})
        if id_:
            exchange.ledger.calls[id_] = thoughts
    return blocks


def _message(exchange: Exchange) -> dict[str, object]:
    return {
        "id": f"msg_{exchange.number:04d}", "type": "message", "role": "assistant",
        "model": exchange.body.get("model"), "content": [], "stop_reason": None, "stop_sequence": None,
    }  # fmt: skip


def _stop(reply: Reply) -> str:
    return reply.finish or ("refusal" if reply.blocked else "tool_use" if reply.calls else "end_turn")


def _usage(exchange: Exchange, *, told: bool = True) -> dict[str, object]:
    """What was read from the cache and written to it is not in ``input_tokens`` (fault E47)."""
    prompt = exchange.prompt
    if not exchange.reply.usage:
        return {"input_tokens": 0, "output_tokens": 0}
    return {
        "input_tokens": prompt.tokens - prompt.cached - prompt.written,
        "cache_creation_input_tokens": prompt.written,
        "cache_read_input_tokens": prompt.cached,
        "output_tokens": exchange.completion if told else 1,
    }


def _events(exchange: Exchange) -> Iterator[dict[str, object]]:
    reply = exchange.reply
    yield {"type": "message_start", "message": {**_message(exchange), "usage": _usage(exchange, told=False)}}
    for i, block in enumerate(_content(exchange)):
        index = {} if reply.indexes == "missing" else {"index": 0 if reply.indexes == "zero" else i}
        yield {"type": "content_block_start", **index, "content_block": {**block, **_emptied(block)}}
        for delta in _deltas(reply, block):
            yield {"type": "content_block_delta", **index, "delta": delta}
        yield {"type": "content_block_stop", **index}
    delta = {"stop_reason": _stop(reply), "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": _usage(exchange)["output_tokens"]}}
    if reply.done:
        yield {"type": "message_stop"}


def _emptied(block: Json) -> dict[str, object]:
    empty: dict[str, dict[str, object]] = {
        "text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}},
    }  # fmt: skip
    return empty.get(str(block["type"]), {})


def _deltas(reply: Reply, block: Json) -> Iterator[dict[str, object]]:
    if block["type"] == "text":
        for piece in reply.pieces(str(block["text"])):
            yield {"type": "text_delta", "text": piece}
    if block["type"] == "thinking":
        for piece in reply.pieces(str(block["thinking"])):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    if block["type"] == "tool_use":
        call = next(c for c in reply.calls if c.name == block["name"] and dict(c.args) == block["input"])
        yield {"type": "input_json_delta", "partial_json": ""}
        # a call without arguments has no other fragment, and means {} (fault E15)
        for piece in reply.pieces(call.arguments if call.args or call.raw is not None else ""):
            yield {"type": "input_json_delta", "partial_json": piece}


def _frame(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
