"""What an Ollama server refuses on /api/chat, in its words; most else it takes without a word.  Pure.

Sources: docs.ollama.com/api (chat, tags, show, streaming, tool calling, thinking), github.com/ollama/ollama:
server/routes.go (model is required, model not found, does not support tools, does not support thinking), api/types.go
(what Go's JSON decoder makes of a wrong type; unknown fields are passed over), runner ("missing data required for
image input"), ollama/ollama#6155 (arguments as a string, fault A13), ollama/ollama#12064 (error parsing tool call).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.kit.fake_script import Json, objects
from tests.kit.fake_wire import PICTURE_TOKENS, Contract, Refused, Unit, compact, picture, signature, tokens_in

DEFAULT_WINDOW = 4096
"""Tokens that a model is loaded with when a request does not say (``OLLAMA_CONTEXT_LENGTH``)."""

_GO = {str: "string", list: "array", dict: "object", bool: "bool", int: "number", float: "number"}


def parse(raw: bytes) -> dict[str, object]:
    """The body as an object, or the 400 of Go's decoder."""
    if not raw:
        raise Refused("missing request body")
    try:
        body = json.loads(raw)
    except ValueError:
        raise Refused("invalid character 'x' looking for beginning of value") from None
    if not isinstance(body, dict):
        raise Refused(f"json: cannot unmarshal {_go(body)} into Go value of type api.ChatRequest")
    return body


def check(contract: Contract, body: Json) -> None:
    """Raise Refused for the first thing the real server would not take."""
    _typed(body, "model", str, "ChatRequest.model", "string")
    _check_messages(body.get("messages"))
    model = body.get("model")
    if not model:
        raise Refused("model is required")
    if contract.models and str(model).removesuffix(":latest") not in contract.models:
        raise Refused(f"model '{model}' not found", status=404)
    if body.get("tools") and not contract.tools:
        raise Refused(f"registry.ollama.ai/library/{model} does not support tools")
    _check_tools(body.get("tools"))
    if body.get("think") and not contract.thinks:
        raise Refused(f'"{model}" does not support thinking')
    if not contract.vision and any(m.get("images") for m in objects(body.get("messages"))):
        raise Refused("this model is missing data required for image input", status=500)
    if contract.overflow == "refuse" and tokens(body) > window(contract, body):
        raise Refused("the input length exceeds the context length")


def window(contract: Contract, body: Json) -> int:
    """Tokens this request is read with: what it asks for in ``num_ctx``, never more than the model has."""
    options = body.get("options")
    asked = options.get("num_ctx") if isinstance(options, Mapping) else None
    return min(asked if isinstance(asked, int) and asked > 0 else DEFAULT_WINDOW, contract.context)


def _check_messages(messages: object) -> None:
    if messages is not None and not isinstance(messages, list):
        raise _wrong(messages, "ChatRequest.messages", "[]api.Message")
    for message in messages or ():
        if not isinstance(message, dict):
            raise _wrong(message, "ChatRequest.messages", "api.Message")
        for key in ("role", "content", "thinking", "tool_name", "tool_call_id"):
            _typed(message, key, str, f"ChatRequest.messages.{key}", "string")
        for i, image in enumerate(_listed(message, "images", "ChatRequest.messages.images", "[]api.ImageData")):
            if not isinstance(image, str):
                raise _wrong(image, "ChatRequest.messages.images", "api.ImageData")
            if picture(image) is None:
                raise Refused(f"illegal base64 data at input byte {min(i + 4, len(image))}")
        for call in _listed(message, "tool_calls", "ChatRequest.messages.tool_calls", "[]api.ToolCall"):
            _check_call(call)


def _check_call(call: object) -> None:
    if not isinstance(call, dict):
        raise _wrong(call, "ChatRequest.messages.tool_calls", "api.ToolCall")
    _typed(call, "id", str, "ChatRequest.messages.tool_calls.id", "string")
    function = call.get("function") or {}
    if not isinstance(function, dict):
        raise _wrong(function, "ChatRequest.messages.tool_calls.function", "api.ToolCallFunction")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise _wrong(arguments, "ChatRequest.messages.tool_calls.function.arguments", "api.ToolCallFunctionArguments")


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise _wrong(tools, "ChatRequest.tools", "api.Tools")
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict):
            raise _wrong(function, "ChatRequest.tools.function", "api.ToolFunction")
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise _wrong(parameters, "ChatRequest.tools.function.parameters", "api.ToolFunctionParameters")
        properties = parameters.get("properties") if parameters else None
        if properties is not None and not isinstance(properties, dict):
            raise _wrong(properties, "ChatRequest.tools.function.parameters.properties", "api.ToolProperty")


def _typed(holder: Json, key: str, kind: type, where: str, named: str) -> None:
    value = holder.get(key)
    if value is not None and not isinstance(value, kind):
        raise _wrong(value, where, named)


def _listed(holder: Json, key: str, where: str, named: str) -> Sequence[object]:
    value = holder.get(key)
    if value is not None and not isinstance(value, list):
        raise _wrong(value, where, named)
    return value or ()


def _wrong(value: object, where: str, named: str) -> Refused:
    return Refused(f"json: cannot unmarshal {_go(value)} into Go struct field {where} of type {named}")


def _go(value: object) -> str:
    return next((name for kind, name in _GO.items() if isinstance(value, kind)), "null")


def units(body: Json) -> list[Unit]:
    """The prompt in the order the model reads it: the tools, then the messages."""
    parts: list[object] = [body.get("tools") or []]
    for message in objects(body.get("messages")):
        images = [f"[{signature(one)}]".ljust(4 * PICTURE_TOKENS) for one in list_of(message.get("images"))]
        parts.append({**message, "images": images})
    return [Unit(compact(part)) for part in parts]


def list_of(value: object) -> list[object]:
    """A list, or nothing where there is none."""
    return value if isinstance(value, list) else []


def tokens(body: Json) -> int:
    """About four bytes a token."""
    return tokens_in("".join(unit.text for unit in units(body)))


def pictures(body: Json) -> list[bytes]:
    """The pictures of a request, in their order."""
    found = [one for message in objects(body.get("messages")) for one in list_of(message.get("images"))]
    return [picture(one) or b"" for one in found]
