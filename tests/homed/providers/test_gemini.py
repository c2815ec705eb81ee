"""Gemini's wire, both ways, and its answers however they are cut."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.base import (
    Assistant,
    Audio,
    ChatRequest,
    Image,
    Message,
    Opaque,
    Source,
    System,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    User,
)
from homed.providers.failures import BrokenOff, Reported, Unreadable
from homed.providers.gemini import GeminiAdapter, api
from homed.providers.gemini_answer import GeminiDecoder
from homed.providers.gemini_request import build
from tests.homed.providers.kit import TOOL, gathered

URL = "https://generativelanguage.googleapis.com/v1beta"
SENTINEL = "skip_thought_signature_validator"
CALLS = (ToolCall("c1", "look", {"at": "a"}), ToolCall("c2", "look", {}))
RESULTS = (ToolResult("c1", "look", "one"), ToolResult("c2", "look", "two", is_error=True))


def sent(*messages: Message, tools: tuple[ToolSpec, ...] = (), **options: object) -> dict[str, Any]:
    return build(Source("g", URL, "gemini", "gemini", options=options), ChatRequest(messages, tools))


def decoded(*chunks: bytes) -> Any:
    numbers = itertools.count(1)
    decoder = GeminiDecoder(lambda: f"c{next(numbers)}")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    parts += decoder.end()
    return gathered(parts), [part for part in parts if isinstance(part, Opaque)]


def candidate(*parts: dict[str, Any], reason: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [made | ({"finishReason": reason} if reason else {})]}


EVENTS = [
    candidate({"text": "想 🌍", "thought": True}),
    candidate({"text": "你好"}),
    candidate({"text": "🌍!"}),
    candidate({"functionCall": {"name": "look", "args": {"at": "a"}}, "thoughtSignature": "sig-1"}),
    candidate({"functionCall": {"name": "look"}, "thoughtSignature": "sig-2"}),
    candidate({"text": "", "thoughtSignature": "sig-3"}, reason="STOP")
    | {
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7,
                          "thoughtsTokenCount": 3, "totalTokenCount": 110},
    },
]  # fmt: skip
STREAM = b"".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n".encode() for event in EVENTS)
LAYOUT = [{"t": 4}, {"c": "c1", "s": "sig-1"}, {"c": "c2", "s": "sig-2"}, {"t": 0, "s": "sig-3"}]


def check(said: Any, opaque: list[Opaque]) -> None:
    assert (said.text, said.reasoning, said.reason) == ("你好🌍!", "想 🌍", "tool_calls")
    assert (said.calls, said.ids) == ([("look", '{"at": "a"}'), ("look", "{}")], ["c1", "c2"])
    assert said.usage == Usage(100, 10, 60)
    assert json.loads(opaque[0].data) == LAYOUT


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_an_answer_is_the_same_wherever_it_is_cut_a24(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    check(*decoded(*(STREAM[a:b] for a, b in itertools.pairwise(places))))


def test_a_list_of_responses_and_one_response_are_the_same_e16() -> None:
    check(*decoded(json.dumps(EVENTS).encode()))
    parts = [part for event in EVENTS for part in event["candidates"][0]["content"]["parts"]]
    check(*decoded(json.dumps({**EVENTS[-1], **candidate(*parts, reason="STOP")}).encode()))


def test_every_signature_goes_back_with_the_part_it_came_with_a12() -> None:
    said, (opaque,) = decoded(STREAM)
    body = sent(User("hi"), Assistant(said.text, CALLS, said.reasoning, opaque), *RESULTS)
    assert body["contents"][1]["parts"] == [
        {"text": "你好🌍!"},
        {"functionCall": {"name": "look", "args": {"at": "a"}}, "thoughtSignature": "sig-1"},
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "sig-2"},
        {"text": "", "thoughtSignature": "sig-3"},
    ]
    assert body["contents"][2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "look", "response": {"result": "one"}}},
            {"functionResponse": {"name": "look", "response": {"error": "two"}}},
        ],
    }


@pytest.mark.parametrize(
    "message",
    [
        Assistant("", CALLS),
        Assistant("", CALLS, "", Opaque("anthropic", "[]")),
        Assistant("shorter", CALLS, "", Opaque("gemini", json.dumps(LAYOUT))),
        Assistant("1234", CALLS[:1], "", Opaque("gemini", json.dumps(LAYOUT))),
        Assistant("1234", CALLS, "", Opaque("gemini", json.dumps(LAYOUT)), "g/another-model"),
        Assistant("1234", CALLS, "", Opaque("gemini", "{")),
    ],
)
def test_calls_of_another_source_get_the_documented_sentinel_a12(message: Assistant) -> None:
    results = tuple(ToolResult(call.id, call.name, "x") for call in message.calls)
    parts = sent(User("hi"), message, *results)["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts if "functionCall" in part] == [SENTINEL] * len(message.calls)
    plain = sent(User("hi"), message, *results, foreign_signature="")["contents"][1]["parts"]
    assert "thoughtSignature" not in json.dumps(plain)


def test_an_id_that_the_source_gave_goes_back_with_call_and_result() -> None:
    said, (opaque,) = decoded(json.dumps(candidate({"functionCall": {"id": "own", "name": "look"}})).encode())
    assert said.ids == ["own"]
    call = ToolCall("own", "look", {})
    contents = sent(User("hi"), Assistant("", (call,), "", opaque), ToolResult("own", "look", "x"))["contents"]
    assert contents[1]["parts"][0]["functionCall"]["id"] == "own"
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "own"


def test_turns_are_as_it_wants_them() -> None:
    body = sent(
        System("Be brief."), Assistant("Earlier."), User("hi"), Assistant("", CALLS), *RESULTS, User("note"),
        User("two"), Assistant("So."), User(" "),
    )  # fmt: skip
    assert [content["role"] for content in body["contents"]] == [
        "user",
        "model",
        "user",
        "model",
        "user",
        "user",
        "model",
        "user",
    ]
    assert all("functionResponse" in part for part in body["contents"][4]["parts"])
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


def test_media_go_inline() -> None:
    parts = sent(User("hear", (Image("image/png", b"\x89PNG"),), (Audio("audio/wav", b"RIFF"),)))["contents"][0][
        "parts"
    ]
    assert [part["inlineData"]["mimeType"] for part in parts[1:]] == ["image/png", "audio/wav"]


def test_settings_of_the_answer() -> None:
    assert sent(User("a"), thinking=2048)["generationConfig"]["thinkingConfig"] == {
        "includeThoughts": True, "thinkingBudget": 2048,
    }  # fmt: skip
    assert sent(User("a"), thinking="adaptive")["generationConfig"]["thinkingConfig"]["thinkingBudget"] == -1
    assert sent(User("a"), effort="low")["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "low"
    assert "generationConfig" not in sent(User("a"))
    declared = sent(User("a"), tools=(TOOL, ToolSpec("now", "Tells.", {"type": "object"})))["tools"][0]
    assert [one.get("parameters", {}).get("type") for one in declared["functionDeclarations"]] == ["object", None]


@pytest.mark.parametrize("base", [URL, f"{URL}/", f"{URL}/openai", URL.removesuffix("/v1beta")])
def test_the_address_has_the_model_and_never_the_key(base: str) -> None:
    source = Source("g", base, "gemini-2.5-flash", "gemini")
    assert api(source) == URL
    assert GeminiAdapter().url(source) == f"{URL}/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    quiet = Source("g", base, "tunedModels/x y", "gemini", options={"stream": False})
    assert GeminiAdapter().url(quiet) == f"{URL}/tunedModels/x%20y:generateContent"
    assert GeminiAdapter().headers(source, "key")["x-goog-api-key"] == "key"


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        (candidate(reason="SAFETY"), Reported, "refusal"),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, Reported, "refusal"),
        (candidate(reason="MALFORMED_FUNCTION_CALL"), Reported, "error parsing tool call"),
        ({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, Reported, "overloaded"),
    ],
)
def test_what_it_will_not_or_cannot_say_is_told(body: dict[str, Any], error: type[Reported], said: str) -> None:
    with pytest.raises(error) as caught:
        decoded(json.dumps(body).encode())
    assert said in json.dumps(caught.value.body)


def test_an_answer_that_breaks_off() -> None:
    with pytest.raises(BrokenOff):
        decoded(STREAM[: len(STREAM) // 2])
    with pytest.raises(Unreadable):
        decoded(b"[{]")
