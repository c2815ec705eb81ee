"""Each fake server refuses what its real one refuses, in its words, and takes what that takes."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.kit.anthropic_thoughts import sealed, signed
from tests.kit.fake_script import Reply
from tests.kit.fake_server import WIRES, wire_named
from tests.kit.fake_wire import Contract, Exchange, Incoming, Ledger, Prompt, Refused, Unit, prompt_of
from tests.kit.gemini_rules import signed_call

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode()
HUGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(4_000_000)).decode()
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}
DIRT: Any = object()


def judged(wire: str, body: dict[str, Any], ledger: Ledger | None = None, **contract: Any) -> str:
    """What the server says of a request: its refusal, or nothing."""
    made = wire_named(wire)
    request = Incoming("POST", "/", {}, {"anthropic-version": "2023-06-01"})
    try:
        made.check(replace(made.contract(), **contract), ledger or Ledger(), request, body)
    except Refused as refused:
        found = refused
    else:
        return ""
    assert found.status in (400, 404, 500), found
    json.dumps(made.error(found))
    return found.message


# -- Anthropic ---------------------------------------------------------------------------------------------------------

HI: dict[str, Any] = {"role": "user", "content": "hi"}
TOOL: dict[str, Any] = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}


def use(id_: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "look", "input": {}, **more}


def result(id_: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": "seen", **more}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def thought(text: str = "hm", signature: str = "") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature or signed(text)}


def image(kind: str = "image/png", data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}

ANTHROPIC: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": DIRT}, "max_tokens: Field required"),
    ({"max_tokens": 0}, "greater than or equal to 1"),
    ({"surprise": 1}, "surprise: Extra inputs are not permitted"),
    ({"model": "gone"}, "model: gone"),
    ({"temperature": 1.5}, "temperature"),
    ({"messages": []}, "at least one message is required"),
    ({"messages": [{"role": "system", "content": "x"}, HI]}, 'Unexpected role "system"'),
    ({"messages": [said({"type": "text", "text": "x"}), HI]}, 'first message must use the "user" role'),
    ({"messages": [HI, HI]}, "roles must alternate"),
    ({"messages": [HI, said({"type": "text", "text": "x"})]}, "must end with a user message"),
    ({"messages": [told()]}, "all messages must have non-empty content"),
    ({"messages": [{"role": "user", "content": ""}]}, "all messages must have non-empty content"),
    ({"messages": [told({"type": "text", "text": ""})]}, "text content blocks must be non-empty"),
    ({"messages": [told({"type": "text", "text": " \n"})]}, "must contain non-whitespace text"),
    ({"messages": [told({"type": "text", "text": "x", "id": 1})]}, "text.id: Extra inputs are not permitted"),
    ({"messages": [told(use())]}, "does not match any of the expected tags"),
    (
        {"messages": [HI, said(use()), HI]},
        "`tool_use` ids were found without `tool_result` blocks immediately after: a",
    ),
    ({"messages": [told(result())]}, "unexpected `tool_use_id` found in `tool_result` blocks: a"),
    ({"messages": [HI, said(use()), told({"type": "text", "text": "x"}, result())]}, "immediately after: a"),
    ({"messages": [HI, said(use(), use("b")), told(result())]}, "immediately after: b"),
    ({"messages": [HI, said(use()), told(result(), result())]}, "must have a single result"),
    ({"messages": [HI, said(use(), use()), told(result())]}, "ids must be unique"),
    ({"messages": [HI, said(use("a b")), told(result("a b"))]}, "tool_use.id: String should match pattern"),
    ({"messages": [HI, said(use(input="{}")), told(result())]}, "input: Input should be a valid dictionary"),
    ({"messages": [told(image("image/svg+xml"))]}, "media_type: Input should be"),
    ({"messages": [told(image(data="???"))]}, "invalid base64 data"),
    ({"messages": [told(image("image/gif"))]}, "Could not process image"),
    (
        {"messages": [told(image(data=HUGE))]},
        "image exceeds 5 MB maximum",
    ),
    ({"tools": [{**TOOL, "name": "no spaces"}]}, "name: String should match pattern"),
    ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
    ({"tools": [{"name": "look"}]}, "input_schema: Field required"),
    ({"tools": [{**TOOL, "input_schema": {"type": "object", "anyOf": []}}]}, "does not support oneOf, allOf, or anyOf"),
    ({"tools": [{**TOOL, "parameters": {}}]}, "parameters: Extra inputs are not permitted"),
    ({"tool_choice": {"type": "auto"}}, "may only be specified while providing `tools`"),
    ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "gone"}}, "Tool 'gone' not found"),
    ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice"),
    ({**THINKING, "max_tokens": 1024}, "must be greater than `thinking.budget_tokens`"),
    ({**THINKING, "temperature": 0.5}, "may only be set to 1 when thinking is enabled"),
    ({**THINKING, "tools": [TOOL], "tool_choice": {"type": "any"}}, "when tool_choice forces tool use"),
    ({**THINKING, "messages": [HI, said(use()), told(result())]}, "Expected `thinking` or `redacted_thinking`"),
    ({**THINKING, "messages": [HI, said(use()), told(result(), {"type": "text", "text": "x"})]}, "Expected `thinking`"),
    ({"messages": [HI, said(thought("hm", "forged"), use()), told(result())]}, "cannot be modified"),
    (
        {"messages": [HI, said(thought("hm", "forged"), use()), told(result()), said(use("b")), told(result("b"))]},
        "Invalid `signature` in `thinking` block",
    ),
    ({"messages": [HI, said({"type": "redacted_thinking", "data": "x"}, use()), told(result())]}, "cannot be modified"),
    ({"messages": [HI, said({**thought(), "cache_control": {"type": "ephemeral"}})]}, "Extra inputs"),
    (
        {
            "messages": [
                told(*({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}} for _ in range(5)))
            ]
        },
        "A maximum of 4 blocks with cache_control",
    ),
    ({"messages": [{"role": "user", "content": "long " * 200_000}]}, "prompt is too long: "),
    ({"max_tokens": 250_000}, "input length and `max_tokens` exceed context limit"),
]


@pytest.mark.parametrize(("changes", "words"), ANTHROPIC)
def test_anthropic_refuses_in_its_words(changes: dict[str, Any], words: str) -> None:
    body = {"model": "fake-1", "max_tokens": 100, "messages": [HI], **changes}
    found = judged("anthropic", {key: value for key, value in body.items() if value is not DIRT})
    assert words in found, found


def test_anthropic_takes_what_is_right() -> None:
    ledger = Ledger(
        signatures={sealed("x"): "x"}, calls={"a": [thought(), {"type": "redacted_thinking", "data": sealed("x")}]}
    )
    hidden = {"type": "redacted_thinking", "data": sealed("x")}
    history = [told(image(), {"type": "text", "text": "hi"}), said(thought(), hidden, use()), told(result(), image())]
    body = {"model": "fake-1", "tools": [TOOL], "messages": history, "system": [{"type": "text", "text": "s"}]}
    assert judged("anthropic", {**body, **THINKING}, ledger) == ""
    assert judged("anthropic", {**body, "max_tokens": 5}, ledger) == ""
    history[1] = said(thought(), use())
    assert "cannot be modified" in judged("anthropic", {**body, **THINKING}, ledger), "one of two is left out"
    assert judged("anthropic", {"model": "fake-1", "max_tokens": 5, "messages": [HI, HI]}, alternate=False) == ""


# -- Gemini ------------------------------------------------------------------------------------------------------------

ASK: dict[str, Any] = {"role": "user", "parts": [{"text": "go"}]}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def fc(name: str = "look", mark: str = "skip_thought_signature_validator", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}, **({"thoughtSignature": mark} if mark else {})}


def fr(name: str = "look", response: Any = DIRT) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"result": "seen"} if response is DIRT else response}}


def back(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def declared(schema: Any, name: str = "look") -> list[dict[str, Any]]:
    return [{"functionDeclarations": [{"name": name, "description": "d", "parameters": schema}]}]


GEMINI: list[tuple[dict[str, Any], str]] = [
    ({"contents": []}, "contents is not specified"),
    ({"no_such": 1}, 'Unknown name "no_such": Cannot find field'),
    ({"generationConfig": {"max_tokens": 1}}, "Unknown name \"max_tokens\" at 'generation_config'"),
    ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "Please use a valid role: user, model."),
    ({"contents": [{"role": "user", "parts": []}]}, "contents.parts must not be empty"),
    ({"contents": [back({"text": ""})]}, "required oneof field 'data' must have one initialized field"),
    ({"contents": [back({"image_url": "x"})]}, 'Unknown name "image_url"'),
    ({"systemInstruction": {"parts": [{"text": ""}]}}, "system_instruction.parts"),
    ({"contents": [model(fc())]}, "function call turn comes immediately after a user turn"),
    ({"contents": [ASK, back(fr())]}, "function response turn comes immediately after a function call turn"),
    ({"contents": [ASK, model(fc(), fc("now", "")), back(fr())]}, "number of function response parts is equal"),
    ({"contents": [ASK, model(fc()), back(fr("other"))]}, "function response turn comes immediately after"),
    ({"contents": [ASK, model(fc())]}, "end with a user role"),
    ({"contents": [ASK, model(fc(mark="")), back(fr())]}, "missing a thought_signature in functionCall parts"),
    ({"contents": [ASK, model(fc(mark="forged")), back(fr())]}, "Corrupted thought signature"),
    ({"contents": [ASK, model(fc(args="{}")), back(fr())]}, "google.protobuf.Struct"),
    ({"contents": [ASK, model(fc()), back(fr(response="seen"))]}, "google.protobuf.Struct"),
    ({"contents": [back({"inlineData": {"mimeType": "image/svg+xml", "data": PNG}})]}, "Unsupported MIME type"),
    ({"contents": [back({"inlineData": {"mimeType": "image/png", "data": "?"}})]}, "Base64 decoding failed"),
    ({"contents": [back({"inlineData": {"mimeType": "image/gif", "data": PNG}})]}, "Unable to process input image"),
    ({"tools": declared(SCHEMA, "1 bad")}, "Invalid function name"),
    ({"tools": declared({"type": "object", "properties": {}})}, "should be non-empty for OBJECT type"),
    ({"tools": declared({**SCHEMA, "additionalProperties": False})}, 'Unknown name "additionalProperties"'),
    ({"tools": declared({**SCHEMA, "$schema": "x"})}, 'Unknown name "$schema"'),
    ({"tools": declared({"type": "object", "properties": {"a": {"type": ["string", "null"]}}})}, "not repeating"),
    ({"tools": declared({"type": "object", "properties": {"a": {"type": "array"}}})}, "items: missing field"),
    ({"tools": declared({"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}})}, "only allowed"),
    ({"tools": declared({**SCHEMA, "required": ["b"]})}, "property is not defined: b"),
    ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "without function_declarations"),
    ({"contents": [back({"text": "long " * 1_000_000})]}, "exceeds the maximum number of tokens allowed (1048576)"),
]


@pytest.mark.parametrize(("changes", "words"), GEMINI)
def test_gemini_refuses_in_its_words(changes: dict[str, Any], words: str) -> None:
    found = judged("gemini", {"contents": [ASK], **changes})
    assert words in found, found


def test_gemini_holds_to_the_signatures_of_the_current_turn() -> None:
    ledger = Ledger(signatures={"s1": signed_call("look", {}), "s2": signed_call("now", {})})
    first, second = fc("look", "s1"), fc("now", "s2")
    assert judged("gemini", {"contents": [ASK, model(first, second), back(fr(), fr("now"))]}, ledger) == ""
    swapped = {"contents": [ASK, model(fc("look", "s2"), fc("now", "s1")), back(fr(), fr("now"))]}
    assert "Corrupted" in judged("gemini", swapped, ledger)
    unsigned = {"contents": [ASK, model(first, fc("now", "")), back(fr(), fr("now"))]}
    assert judged("gemini", unsigned, ledger) == ""
    assert "missing a thought_signature" in judged("gemini", unsigned, ledger, signatures="each")
    earlier = [ASK, model(fc("look", "")), back(fr()), model({"text": "done"}), ASK]
    assert judged("gemini", {"contents": earlier}, ledger) == "", "turns before the current one are not looked at"
    shown = {"inline_data": {"mime_type": "image/png", "data": PNG}}
    snake = {"contents": [back(shown)], "system_instruction": {"parts": [{"text": "s"}]}}
    assert judged("gemini", snake) == "", "both spellings of a field are taken"


# -- Ollama and DeepSeek -----------------------------------------------------------------------------------------------

CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"function": {"name": "look", "arguments": {}}}],
}
OLLAMA: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"model": ""}, {}, "model is required"),
    ({"model": "gone"}, {}, "model 'gone' not found"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, {}, "cannot unmarshal array"),
    (
        {"messages": [{**CALLED, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}]}, {},
        "cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments",
    ),
    ({"messages": [{**HI, "images": ["data:image/png;base64,AAAA"]}]}, {"vision": True}, "illegal base64 data"),
    ({"messages": [{**HI, "images": [PNG]}]}, {}, "missing data required for image input"),
    ({"tools": [{"type": "function", "function": {"name": "a"}}]}, {"tools": False}, "does not support tools"),
    ({"tools": [{"type": "function"}]}, {}, "cannot unmarshal"),
    ({"think": True}, {"thinks": False}, '"fake-1" does not support thinking'),
    ({"messages": [{"role": "user", "content": "long " * 5000}]}, {}, "the input length exceeds the context length"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "contract", "words"), OLLAMA)
def test_ollama_refuses_in_its_words(changes: dict[str, Any], contract: dict[str, Any], words: str) -> None:
    found = judged("ollama", {"model": "fake-1", "messages": [HI], **changes}, **contract)
    assert words in found, found


def test_ollama_takes_much_and_can_cut_without_a_word() -> None:
    body = {"model": "fake-1:latest", "messages": [HI, CALLED, HI], "surprise": 1}
    assert judged("ollama", body) == ""
    long = {"model": "fake-1", "messages": [{"role": "user", "content": "long " * 5000}]}
    assert judged("ollama", long, overflow="truncate") == ""
    assert judged("ollama", {**long, "options": {"num_ctx": 16_384}}) == "", "the window that was asked for"


def deep(*messages: Any, **contract: Any) -> str:
    return judged("deepseek", {"model": "fake-1", "messages": list(messages)}, **contract)


def test_deepseek_refuses_in_its_words() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    called: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    done = {"role": "tool", "tool_call_id": "a", "content": "seen"}
    assert deep(HI, {**called, "reasoning_content": ""}, done) == ""
    assert "must be passed back" in deep(HI, called, done)
    assert "missing field `tool_call_id`" in deep(HI, {"role": "tool", "content": "x"})
    assert "insufficient tool messages" in deep(HI, {**called, "reasoning_content": "r"}, HI)
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}
    assert "unknown variant `image_url`, expected `text`" in deep(picture)
    calls[0]["function"] = {"name": "look", "arguments": {}}
    assert "invalid type: map, expected a string" in deep(HI, {**called, "reasoning_content": "r"}, done)
    older = {"reasoning": "forbidden"}
    assert "not allowed" in deep(HI, {"role": "assistant", "content": "x", "reasoning_content": "r"}, HI, **older)
    assert "does not support successive user" in deep(HI, HI, **older)
    assert "Model Not Exist" in judged("deepseek", {"model": "gone", "messages": [HI]})
    assert "maximum context length is 10 tokens" in deep({"role": "user", "content": "long " * 20}, context=10)


# -- What they share ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_whole_answers_and_frames_are_json(wire: str) -> None:
    made = wire_named(wire)
    reply = Reply(say="你好", think="hm")
    exchange = Exchange(reply, {"model": "fake-1"}, 1, Prompt(5, 2), made.contract())
    json.loads(made.whole(exchange))
    if wire != "gemini":
        assert all(frame.endswith(b"\n") for frame in made.frames(exchange))
    else:
        assert json.loads(b"".join(made.frames(exchange))), "without alt=sse a stream is one array"


def test_prefixes_are_cached_from_a_size_on_in_steps() -> None:
    contract, ledger = Contract(cache_min=10, cache_unit=4), Ledger()
    assert prompt_of(contract, ledger, [Unit("a" * 100)]) == Prompt(25)
    assert prompt_of(contract, ledger, [Unit("a" * 100), Unit("b" * 40)]) == Prompt(35, 24)
    assert prompt_of(contract, ledger, [Unit("a" * 20), Unit("c" * 40)]) == Prompt(15), "too short to be cached"


def test_what_is_marked_is_cached_and_nothing_else() -> None:
    contract, ledger = Contract(cache_min=10), Ledger()
    rules, question = Unit("r" * 100, True), Unit("q" * 40)
    assert prompt_of(contract, ledger, [rules, question]) == Prompt(35, 0, 25)
    assert prompt_of(contract, ledger, [rules, Unit("other")]) == Prompt(27, 25, 0)
    assert prompt_of(contract, ledger, [Unit("x" + "r" * 100, True), question]).cached == 0
