"""Ollama's own API as a wire of the fake server: lines of JSON, arguments as objects, ids only lately.  Pure.

Sources: see ``ollama_rules``.  A call has no id unless the script gives one (``ids`` and fault A14): servers before
0.12 send none.  The prompt's own count leaves out nothing, and says nothing of what came from the cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.kit import ollama_rules as rules
from tests.kit.fake_script import Asked, Json, Reply
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Refused, Unit
from tests.kit.openai_wire import asked

_WHEN = "2026-01-01T00:00:00.000000Z"
_DETAILS = {"format": "gguf", "family": "fake", "families": ["fake"], "parameter_size": "1B"}


class OllamaWire:
    """See ``fake_wire.Wire``.  Takes any key, or none, unless the contract has one and one is sent that differs."""

    name = "ollama"
    base = ""
    stream_type = "application/x-ndjson"

    def contract(self) -> Contract:
        return Contract(key="", cache_min=0, context=131_072)

    def is_chat(self, path: str) -> bool:
        return path == "/api/chat"

    def admit(self, contract: Contract, request: Incoming) -> object | None:
        if contract.key and request.headers.get("authorization") != f"Bearer {contract.key}":
            raise Refused("unauthorized", status=401)
        if request.method == "GET" and request.path == "/api/tags":
            return {"models": [_tag(name) for name in contract.models]}
        if request.method == "GET" and request.path == "/api/version":
            return {"version": "0.12.6"}
        if request.method != "POST" or request.path not in ("/api/chat", "/api/show"):
            raise Refused("404 page not found", status=404)
        return None

    def parse(self, raw: bytes) -> dict[str, object]:
        return rules.parse(raw)

    def plain(self, contract: Contract, request: Incoming, body: Json) -> object | None:
        if request.path != "/api/show":
            return None
        name = str(body.get("model") or body.get("name") or "").removesuffix(":latest")
        if name not in contract.models:
            raise Refused(f"model '{name}' not found", status=404)
        can = {"completion": True, "tools": contract.tools, "vision": contract.vision, "thinking": contract.thinks}
        info = {"general.architecture": "fake", "fake.context_length": contract.context}
        return {"details": _DETAILS, "model_info": info, "capabilities": [name for name, yes in can.items() if yes]}

    def check(self, contract: Contract, ledger: Ledger, request: Incoming, body: Json) -> None:
        rules.check(contract, body)

    def streamed(self, request: Incoming, body: Json) -> bool:
        return body.get("stream") is not False

    def asked(self, body: Json) -> Asked:
        return asked(body)

    def units(self, body: Json) -> list[Unit]:
        return rules.units(body)

    def whole(self, exchange: Exchange) -> bytes:
        reply = exchange.reply
        message: dict[str, object] = {"role": "assistant", "content": reply.say}
        if reply.think:
            message["thinking"] = reply.think
        if reply.calls:
            message["tool_calls"] = [_call(reply, i) for i in range(len(reply.calls))]
        return _line({**_head(exchange), "message": message, **_tail(exchange)})

    def frames(self, exchange: Exchange) -> Iterator[bytes]:
        reply, head = exchange.reply, _head(exchange)
        for n, message in enumerate(_messages(reply)):
            if n == reply.error_after:
                yield _line({"error": reply.message or "an error was encountered while running the model"})
                return
            if reply.keepalive:
                yield b"\n"
            yield _line({**head, "message": {"role": "assistant", **message}, "done": False})
        if reply.done:
            yield _line({**head, "message": {"role": "assistant", "content": ""}, **_tail(exchange)})

    def error(self, refused: Refused) -> object:
        return {"error": refused.message}


def _messages(reply: Reply) -> Iterator[dict[str, object]]:
    for piece in reply.pieces(reply.think):
        yield {"content": "", "thinking": piece}
    for piece in reply.pieces(reply.say):
        yield {"content": piece}
    for i in range(len(reply.calls)):
        yield {"content": "", "tool_calls": [_call(reply, i)]}


def _call(reply: Reply, place: int) -> dict[str, object]:
    call = reply.calls[place]
    as_text = reply.arguments_as == "string" or call.raw is not None
    function: dict[str, object] = {"name": call.name, "arguments": call.arguments if as_text else dict(call.args)}
    if reply.indexes != "missing":
        function["index"] = 0 if reply.indexes == "zero" else place
    id_ = reply.call_id(place, "")
    return {"function": function} if not id_ and reply.ids != "empty" else {"id": id_, "function": function}


def _head(exchange: Exchange) -> dict[str, object]:
    return {"model": exchange.body.get("model"), "created_at": _WHEN}


def _tail(exchange: Exchange) -> dict[str, object]:
    reply = exchange.reply
    tail: dict[str, object] = {"done": True, "done_reason": reply.finish or "stop", "total_duration": 1_000_000}
    if reply.usage:
        read = min(exchange.prompt.tokens, rules.window(exchange.contract, exchange.body))
        tail |= {"prompt_eval_count": read, "eval_count": exchange.completion}
    return tail


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _tag(name: str) -> dict[str, object]:
    tag = f"{name}:latest"
    return {"name": tag, "model": tag, "modified_at": _WHEN, "size": 1, "digest": "0" * 64, "details": _DETAILS}
