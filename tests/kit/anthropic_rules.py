"""What Anthropic's Messages API refuses, with its own status and words.  Pure.

Sources: platform.claude.com (Messages, Errors, Thinking, Thinking in tool and multi-turn workflows, Tool use, Vision,
Prompt caching) for the rules; for the words, what its users reported: anthropics/claude-code#8210 (calls without
results), #13460 (results without calls), #63295 (changed thinking), faults.md A9.  ``tool_result`` blocks come first
in their message ("Handle tool calls"); roles in a row are joined by the API itself and refused by its resellers
(``Contract.alternate``).  "Versions": both are served; the later one knows no temperature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from tests.kit.anthropic_thoughts import check_thoughts
from tests.kit.fake_script import Json, objects
from tests.kit.fake_wire import PICTURE_TOKENS, Contract, Ledger, Refused, Unit, compact, looks_like, picture, signature

PARAMETERS = frozenset(
    {
        "model", "messages", "max_tokens", "system", "tools", "tool_choice", "temperature", "top_p", "top_k", "stream",
        "stop_sequences", "metadata", "thinking", "service_tier", "container", "output_config", "cache_control",
        "inference_geo", "speed", "diagnostics",
    }
)  # fmt: skip
VERSIONS = ("2023-06-01", "2026-10-21")
SAMPLING = frozenset({"temperature", "top_p", "top_k"})
"""Parameters that the later version does not have any more."""
ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LARGEST_PICTURE = 5 * 1024 * 1024
"""Bytes of one picture, as base64."""
MOST_BREAKPOINTS = 4

_CACHEABLE = {"cache_control"}
_FIELDS = {
    "text": {"type", "text", "citations"} | _CACHEABLE,
    "image": {"type", "source"} | _CACHEABLE,
    "tool_use": {"type", "id", "name", "input", "caller"} | _CACHEABLE,
    "tool_result": {"type", "tool_use_id", "content", "is_error"} | _CACHEABLE,
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
_BY_ROLE = {
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
}


def parse(raw: bytes) -> dict[str, object]:
    """The body as an object, or the real server's 400."""
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise Refused(f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused("The request body is not valid JSON: expected an object")
    return body


def check_head(contract: Contract, headers: Mapping[str, str]) -> None:
    """The version comes in a header of its own, the key too, or, as the SDKs send it since 2026, as a bearer token."""
    given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    if not given:
        raise Refused("x-api-key header is required", status=401)
    if contract.key and given != contract.key:
        raise Refused("invalid x-api-key", status=401)
    version = headers.get("anthropic-version")
    if version is None:
        raise Refused("anthropic-version: header is required")
    if version not in VERSIONS:
        raise Refused(f"anthropic-version: '{version}' is not a valid version")


def check(contract: Contract, ledger: Ledger, body: Json, version: str = VERSIONS[0]) -> None:
    """Raise Refused for the first thing the real server would not take."""
    for key in ("model", "messages", "max_tokens"):
        if key not in body:
            raise Refused(f"{key}: Field required")
    for key in body:
        if key not in PARAMETERS or (key in SAMPLING and version >= "2026-10-21"):
            raise Refused(f"{key}: Extra inputs are not permitted")
    _check_limit(body)
    if contract.models and body["model"] not in contract.models:
        raise Refused(f"model: {body['model']}", status=404)
    _check_system(body.get("system"))
    _check_tools(body.get("tools"))
    _check_choice(body)
    messages = body["messages"]
    if not isinstance(messages, list):
        raise Refused("messages: Input should be a valid list")
    if not messages:
        raise Refused("messages: at least one message is required")
    _check_messages(contract, messages)
    _check_pairs(messages)
    _check_breakpoints(body)
    check_thoughts(ledger, body)
    _check_length(contract, body)


def _check_limit(body: Json) -> None:
    limit = body["max_tokens"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise Refused("max_tokens: Input should be a valid integer")
    if limit < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    heat = body.get("temperature")
    if heat is not None and not (isinstance(heat, int | float) and 0 <= heat <= 1):
        raise Refused("temperature: range: 0..1")


def _check_system(system: object) -> None:
    if system is None or isinstance(system, str):
        return
    for i, block in enumerate(system if isinstance(system, list) else [system]):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise Refused(f"system.{i}.type: Input should be 'text'")
        _check_text(f"system.{i}", block, "system: text content blocks must be non-empty")


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise Refused("tools: Input should be a valid list")
    names: set[str] = set()
    for i, tool in enumerate(tools):
        where = f"tools.{i}.custom"
        if not isinstance(tool, dict) or "name" not in tool:
            raise Refused(f"{where}.name: Field required")
        if not NAME.fullmatch(str(tool["name"])):
            raise Refused(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool["name"] in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(tool["name"])
        schema = tool.get("input_schema")
        if schema is None:
            raise Refused(f"{where}.input_schema: Field required")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Refused(f"{where}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise Refused(
                f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
        if extra := set(tool) - {"name", "description", "input_schema", "cache_control", "type", "strict"}:
            raise Refused(f"{where}.{min(extra)}: Extra inputs are not permitted")


def _check_choice(body: Json) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise Refused("tool_choice: Input should be a valid dictionary or object to extract fields from")
    tools = objects(body.get("tools"))
    if not tools:
        raise Refused("tool_choice: may only be specified while providing `tools`.")
    assert isinstance(choice, Mapping)
    if kind == "tool" and choice.get("name") not in [tool.get("name") for tool in tools]:
        raise Refused(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _check_messages(contract: Contract, messages: Sequence[object]) -> None:
    last = ""
    for i, message in enumerate(messages):
        if not isinstance(message, dict):
            raise Refused(f"messages.{i}: Input should be a valid dictionary or object to extract fields from")
        role = str(message.get("role"))
        if role == "system":
            raise Refused(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not'
                ' "system" as an input message role.'
            )
        if role not in _BY_ROLE:
            raise Refused(f"messages.{i}.role: Input should be 'user' or 'assistant'")
        if i == 0 and role != "user":
            raise Refused('messages: first message must use the "user" role')
        if contract.alternate and role == last:
            raise Refused(
                f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a'
                " row"
            )
        if extra := set(message) - {"role", "content"}:
            raise Refused(f"messages.{i}.{min(extra)}: Extra inputs are not permitted")
        last = role
        _check_content(i, role, message.get("content"), final=i == len(messages) - 1)
    if last == "assistant":
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_content(i: int, role: str, content: object, *, final: bool) -> None:
    if content is None:
        raise Refused(f"messages.{i}.content: Field required")
    if content in ("", []) and not (final and role == "assistant"):
        raise Refused(
            f"messages.{i}: all messages must have non-empty content except for the optional final assistant message"
        )
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Refused(f"messages.{i}.content: Input should be a valid list")
    for k, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        where = f"messages.{i}.content.{k}"
        if kind not in _FIELDS or kind not in _BY_ROLE[role]:
            listed = ", ".join(f"'{one}'" for one in _BY_ROLE[role])
            raise Refused(
                f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {listed}"
            )
        if extra := set(block) - _FIELDS[kind]:
            raise Refused(f"{where}.{kind}.{min(extra)}: Extra inputs are not permitted")
        _BLOCKS[kind](where, block)


def _check_text(where: str, block: Json, empty: str = "messages: text content blocks must be non-empty") -> None:
    text = block.get("text")
    if not isinstance(text, str):
        raise Refused(f"{where}.text.text: Field required")
    if not text:
        if "cache_control" in block:
            raise Refused(f"{where}.text: cache_control cannot be set for empty text blocks")
        raise Refused(empty)
    if not text.strip():
        raise Refused("messages: text content blocks must contain non-whitespace text")


def _check_picture(where: str, block: Json) -> None:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        raise Refused(f"{where}.image.source: Field required")
    if source["type"] != "base64":
        return
    kind, data = source.get("media_type"), picture(source.get("data"))
    if kind not in ("image/jpeg", "image/png", "image/gif", "image/webp"):
        raise Refused(
            f"{where}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or"
            " 'image/webp'"
        )
    if data is None:
        raise Refused(f"{where}.image.source.base64.data: invalid base64 data")
    if len(str(source["data"])) > LARGEST_PICTURE:
        raise Refused(
            f"{where}.image.source.base64: image exceeds 5 MB maximum: {len(str(source['data']))} bytes >"
            f" {LARGEST_PICTURE} bytes"
        )
    if not looks_like(str(kind), data):
        raise Refused("Could not process image")


def _check_use(where: str, block: Json) -> None:
    for key in ("id", "name", "input"):
        if key not in block:
            raise Refused(f"{where}.tool_use.{key}: Field required")
    if not ID.fullmatch(str(block["id"])):
        raise Refused(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not 1 <= len(str(block["name"])) <= 200:
        raise Refused(f"{where}.tool_use.name: String should have at least 1 character")
    if not isinstance(block["input"], dict):
        raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")


def _check_result(where: str, block: Json) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise Refused(f"{where}.tool_result.tool_use_id: Field required")
    content = block.get("content", "")
    for k, part in enumerate(content if isinstance(content, list) else ()):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "image"):
            raise Refused(f"{where}.tool_result.content.{k}: Input tag '{kind}' found using 'type' does not match")
        _BLOCKS[kind](f"{where}.tool_result.content.{k}", part)
    if not isinstance(content, str | list):
        raise Refused(f"{where}.tool_result.content: Input should be a valid string")


def _check_thought(where: str, block: Json) -> None:
    for key in ("thinking", "signature") if block["type"] == "thinking" else ("data",):
        if not isinstance(block.get(key), str):
            raise Refused(f"{where}.{block['type']}.{key}: Field required")


_BLOCKS: Mapping[str, Callable[[str, Json], None]] = {
    "text": _check_text, "image": _check_picture, "tool_use": _check_use, "tool_result": _check_result,
    "thinking": _check_thought, "redacted_thinking": _check_thought,
}  # fmt: skip


def _check_pairs(messages: Sequence[Json]) -> None:
    """Calls and results in both directions; the results are the first blocks of the message behind the calls."""
    waiting: list[str] = []
    known: set[str] = set()
    for i, message in enumerate(messages):
        blocks = objects(message.get("content"))
        first = [str(b["tool_use_id"]) for b in _leading_results(blocks)]
        if missing := [id_ for id_ in waiting if id_ not in first]:
            raise Refused(
                f"messages.{i - 1}: `tool_use` ids were found without `tool_result` blocks immediately after:"
                f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the"
                " next message."
            )
        seen: set[str] = set()
        for k, block in enumerate(blocks):
            if block.get("type") != "tool_result":
                continue
            id_ = str(block["tool_use_id"])
            if id_ not in waiting:
                raise Refused(
                    f"messages.{i}.content.{k}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. Each"
                    " `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
            if id_ in seen:
                raise Refused(
                    f"messages.{i}.content.{k}: each tool_use must have a single result. Found multiple `tool_result`"
                    f" blocks with id: {id_}"
                )
            seen.add(id_)
        waiting = [str(b["id"]) for b in blocks if b.get("type") == "tool_use"]
        if len(set(waiting)) != len(waiting) or known & set(waiting):
            raise Refused(f"messages.{i}.content: `tool_use` ids must be unique")
        known |= set(waiting)
    if waiting:
        raise Refused(
            f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(waiting)}. Each `tool_use` block must have a corresponding `tool_result` block in the next"
            " message."
        )


def _leading_results(blocks: Sequence[Json]) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        out.append(block)
    return out


def _check_breakpoints(body: Json) -> None:
    found = sum(unit.breakpoint for unit in units(body))
    if found > MOST_BREAKPOINTS:
        raise Refused(f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")


def _check_length(contract: Contract, body: Json) -> None:
    count = sum(-(-len(unit.text.encode()) // 4) for unit in units(body))
    limit = body["max_tokens"]
    assert isinstance(limit, int)
    if count > contract.context:
        raise Refused(f"prompt is too long: {count} tokens > {contract.context} maximum")
    if count + limit > contract.context:
        raise Refused(
            f"input length and `max_tokens` exceed context limit: {count} + {limit} > {contract.context}, decrease"
            " input length or `max_tokens` and try again"
        )


def units(body: Json) -> list[Unit]:
    """The prompt in the order the model reads it: tools, system, messages, block by block."""
    found = [_unit("tool", tool) for tool in objects(body.get("tools"))]
    system = body.get("system")
    found += [_unit("system", block) for block in _blocks(system)]
    for message in objects(body.get("messages")):
        found += [_unit(str(message.get("role")), block) for block in _blocks(message.get("content"))]
    if found and body.get("cache_control") is not None:
        found[-1] = Unit(found[-1].text, True)
    return found


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects(content)


def _unit(where: str, block: Json) -> Unit:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    source = plain.get("source")
    if isinstance(source, Mapping):
        plain["source"] = f"[{signature(source)}]".ljust(4 * PICTURE_TOKENS)
    return Unit(where + compact(plain), block.get("cache_control") is not None)


def pictures(body: Json) -> list[bytes]:
    """The pictures of a request, in their order, those in results too."""
    found: list[bytes] = []
    for message in objects(body.get("messages")):
        for block in objects(message.get("content")):
            inner = objects(block.get("content")) if block.get("type") == "tool_result" else [block]
            for one in inner:
                source = one.get("source")
                if one.get("type") == "image" and isinstance(source, Mapping):
                    found.append(picture(source.get("data")) or b"")
    return found
