"""The canonical history as an OpenAI chat request.  Pure.

Options of a source read here: ``reasoning`` (auto, echo, strip), ``stream`` (true), ``stream_usage`` (true),
``max_tokens_field`` ("max_tokens"), ``system_role`` ("system"), ``extra`` (an object merged into the body).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence

from homed.providers.base import (
    Assistant,
    ChatRequest,
    Image,
    Message,
    Source,
    System,
    ToolCall,
    ToolResult,
    ToolSpec,
    User,
)

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64


def build(source: Source, request: ChatRequest) -> dict[str, object]:
    """The request body; ``request.messages`` have passed ``pairing.repair``."""
    options = source.options
    body: dict[str, object] = {"model": source.model, "messages": _messages(source, request.messages)}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_tokens is not None:
        body[str(options.get("max_tokens_field") or "max_tokens")] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if options.get("stream", True):
        body["stream"] = True
        if options.get("stream_usage", True):
            body["stream_options"] = {"include_usage": True}
    extra = options.get("extra")
    return {**body, **extra} if isinstance(extra, Mapping) else body


def _messages(source: Source, messages: Sequence[Message]) -> list[dict[str, object]]:
    reasoning = str(source.options.get("reasoning") or "auto")
    system_role = str(source.options.get("system_role") or "system")
    out: list[dict[str, object]] = []
    for message in messages:
        match message:
            case System(text):
                out.append({"role": system_role, "content": text})
            case User(text, images):
                out.append({"role": "user", "content": _parts(text, images) if images else text})
            case Assistant():
                out.append(_assistant(message, reasoning))
            case ToolResult(call_id, _, text):
                out.append({"role": "tool", "tool_call_id": call_id, "content": text})
    return out


def _parts(text: str, images: Sequence[Image]) -> list[dict[str, object]]:
    """A message with pictures: the text first, since it names them in their order."""
    said: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
    return said + [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]


def _data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def _assistant(message: Assistant, reasoning: str) -> dict[str, object]:
    """Tool-call turns bring their reasoning back where the source wants it (A10), and never where it refuses it (A11).

    ``auto`` sends back what the source itself had sent; ``echo`` sends the field also when there was none (a history
    from another source); ``strip`` never sends it.
    """
    out: dict[str, object] = {"role": "assistant", "content": message.text}
    if not message.calls:
        return out
    out["content"] = message.text or None
    out["tool_calls"] = [_call(call) for call in message.calls]
    if reasoning == "echo" or (reasoning == "auto" and message.reasoning):
        out["reasoning_content"] = message.reasoning
    return out


def _call(call: ToolCall) -> dict[str, object]:
    # Undecodable arguments are not sent back: strict servers parse them.  The result behind says what was wrong.
    arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": _name(call.name), "arguments": arguments}}


def _name(said: str) -> str:
    """The name of a tool as servers take it.  A model may call what does not exist by any name, or by none; sent back
    as it was, the history of that conversation would be refused from then on.  The result behind says what was wrong.
    """
    return _NO_NAME.sub("_", said)[:LONGEST_NAME] or "unnamed"


def _tool(tool: ToolSpec) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
