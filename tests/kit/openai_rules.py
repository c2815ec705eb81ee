"""What the real OpenAI chat endpoint refuses, with its own status and words.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tests.kit.fake_script import Json
from tests.kit.fake_wire import (
    PICTURE_TOKENS,
    Contract,
    Refused,
    Unit,
    compact,
    looks_like,
    picture,
    signature,
    tokens_in,
)

__all__ = ["Contract", "Refused", "check", "check_key", "parse", "pictures", "tokens", "units"]

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARAMETERS = frozenset(
    {
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens",
        "max_completion_tokens", "temperature", "top_p", "n", "stop", "user", "seed", "response_format",
        "reasoning_effort", "presence_penalty", "frequency_penalty", "logit_bias", "metadata", "store",
    }
)  # fmt: skip
DATA_URL = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=]*)")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def check_key(contract: Contract, authorization: str) -> None:
    """401 for a missing or wrong key; an empty ``contract.key`` takes any."""
    if not contract.key or authorization == f"Bearer {contract.key}":
        return
    given = authorization.removeprefix("Bearer").strip()
    if not given:
        raise Refused(
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer"
            " auth (i.e. Authorization: Bearer YOUR_KEY).",
            status=401,
        )
    # The real server repeats part of the key it was given; a client that logs the text as it is leaks it.
    raise Refused(f"Incorrect API key provided: {given}.", code="invalid_api_key", status=401)


def parse(raw: bytes) -> dict[str, object]:
    """The body as an object, or the real server's 400."""
    try:
        body = json.loads(raw)
    except (ValueError, UnicodeDecodeError):
        body = None
    if not isinstance(body, dict):
        raise Refused("We could not parse the JSON body of your request.")
    return body


def check(contract: Contract, body: Json) -> None:
    """Raise ``Refused`` for the first thing the real server would not take."""
    for key in body:
        if key not in PARAMETERS:
            raise Refused(f"Unknown parameter: '{key}'.", key, "unknown_parameter")
    model = body.get("model")
    if not isinstance(model, str):
        raise Refused("you must provide a model parameter")
    if contract.models and model not in contract.models:
        raise Refused(
            f"The model `{model}` does not exist or you do not have access to it.", None, "model_not_found", 404
        )
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise Refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    _check_tools(body.get("tools"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages")
    _check_messages(contract, messages)
    _check_sight(contract, messages)
    _check_pairs(messages)
    _check_reasoning(contract, messages)
    _check_length(contract, body)


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools", "empty_array")
    for i, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict):
            raise Refused(
                f"Missing required parameter: 'tools[{i}].function'.", f"tools[{i}]", "missing_required_parameter"
            )
        name = function.get("name")
        if not isinstance(name, str) or not NAME.match(name):
            where = f"tools[{i}].function.name"
            raise Refused(
                f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern"
                " '^[a-zA-Z0-9_-]+$'.",
                where,
                "invalid_value",
            )
        schema = function.get("parameters")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            kind = schema.get("type") if isinstance(schema, dict) else None
            raise Refused(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got"
                f" 'type: \"{kind}\"'.",
                f"tools[{i}].function.parameters",
                "invalid_function_parameters",
            )


def _check_messages(contract: Contract, messages: Sequence[object]) -> None:
    for i, message in enumerate(messages):
        if not isinstance(message, dict):
            raise Refused(f"Invalid type for 'messages[{i}]': expected an object.", f"messages[{i}]", "invalid_type")
        role = message.get("role")
        if role not in ROLES:
            listed = ", ".join(f"'{r}'" for r in ROLES[:-1]) + f", and '{ROLES[-1]}'"
            raise Refused(
                f"Invalid value: '{role}'. Supported values are: {listed}.", f"messages[{i}].role", "invalid_value"
            )
        _check_content(contract, i, message)
        if "tool_calls" in message:
            _check_calls(i, message["tool_calls"])
        if role == "tool" and (not isinstance(message.get("tool_call_id"), str) or not message["tool_call_id"]):
            raise Refused(
                "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
                f"messages.[{i}].tool_call_id",
            )


def _check_content(contract: Contract, i: int, message: Json) -> None:
    content = message.get("content")
    if content is None and message.get("role") == "assistant" and message.get("tool_calls"):
        return
    if not isinstance(content, (str, list)):
        got = "null" if content is None else f"a {type(content).__name__}"
        raise Refused(f"Invalid value for 'content': expected a string, got {got}.", f"messages.[{i}].content")
    for k, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(contract, f"messages[{i}].content[{k}]", part, str(message.get("role")))
    if content == []:
        raise Refused(f"Invalid 'messages[{i}].content': empty array.", f"messages[{i}].content", "empty_array")


def _check_part(contract: Contract, where: str, part: object, role: str) -> None:
    kinds = ("text", "image_url", *(("input_audio",) if contract.audio else ())) if role == "user" else ("text",)
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in kinds:
        listed = " and ".join(f"'{k}'" for k in kinds)
        raise Refused(f"Invalid value: '{kind}'. Supported values are: {listed}.", f"{where}.type", "invalid_value")
    if kind == "text":
        if not isinstance(part.get("text"), str) or set(part) != {"type", "text"}:
            raise Refused(f"Missing required parameter: '{where}.text'.", f"{where}.text", "missing_required_parameter")
        return
    if kind == "input_audio":
        _check_sound(where, part.get("input_audio"))
        return
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str):
        raise Refused(f"Missing required parameter: '{where}.image_url.url'.", where, "missing_required_parameter")
    _check_image(where, url)


def _check_sound(where: str, sound: object) -> None:
    found = sound if isinstance(sound, dict) else {}
    if found.get("format") not in ("wav", "mp3"):
        raise Refused(
            f"Invalid value: '{found.get('format')}'. Supported values are: 'wav' and 'mp3'.",
            f"{where}.input_audio.format",
            "invalid_value",
        )
    data = picture(found.get("data"))
    if data is None or not looks_like("audio/wav" if found["format"] == "wav" else "audio/mpeg", data):
        raise Refused("The audio data you provided does not represent a valid audio file.", where, "invalid_value")


def _check_image(where: str, url: str) -> None:
    found = DATA_URL.fullmatch(url)
    data = picture(found[2]) if found else None
    if not found or not data:
        raise Refused(
            "Invalid base64 image_url. Expected a base64-encoded data URL with an image MIME type (e.g."
            " 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got an unsupported value.",
            f"{where}.image_url.url",
            "invalid_value",
        )
    if not looks_like(found[1], data):
        raise Refused(
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png',"
            " 'jpeg', 'gif', 'webp'].",
            None,
            "invalid_image_format",
        )


def _check_calls(i: int, calls: object) -> None:
    where = f"messages[{i}].tool_calls"
    if not isinstance(calls, list) or not calls:
        raise Refused(f"Invalid '{where}': empty array. Expected an array with minimum length 1.", where, "empty_array")
    for k, call in enumerate(calls):
        if not isinstance(call, dict) or not isinstance(call.get("id"), str) or not call["id"]:
            raise Refused(
                f"Missing required parameter: '{where}[{k}].id'.", f"{where}[{k}].id", "missing_required_parameter"
            )
        if call.get("type") != "function" or not isinstance(call.get("function"), dict):
            raise Refused(
                f"Missing required parameter: '{where}[{k}].type'.", f"{where}[{k}].type", "missing_required_parameter"
            )
        function = call["function"]
        if not isinstance(function.get("name"), str) or not NAME.match(function["name"]):
            raise Refused(f"Invalid '{where}[{k}].function.name'.", f"{where}[{k}].function.name", "invalid_value")
        if not isinstance(function.get("arguments"), str):
            got = "an object" if isinstance(function.get("arguments"), dict) else type(function.get("arguments"))
            raise Refused(
                f"Invalid type for '{where}[{k}].function.arguments': expected a string, but got {got} instead.",
                f"{where}[{k}].function.arguments",
                "invalid_type",
            )


def _check_pairs(messages: Sequence[Json]) -> None:
    open_ids: list[str] = []
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            id_ = str(message["tool_call_id"])
            if id_ not in open_ids:
                raise Refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'.",
                    f"messages.[{i}].role",
                )
            open_ids.remove(id_)
            continue
        _all_answered(open_ids)
        calls = message.get("tool_calls")
        open_ids = [str(call["id"]) for call in calls] if isinstance(calls, list) else []
        if len(set(open_ids)) != len(open_ids):
            raise Refused("Duplicate value for 'tool_call_id'.", f"messages.[{i}].tool_calls")
    _all_answered(open_ids)


def _all_answered(open_ids: Sequence[str]) -> None:
    if open_ids:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(open_ids),
            "messages",
        )


def _check_reasoning(contract: Contract, messages: Sequence[Json]) -> None:
    for i, message in enumerate(messages):
        if "reasoning_content" in message:
            if contract.reasoning == "forbidden":
                raise Refused(
                    "reasoning_content must not be present in the input messages.", f"messages[{i}].reasoning_content"
                )
        elif contract.reasoning == "required" and message.get("tool_calls"):
            raise Refused("The reasoning_content in the thinking mode must be passed back to the API.")


def units(body: Json) -> list[Unit]:
    """The prompt in the order the model reads it: the tools, then the messages; a picture counts by its size."""
    messages = body.get("messages")
    parts = [body.get("tools") or [], *(messages if isinstance(messages, list) else [])]
    return [Unit(DATA_URL.sub(_pictured, compact(part))) for part in parts]


def _pictured(found: re.Match[str]) -> str:
    return f"[{signature(found[0])}]".ljust(4 * PICTURE_TOKENS)


def tokens(body: Json) -> int:
    """About four bytes a token, over messages and tools; what the context limit goes by."""
    return tokens_in("".join(unit.text for unit in units(body)))


def pictures(body: Json) -> list[bytes]:
    """The pictures of a request, in their order."""
    return [picture(found[2]) or b"" for found in DATA_URL.finditer(json.dumps(body.get("messages")))]


def _check_sight(contract: Contract, messages: Sequence[Json]) -> None:
    for message in messages:
        content = message.get("content")
        if not contract.vision and isinstance(content, list) and any(p.get("type") == "image_url" for p in content):
            raise Refused("Invalid content type. image_url is only supported by certain models.", "messages")


def _check_length(contract: Contract, body: Json) -> None:
    count = tokens(body)
    if count > contract.context:
        raise Refused(
            f"This model's maximum context length is {contract.context} tokens. However, your messages resulted in"
            f" {count} tokens. Please reduce the length of the messages.",
            "messages",
            "context_length_exceeded",
        )
