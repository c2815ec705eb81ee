"""What Gemini's generateContent refuses, with its own status and words.  Pure.

Sources: ai.google.dev (GenerateContent, Content and Part, FunctionDeclaration and Schema, Troubleshooting, "Thought
signatures": strict for the current turn, which begins with the last user message that says something; the first call of
each step brings its signature back; ``skip_thought_signature_validator`` stands in for a call of another model's).  For
the words: googleapis' protobuf JSON parser ("Unknown name"), langgenius/dify-official-plugins#2088 (missing signature),
faults.md A12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from tests.kit.fake_script import Json, objects
from tests.kit.fake_wire import (
    PICTURE_TOKENS,
    Contract,
    Ledger,
    Refused,
    Unit,
    compact,
    looks_like,
    picture,
    signature,
    tokens_in,
)

SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")

_REQUEST = {
    "contents", "tools", "toolConfig", "safetySettings", "systemInstruction", "generationConfig", "cachedContent",
    "store", "serviceTier",
}  # fmt: skip
_CONTENT = {"role", "parts"}
_PART = {
    "text", "inlineData", "functionCall", "functionResponse", "fileData", "thought", "thoughtSignature",
    "videoMetadata", "executableCode", "codeExecutionResult",
}  # fmt: skip
_DATA = ("text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult")
_DECLARATION = {
    "name",
    "description",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
    "behavior",
}
_SCHEMA = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
    "default", "items", "minimum", "maximum",
}  # fmt: skip
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_GENERATION = {
    "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities", "candidateCount",
    "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty", "responseLogprobs",
    "logprobs", "thinkingConfig", "mediaResolution",
}  # fmt: skip


_NAMES = _REQUEST | _CONTENT | _PART | _DECLARATION | _SCHEMA | _GENERATION
_NAMES |= {"functionDeclarations", "functionCallingConfig", "mimeType", "displayName", "allowedFunctionNames"}


def camel(name: str) -> str:
    """The JSON name of a field; both forms are taken."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def snake(name: str) -> str:
    """The name of a field as refusals tell it."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def normal(value: object) -> object:
    """The same with the JSON names of all fields, but not within what is the caller's own (args, schemas, answers)."""
    if isinstance(value, list):
        return [normal(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    made: dict[str, object] = {}
    for key, inner in value.items():
        name = camel(str(key)) if camel(str(key)) in _NAMES else str(key)
        own = name in ("args", "response", "parametersJsonSchema", "properties", "responseJsonSchema")
        made[name] = inner if own else normal(inner)
    return made


def parse(raw: bytes) -> dict[str, object]:
    """The body as an object, or the real server's 400."""
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refused("Invalid JSON payload received. Expected an object key or }.")
    return body


def check(contract: Contract, ledger: Ledger, given: Json) -> None:
    """Raise Refused for the first thing the real server would not take."""
    body = normal(given)
    assert isinstance(body, dict)
    _known(body, _REQUEST, "")
    _known(body.get("generationConfig"), _GENERATION, "generation_config")
    _check_tools(body)
    contents = body.get("contents")
    if not contents:
        raise Refused("* GenerateContentRequest.contents: contents is not specified\n")
    if isinstance(contents, Mapping):
        contents = [contents]
    _check_contents(contract, contents)
    system = body.get("systemInstruction")
    if system is not None:
        _known(system, _CONTENT, "system_instruction")
        if not any(part.get("text") for part in objects(system.get("parts"))):
            raise Refused("* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.\n")
    _check_turns(contents)
    if contract.signatures != "none":
        _check_signatures(contract, ledger, contents)
    if (count := tokens(given)) > contract.context:
        raise Refused(
            f"The input token count ({count}) exceeds the maximum number of tokens allowed ({contract.context})."
        )


def _known(value: object, fields: set[str], where: str) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise Refused(f"Invalid value at '{where}' (type.googleapis.com/google.ai.generativelanguage), {value!r}")
    for key in value:
        if camel(str(key)) not in fields:
            raise unknown_name(str(key), where)


def unknown_name(key: str, where: str) -> Refused:
    """The refusal of a field that there is not."""
    at = f" at '{where}'" if where else ""
    text = f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.'
    violation = {"field": where, "description": text}
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
    return Refused(text, details=(detail,))


def _check_tools(body: Json) -> None:
    names: set[str] = set()
    for i, tool in enumerate(objects(body.get("tools"))):
        for k, one in enumerate(objects(tool.get("functionDeclarations"))):
            where = f"tools[{i}].function_declarations[{k}]"
            _known(one, _DECLARATION, where)
            name = str(one.get("name") or "")
            if not NAME.fullmatch(name):
                raise Refused(
                    f"* GenerateContentRequest.{where}.name: Invalid function name. Must start with a letter or an"
                    " underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes"
                    " (-), with a maximum length of 64.\n"
                )
            if name in names:
                raise Refused(f"Duplicate function declaration found: {name}")
            names.add(name)
            if "parameters" in one and "parametersJsonSchema" in one:
                raise Refused(f"* GenerateContentRequest.{where}: only one of parameters, parameters_json_schema\n")
            if (schema := one.get("parameters")) is not None:
                check_schema(schema, f"{where}.parameters", top=True)
    config = body.get("toolConfig")
    mode = config.get("functionCallingConfig") if isinstance(config, Mapping) else None
    if isinstance(mode, Mapping):
        if mode.get("mode") not in (None, "AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"):
            raise Refused(f"Invalid value at 'tool_config.function_calling_config.mode', \"{mode.get('mode')}\"")
        if not names and mode.get("mode") not in (None, "NONE"):
            raise Refused("Function calling config is set without function_declarations.")


def check_schema(schema: object, where: str, *, top: bool = False) -> None:
    """A schema in Gemini's part of OpenAPI; JSON Schema's other words are unknown names."""
    if not isinstance(schema, Mapping):
        raise Refused(f"Invalid value at '{where}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema)")
    for key in schema:
        if camel(str(key)) not in _SCHEMA:
            raise unknown_name(str(key), where)
    kind = schema.get("type")
    if isinstance(kind, list):
        raise Refused(
            f"Invalid JSON payload received. Unknown name \"type\" at '{where}': Proto field is not repeating, cannot"
            " start list."
        )
    named = str(kind or "").upper()
    if kind is not None and named not in _TYPES:
        raise Refused(f"Invalid value at '{where}.type' (Type), \"{kind}\"")
    if named == "OBJECT" and top and not schema.get("properties"):
        raise Refused(f"* GenerateContentRequest.{where}.properties: should be non-empty for OBJECT type\n")
    if named == "ARRAY" and "items" not in schema:
        raise Refused(f"* GenerateContentRequest.{where}.items: missing field.\n")
    if schema.get("enum") is not None and named != "STRING":
        raise Refused(f"* GenerateContentRequest.{where}.enum: only allowed for STRING type\n")
    if named == "STRING" and schema.get("format") not in (None, "enum", "date-time"):
        raise Refused(
            f"* GenerateContentRequest.{where}.format: only 'enum' and 'date-time' are supported for STRING type\n"
        )
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        check_schema(inner, f"{where}.properties[{name}]")
    for name in schema.get("required") or ():
        if not isinstance(properties, Mapping) or name not in properties:
            raise Refused(f"* GenerateContentRequest.{where}.required: property is not defined: {name}\n")
    if "items" in schema:
        check_schema(schema["items"], f"{where}.items")
    for k, inner in enumerate(schema.get("anyOf") or schema.get("any_of") or ()):
        check_schema(inner, f"{where}.any_of[{k}]")


def _check_contents(contract: Contract, contents: Sequence[object]) -> None:
    for i, content in enumerate(contents):
        _known(content, _CONTENT, f"contents[{i}]")
        assert isinstance(content, Mapping)
        if content.get("role") not in (None, "user", "model", "function"):
            raise Refused("Please use a valid role: user, model.")
        parts = content.get("parts")
        if not parts:
            raise Refused(f"* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.\n")
        for k, part in enumerate(objects([parts] if isinstance(parts, Mapping) else parts)):
            _check_part(contract, f"contents[{i}].parts[{k}]", part)


def _check_part(contract: Contract, where: str, part: Json) -> None:
    _known(part, _PART, where)
    held = [name for name in _DATA if name in part]
    if len(held) != 1 or (held == ["text"] and part["text"] == "" and "thoughtSignature" not in part):
        raise Refused(
            f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized field\n"
        )
    if held == ["text"] and not isinstance(part["text"], str):
        raise Refused(f"Invalid value at '{where}.text' (TYPE_STRING), {part['text']!r}")
    for name, inner in (("functionCall", "args"), ("functionResponse", "response")):
        call = part.get(name)
        if not isinstance(call, Mapping):
            if call is not None:
                raise Refused(f"Invalid value at '{where}.{snake(name)}', {json.dumps(call)}")
            continue
        _known(call, {"id", "name", inner, "willContinue", "scheduling", "parts"}, f"{where}.{snake(name)}")
        if not NAME.fullmatch(str(call.get("name") or "")):
            raise Refused(f"* GenerateContentRequest.{where}.{snake(name)}.name: Name cannot be empty.\n")
        if call.get(inner) is not None and not isinstance(call[inner], Mapping):
            raise Refused(
                f"Invalid value at '{where}.{snake(name)}.{inner}' (type.googleapis.com/google.protobuf.Struct),"
                f" {json.dumps(call[inner])}"
            )
        if name == "functionResponse" and call.get(inner) is None:
            raise Refused(f"* GenerateContentRequest.{where}.{snake(name)}.response: missing field.\n")
    if "inlineData" in part:
        _check_blob(contract, where, part["inlineData"])


def _check_blob(contract: Contract, where: str, blob: object) -> None:
    _known(blob, {"mimeType", "data", "displayName"}, f"{where}.inline_data")
    assert isinstance(blob, Mapping)
    kind, data = str(blob.get("mimeType") or ""), picture(blob.get("data"))
    if data is None:
        raise Refused(
            f"Invalid value at '{where}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for"
            f' "{str(blob.get("data"))[:20]}"'
        )
    if not kind.startswith(("image/", "audio/", "video/", "application/pdf", "text/")) or kind == "image/svg+xml":
        raise Refused(f"Unsupported MIME type: {kind}")
    if not contract.vision and kind.startswith("image/"):
        raise Refused("Image input modality is not enabled for this model")
    if kind.startswith("image/") and not looks_like(kind, data):
        raise Refused("Unable to process input image. Please retry or report in"
                      " https://developers.generativeai.google/guide/troubleshooting")  # fmt: skip


def _check_turns(contents: Sequence[Json]) -> None:
    """Where calls and results may stand.  A turn of results that says something besides is no clean one."""
    before: list[str] | None = None  # names called by the content before this one
    started = False
    for content in contents:
        parts = objects(content.get("parts"))
        calls, answers = _names(parts, "functionCall"), _names(parts, "functionResponse")
        if calls and (content.get("role") != "model" or not started):
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function response"
                " turn."
            )
        if answers and (before is None or content.get("role") == "model"):
            raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
        if before is not None and len(answers) != len(before):
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number of function call parts"
                " of the function call turn."
            )
        if before is not None and sorted(answers) != sorted(before):
            raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
        before, started = calls or None, True
    if before is not None:
        raise Refused("Please ensure that single turn requests end with a user role or the role field is empty.")


def _names(parts: Sequence[Json], kind: str) -> list[str]:
    held = [part[kind] for part in parts if kind in part]
    return [str(one.get("name")) for one in held if isinstance(one, Mapping)]


def _check_signatures(contract: Contract, ledger: Ledger, contents: Sequence[Json]) -> None:
    """Of the current turn only; ``first``: of the first call of each step, ``each``: of every one."""
    turn = max((i for i, c in enumerate(contents) if c.get("role") != "model" and _says(c)), default=0)
    for i, content in enumerate(contents[turn:], turn):
        calls = [part for part in objects(content.get("parts")) if "functionCall" in part]
        for k, part in enumerate(calls):
            call, given = part["functionCall"], part.get("thoughtSignature")
            assert isinstance(call, Mapping)
            if given is None and (k == 0 or contract.signatures == "each"):
                raise Refused(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
                    " work correctly, and missing thought_signature may lead to degraded model performance. Additional"
                    f" data, function call `default_api:{call.get('name')}` , position {i + 1}. Please refer to"
                    " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
                )
            if given is None or given in SENTINELS:
                continue
            if ledger.signatures.get(str(given)) != signed_call(str(call.get("name")), call.get("args")):
                raise Refused("Corrupted thought signature.")


def signed_call(name: str, args: object) -> str:
    """What a signature stands for."""
    return compact([name, args or {}])


def _says(content: Json) -> bool:
    return any("functionResponse" not in part for part in objects(content.get("parts")))


def units(given: Json) -> list[Unit]:
    """The prompt in the order the model reads it: system, tools, contents."""
    body = normal(given)
    assert isinstance(body, dict)
    parts: list[object] = [body.get("systemInstruction") or [], body.get("tools") or []]
    for content in objects(body.get("contents")):
        parts.append(content.get("role"))
        parts += [_counted(part) for part in objects(content.get("parts"))]
    return [Unit(compact(part)) for part in parts]


def _counted(part: Json) -> object:
    if "inlineData" not in part:
        return {key: value for key, value in part.items() if key != "thoughtSignature"}
    return f"[{signature(part)}]".ljust(4 * PICTURE_TOKENS)


def tokens(body: Json) -> int:
    """About four bytes a token."""
    return tokens_in("".join(unit.text for unit in units(body)))


def pictures(given: Json) -> list[bytes]:
    """The pictures of a request, in their order."""
    body = normal(given)
    assert isinstance(body, dict)
    blobs = [p.get("inlineData") for c in objects(body.get("contents")) for p in objects(c.get("parts"))]
    return [picture(blob.get("data")) or b"" for blob in blobs if isinstance(blob, Mapping)]
