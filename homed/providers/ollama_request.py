"""The canonical history as a request to Ollama's own chat endpoint.  Pure.

Arguments are objects on this wire (A13), there are no call ids, and the window must be asked for: what does not fit
into the server's own is cut off without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from homed.providers.base import Assistant, ChatRequest, Message, Source, System, ToolResult, ToolSpec, User
from homed.providers.options import Quirks
from homed.providers.shaping import base64_of, own, tool_name

Sent = dict[str, object]


def build(source: Source, request: ChatRequest) -> dict[str, object]:
    """The request body; ``request.messages`` have passed ``pairing.repair``."""
    quirks = Quirks(source.options)
    options: Sent = {"num_ctx": quirks.number("num_ctx") or source.context_window}
    if limit := request.max_tokens or quirks.number("max_tokens"):
        options["num_predict"] = limit
    if request.temperature is not None and quirks.text("temperature") == "send":
        options["temperature"] = request.temperature
    body: Sent = {
        "model": source.model,
        "messages": _messages(source, request.messages),
        "stream": quirks.on("stream"),
        "options": options,
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if (think := quirks.text("think")) != "auto":
        body["think"] = {"on": True, "off": False}.get(think, think)
    if kept := quirks.text("keep_alive"):
        body["keep_alive"] = int(kept) if kept.lstrip("-").isdecimal() else kept
    return {**body, **quirks.table("extra")}


def _messages(source: Source, messages: Sequence[Message]) -> list[Sent]:
    out: list[Sent] = []
    for message in messages:
        match message:
            case System(text):
                out.append({"role": "system", "content": text})
            case User(text, images):
                pictures = {"images": [base64_of(image) for image in images]} if images else {}
                out.append({"role": "user", "content": text, **pictures})
            case Assistant():
                out.append(_assistant(message, source))
            case ToolResult(_, name, text):
                out.append({"role": "tool", "content": text, "tool_name": tool_name(name)})
    return out


def _assistant(message: Assistant, source: Source) -> Sent:
    out: Sent = {"role": "assistant", "content": message.text}
    if message.calls:
        out["tool_calls"] = [
            {"function": {"name": tool_name(call.name), "arguments": dict(call.arguments or {})}}
            for call in message.calls
        ]
        if message.reasoning and own(message, source):
            out["thinking"] = message.reasoning
    return out


def _tool(tool: ToolSpec) -> Sent:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
