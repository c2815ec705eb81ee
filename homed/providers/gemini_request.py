"""The canonical history as a request to Gemini's generateContent.  Pure.

There are no call ids on this wire: results go by name and order.  A thought signature goes back with the part it came
with; calls that another source made get the documented sentinel in its place, without which newer models refuse the
history (A12).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from homed.providers.base import (
    Assistant,
    Audio,
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
from homed.providers.options import Quirks
from homed.providers.schema import cleaned
from homed.providers.shaping import CUT_OFF, GO_ON, base64_of, own_opaque, system_of, tool_name

WIRE = "gemini"

Part = dict[str, object]


def build(source: Source, request: ChatRequest) -> dict[str, object]:
    """The request body; ``request.messages`` have passed ``pairing.repair``."""
    quirks = Quirks(source.options)
    body: dict[str, object] = {"contents": _Contents(source, quirks).build(request.messages)}
    if system := system_of(request.messages):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
    if config := _config(quirks, request):
        body["generationConfig"] = config
    return {**body, **quirks.table("extra")}


def _config(quirks: Quirks, request: ChatRequest) -> dict[str, object]:
    config: dict[str, object] = {}
    if limit := request.max_tokens or quirks.number("max_tokens"):
        config["maxOutputTokens"] = limit
    if request.temperature is not None and quirks.text("temperature") == "send":
        config["temperature"] = request.temperature
    thinking: dict[str, object] = {}
    if budget := quirks.number("thinking") if quirks.text("thinking") == "off" else -1:
        thinking = {"includeThoughts": True, "thinkingBudget": budget}
    if effort := quirks.text("effort"):
        thinking = {"includeThoughts": True, "thinkingLevel": effort}
    return config | ({"thinkingConfig": thinking} if thinking else {})


def _declared(tool: ToolSpec) -> dict[str, object]:
    declared: dict[str, object] = {"name": tool.name, "description": tool.description}
    parameters = cleaned(tool.parameters)
    return declared if parameters is None else {**declared, "parameters": parameters}


class _Contents:
    """One history on its way; ``build`` once."""

    def __init__(self, source: Source, quirks: Quirks) -> None:
        self._source = source
        self._sentinel = quirks.text("foreign_signature")
        self._given_ids: set[str] = set()

    def build(self, messages: Sequence[Message]) -> list[dict[str, object]]:
        """Contents of which the first and the last are a person's, and none is empty.

        Results stand in a content of their own, as many as there were calls in the one before.
        """
        contents: list[tuple[str, list[Part]]] = []
        before = ""
        for message in messages:
            kind, parts = self._parts(message)
            if not parts:
                continue
            if not contents and kind == "model":
                contents.append(("user", [{"text": CUT_OFF}]))
            if kind == before:
                contents[-1][1].extend(parts)
            else:
                contents.append(("model" if kind == "model" else "user", parts))
            before = kind
        if not contents or contents[-1][0] == "model":
            contents.append(("user", [{"text": GO_ON}]))
        return [{"role": role, "parts": parts} for role, parts in contents]

    def _parts(self, message: Message) -> tuple[str, list[Part]]:
        match message:
            case User(text, images, audio):
                said: list[Part] = [{"text": text}] if text.strip() else []
                return "user", [*said, *map(_inline, images), *map(_inline, audio)]
            case Assistant():
                return "model", self._assistant(message)
            case ToolResult():
                return "result", [{"functionResponse": self._response(message)}]
            case System():
                return "", []

    def _response(self, result: ToolResult) -> dict[str, object]:
        answer = {"error" if result.is_error else "result": result.text}
        response: dict[str, object] = {"name": tool_name(result.name), "response": answer}
        return {"id": result.call_id, **response} if result.call_id in self._given_ids else response

    def _assistant(self, message: Assistant) -> list[Part]:
        laid_out = self._laid_out(message)
        if laid_out is not None:
            return laid_out
        said: list[Part] = [{"text": message.text}] if message.text.strip() else []
        return said + [_signed({"functionCall": _call(call)}, self._sentinel) for call in message.calls]

    def _laid_out(self, message: Assistant) -> list[Part] | None:
        """The message part by part with its signatures, as it came; None if there are none, or they do not fit.

        ``Opaque.data`` is a list of ``{"t": characters of the text, "s"?: signature}`` and ``{"c": id of the call,
        "s"?, "i"?: true where the id is the source's own}``.
        """
        opaque = own_opaque(message, self._source, WIRE)
        if opaque is None:
            return None
        try:
            layout = json.loads(opaque.data)
        except (ValueError, RecursionError):
            return None
        by_id = {call.id: call for call in message.calls}
        out: list[Part] = []
        at, calls, given = 0, [], set[str]()
        for part in layout if isinstance(layout, list) else ():
            match part:
                case {"t": int(length)}:
                    text, at = message.text[at : at + length], at + length
                    signature = part.get("s")
                    if text.strip() or signature:
                        out.append(_signed({"text": text}, signature))
                case {"c": str(id_)} if id_ in by_id:
                    calls.append(id_)
                    named = {"id": id_} if part.get("i") else {}
                    given |= named.keys() and {id_}
                    out.append(_signed({"functionCall": {**named, **_call(by_id[id_])}}, part.get("s")))
                case _:
                    return None
        if at != len(message.text) or calls != [call.id for call in message.calls] or not out:
            return None
        self._given_ids |= given
        return out


def _inline(media: Image | Audio) -> Part:
    return {"inlineData": {"mimeType": media.media_type, "data": base64_of(media)}}


def _call(call: ToolCall) -> dict[str, object]:
    return {"name": tool_name(call.name), "args": dict(call.arguments or {})}


def _signed(part: Part, signature: object) -> Part:
    return {**part, "thoughtSignature": signature} if isinstance(signature, str) and signature else part
