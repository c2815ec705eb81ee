"""The canonical history as an OpenAI chat request, with the quirks that the source's options name.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from homed.providers.base import (
    Assistant,
    Audio,
    ChatRequest,
    Image,
    Message,
    Source,
    System,
    ToolResult,
    ToolSpec,
    User,
)
from homed.providers.options import Quirks
from homed.providers.shaping import BRIDGE, CUT_OFF, CallIds, base64_of, data_url, own, tool_name

FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""How the recordings that these servers take are called there."""

Sent = dict[str, object]


def build(source: Source, request: ChatRequest) -> dict[str, object]:
    """The request body; ``request.messages`` have passed ``pairing.repair``."""
    quirks = Quirks(source.options)
    body: dict[str, object] = {"model": source.model, "messages": _Messages(source, quirks).build(request.messages)}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if limit := request.max_tokens or quirks.number("max_tokens"):
        body[quirks.text("max_tokens_field")] = limit
    if request.temperature is not None and quirks.text("temperature") == "send":
        body["temperature"] = request.temperature
    if effort := quirks.text("reasoning_effort"):
        body["reasoning_effort"] = effort
    if quirks.on("stream"):
        body["stream"] = True
        if quirks.on("stream_usage"):
            body["stream_options"] = {"include_usage": True}
    return {**body, **quirks.table("extra")}


class _Messages:
    """One history on its way; ``build`` once."""

    def __init__(self, source: Source, quirks: Quirks) -> None:
        self._source = source
        self._quirks = quirks
        self._ids = CallIds(nine=quirks.text("call_ids") == "nine")

    def build(self, messages: Sequence[Message]) -> list[Sent]:
        out = [self._message(message) for message in messages]
        if not self._quirks.on("user_after_tool"):
            out = _bridged(out)
        return _alternating(out) if self._quirks.on("merge_same_role") else out

    def _message(self, message: Message) -> Sent:
        match message:
            case System(text):
                return {"role": self._quirks.text("system_role"), "content": text}
            case User():
                return {"role": "user", "content": _content(message)}
            case Assistant():
                return self._assistant(message)
            case ToolResult():
                return self._result(message)

    def _assistant(self, message: Assistant) -> Sent:
        out: Sent = {"role": "assistant", "content": message.text}
        if not message.calls:
            return out
        if not message.text:
            self._empty(out)
        out["tool_calls"] = [
            {
                "id": self._ids.called(call.id),
                "type": "function",
                # Undecodable arguments are not sent back: strict servers parse them.  The result behind says what was
                # wrong.
                "function": {"name": tool_name(call.name), "arguments": _arguments(call.arguments)},
            }
            for call in message.calls
        ]
        if self._wants_reasoning(message):
            out["reasoning_content"] = message.reasoning
        return out

    def _empty(self, out: Sent) -> None:
        match self._quirks.text("empty_content"):
            case "null":
                out["content"] = None
            case "omit":
                del out["content"]

    def _wants_reasoning(self, message: Assistant) -> bool:
        """Messages with calls bring their reasoning back where the source wants it (A10), and never where it refuses
        it (A11).

        ``auto`` sends back what the source itself had sent; ``echo`` sends the field also when there was none (a
        history from another source); ``strip`` never sends it.
        """
        how = self._quirks.text("reasoning")
        return how == "echo" or (how == "auto" and bool(message.reasoning) and own(message, self._source))

    def _result(self, message: ToolResult) -> Sent:
        out: Sent = {"role": "tool", "tool_call_id": self._ids.answered(message.call_id), "content": message.text}
        if self._quirks.on("result_names"):
            out["name"] = tool_name(message.name)
        return out


def _content(message: User) -> object:
    """A message with pictures or recordings: the text first, since it names them in their order."""
    if not message.images and not message.audio:
        return message.text
    said: list[Sent] = [{"type": "text", "text": message.text}] if message.text else []
    return [*said, *map(_image, message.images), *map(_recording, message.audio)]


def _image(image: Image) -> Sent:
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


def _recording(audio: Audio) -> Sent:
    kind = FORMATS.get(audio.media_type, "wav")
    return {"type": "input_audio", "input_audio": {"data": base64_of(audio), "format": kind}}


def _bridged(messages: Sequence[Sent]) -> list[Sent]:
    out: list[Sent] = []
    for message in messages:
        if message["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": BRIDGE})
        out.append(message)
    return out


def _alternating(messages: Sequence[Sent]) -> list[Sent]:
    """Messages of one role that follow each other joined, the first after the instructions the person's.

    Results stay apart, each with its call; so does a message with calls, but what was said before them is joined.
    """
    out: list[Sent] = []
    for message in messages:
        before = out[-1] if out else {"role": ""}
        if message["role"] == before["role"] != "tool" and "tool_calls" not in before:
            out[-1] = {**message, "content": _joined(before.get("content"), message.get("content"))}
        else:
            if message["role"] == "assistant" and not any(m["role"] == "user" for m in out):
                out.append({"role": "user", "content": CUT_OFF})
            out.append(message)
    return out


def _joined(first: object, second: object) -> object:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    return "\n\n".join(text for text in (first, second) if isinstance(text, str) and text)


def _parts(content: object) -> list[object]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _arguments(arguments: Mapping[str, object] | None) -> str:
    return json.dumps(dict(arguments or {}), ensure_ascii=False)


def _tool(tool: ToolSpec) -> Sent:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
