"""The bytes of an OpenAI chat answer, whole and streamed, and what can be wrong about them.  Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.kit.fake_script import Call, Json, Reply, Script
from tests.kit.fake_wire import Exchange, Prompt
from tests.kit.openai_rules import tokens

__all__ = ["Call", "Reply", "Script", "events", "json_body", "usage_of"]


def usage_of(exchange: Exchange) -> dict[str, object]:
    """Token counts of the exchange in the real shape."""
    prompt = exchange.prompt
    return {
        "prompt_tokens": prompt.tokens,
        "completion_tokens": exchange.completion,
        "total_tokens": prompt.tokens + exchange.completion,
        "prompt_tokens_details": {"cached_tokens": prompt.cached},
        "completion_tokens_details": {"reasoning_tokens": exchange.thought},
    }


def _usage(reply: Reply, body: Json, number: int) -> Json:
    return usage_of(Exchange(reply, body, number, Prompt(tokens(body))))


def _finish(reply: Reply) -> str:
    return reply.finish or ("content_filter" if reply.blocked else "tool_calls" if reply.calls else "stop")


def minted(number: int, place: int) -> str:
    """The id that the server gives a call of its ``number``-th answer."""
    return f"call_{number}_{place}"


def _calls(reply: Reply, number: int) -> list[dict[str, object]]:
    """Whole tool calls as a response carries them, with what was asked to be wrong about them."""
    made: list[dict[str, object]] = []
    for i, call in enumerate(reply.calls):
        arguments: object = dict(call.args) if reply.arguments_as == "object" else call.arguments
        entry: dict[str, object] = {"function": {"name": call.name, "arguments": arguments}}
        id_ = reply.call_id(i, minted(number, i))
        made.append(entry if id_ is None else {"id": id_, "type": "function", **entry})
    return made


def json_body(reply: Reply, body: Json, number: int, usage: Json | None = None) -> bytes:
    """The body of a non-stream answer."""
    message: dict[str, object] = {"role": "assistant", "content": reply.say or None, "refusal": None}
    if reply.think:
        message[reply.reasoning_key] = reply.think
    if reply.calls:
        message["tool_calls"] = _calls(reply, number)
    answer: dict[str, object] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}],
    }
    if reply.usage:
        answer["usage"] = _usage(reply, body, number) if usage is None else usage
    return json.dumps(answer, ensure_ascii=False).encode()


def deltas(reply: Reply, number: int) -> Iterator[dict[str, object]]:
    """The deltas of a streamed answer; parallel calls come interleaved, fragment by fragment."""
    yield {"role": "assistant", "content": ""}
    for piece in reply.pieces(reply.think):
        yield {reply.reasoning_key: piece}
    for piece in reply.pieces(reply.say):
        yield {"content": piece}
    if reply.indexes == "missing" or reply.arguments_as == "object":
        whole = _calls(reply, number)
        for i, call in enumerate(whole):
            yield {"tool_calls": [call if reply.indexes == "missing" else {"index": i, **call}]}
        return
    yield from _call_fragments(reply, number)


def _call_fragments(reply: Reply, number: int) -> Iterator[dict[str, object]]:
    pieces: list[list[str]] = []
    for i, (call, whole) in enumerate(zip(reply.calls, _calls(reply, number), strict=True)):
        index = 0 if reply.indexes == "zero" else i
        head = {**whole, "index": index, "function": {"name": call.name, "arguments": ""}}
        if reply.indexes == "zero":  # each call whole, one after the other, all under index 0
            head["function"] = {"name": call.name, "arguments": call.arguments}
            yield {"tool_calls": [head]}
            continue
        yield {"tool_calls": [head]}
        pieces.append(reply.pieces(call.arguments))
    for turn in range(max(map(len, pieces), default=0)):
        for i, parts in enumerate(pieces):
            if turn < len(parts):
                yield {"tool_calls": [{"index": i, "function": {"arguments": parts[turn]}}]}


def events(reply: Reply, body: Json, number: int, usage: Json | None = None) -> Iterator[bytes]:
    """The server-sent events of an answer, one ``bytes`` a frame."""
    options = body.get("stream_options")
    with_usage = reply.usage and (not isinstance(options, Mapping) or options.get("include_usage") is True)
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    for n, delta in enumerate(deltas(reply, number)):
        if n == reply.error_after:
            message = reply.message or "The server had an error while processing your request. Sorry about that!"
            error = {"message": message, "type": "server_error", "param": None, "code": None}
            yield _frame(reply, {"error": error})
            return
        if reply.keepalive:
            yield b": keep-alive\r\n\r\n" if reply.crlf else b": keep-alive\n\n"
        yield _frame(reply, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _frame(reply, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
    if with_usage:
        yield _frame(reply, {**base, "choices": [], "usage": _usage(reply, body, number) if usage is None else usage})
    if reply.done:
        yield b"data: [DONE]\r\n\r\n" if reply.crlf else b"data: [DONE]\n\n"


def _frame(reply: Reply, value: object) -> bytes:
    end = b"\r\n\r\n" if reply.crlf else b"\n\n"
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + end
