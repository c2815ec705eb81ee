"""Anthropic's wire, both ways, and its answers however they are cut."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.anthropic import AnthropicAdapter, api
from homed.providers.anthropic_answer import AnthropicDecoder
from homed.providers.anthropic_request import build
from homed.providers.base import (
    Assistant,
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
from homed.providers.failures import BrokenOff, Reported
from tests.homed.providers.kit import TOOL, gathered
from tests.kit.anthropic_rules import check as allowed
from tests.kit.fake_wire import Contract, Ledger

SOURCE = Source("a", "https://api.anthropic.com", "claude", "anthropic", context_window=200_000)
THOUGHT = {"type": "thinking", "thinking": "看一下 🌍", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5j"}
CALLS = (ToolCall("t1", "look", {"at": "a"}), ToolCall("t2", "look", {}))
LAYOUT = Opaque("anthropic", json.dumps([THOUGHT, {"t": 5}, {"c": "t1"}, HIDDEN, {"c": "t2"}]))
RESULTS = (ToolResult("t1", "look", "one"), ToolResult("t2", "look", "two", is_error=True))


def sent(*messages: Message, tools: tuple[ToolSpec, ...] = (), **options: object) -> dict[str, Any]:
    return build(Source(**{**_fields(SOURCE), "options": options}), ChatRequest(messages, tools))


def _fields(source: Source) -> dict[str, Any]:
    return {name: getattr(source, name) for name in source.__slots__}


def minted() -> Callable[[], str]:
    return (f"minted-{n}" for n in itertools.count()).__next__


def decoded(*chunks: bytes) -> Any:
    decoder = AnthropicDecoder(minted())
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    parts += decoder.end()
    return gathered(parts), [part for part in parts if isinstance(part, Opaque)]


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


ANSWER = stream(
    {"type": "message_start", "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 90,
                                                    "cache_creation_input_tokens": 5, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "看一下 "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "🌍"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "你好🌍!"}},
    {"type": "content_block_start", "index": 2, "content_block": USE},
    {"type": "content_block_start", "index": 3, "content_block": HIDDEN},
    {"type": "content_block_start", "index": 4, "content_block": USE},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"at": '}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '"a"}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}},
    {"type": "message_stop"},
)  # fmt: skip


def check(said: Any, opaque: list[Opaque]) -> None:
    assert (said.text, said.reasoning, said.reason) == ("你好🌍!", "看一下 🌍", "tool_calls")
    assert said.calls == [("look", '{"at": "a"}'), ("look", "")]
    assert said.ids == ["t1", "minted-0"]
    assert said.usage == Usage(105, 30, 90)
    assert json.loads(opaque[0].data) == [THOUGHT, {"t": 4}, {"c": "t1"}, HIDDEN, {"c": "minted-0"}]


@given(st.lists(st.integers(0, len(ANSWER)), max_size=6))
def test_an_answer_is_the_same_wherever_it_is_cut_a24(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    check(*decoded(*(ANSWER[a:b] for a, b in itertools.pairwise(places))))


def test_a_whole_answer_is_the_same_as_a_stream_e16() -> None:
    whole = {
        "type": "message",
        "content": [
            THOUGHT, {"type": "text", "text": "你好🌍!"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}}, HIDDEN,
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5,
                  "output_tokens": 30},
    }  # fmt: skip
    check(*decoded(json.dumps(whole).encode()))


def test_what_goes_back_is_what_came_byte_for_byte_and_in_its_place_a9() -> None:
    said, (opaque,) = decoded(ANSWER)
    calls = (ToolCall("t1", "look", {"at": "a"}), ToolCall("minted-0", "look", {}))
    message = Assistant(said.text, calls, said.reasoning, opaque)
    results = (ToolResult("t1", "look", "one"), ToolResult("minted-0", "look", "two"))
    body = sent(User("hi"), message, *results, thinking=2048)
    assert body["messages"][1]["content"] == [
        THOUGHT, {"type": "text", "text": "你好🌍!"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}}, HIDDEN,
        {"type": "tool_use", "id": "minted-0", "name": "look", "input": {}},
    ]  # fmt: skip
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["max_tokens"] > 2048


@pytest.mark.parametrize(
    "changed",
    [
        Assistant("other length", CALLS, "", LAYOUT),
        Assistant("12345", CALLS[:1], "", LAYOUT),
        Assistant("12345", CALLS[::-1], "", LAYOUT),
        Assistant("12345", CALLS, "", Opaque("gemini", LAYOUT.data)),
        Assistant("12345", CALLS, "", Opaque("anthropic", "no json")),
        Assistant("12345", CALLS, "", Opaque("anthropic", '[{"type": "image"}]')),
        Assistant("12345", CALLS, "", LAYOUT, "b/other"),
    ],
)
def test_what_does_not_fit_the_message_or_is_of_another_source_is_left_out_whole(changed: Assistant) -> None:
    results = tuple(ToolResult(call.id, call.name, "x") for call in changed.calls)
    body = sent(User("hi"), changed, *results, thinking=2048)
    assert "thinking" not in json.dumps(body)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"] + ["tool_use"] * len(changed.calls)


def test_thinking_is_asked_for_again_once_the_person_has_spoken() -> None:
    foreign = Assistant("12345", CALLS[:1])
    past = (User("hi"), foreign, ToolResult("t1", "look", "x"), Assistant("done"))
    assert sent(*past, User("and now?"), thinking=2048)["thinking"]["budget_tokens"] == 2048
    assert sent(*past[:3], thinking="adaptive")["thinking"] == {"type": "adaptive"}
    assert "thinking" not in sent(*past, User("and now?"))


def limits(thinking: object, most: int | None = None, *, window: int = 200_000, **options: object) -> tuple[Any, Any]:
    """Tokens of the answer, and of these for thinking."""
    source = Source(**{**_fields(SOURCE), "options": {"thinking": thinking, **options}, "context_window": window})
    body: dict[str, Any] = build(source, ChatRequest((User("hi"),), (), most))
    allowed(Contract(models=(), context=window), Ledger(), body)
    return body["max_tokens"], body.get("thinking", {}).get("budget_tokens")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # nothing is said: what is thought has room beside the answer
        (limits(2048), (8192, 2048)),
        (limits(16_000), (17_024, 16_000)),
        # what the request or the source says holds for both together
        (limits(16_000, 4096), (4096, 3072)),
        (limits(16_000, 2048), (2048, 1024)),
        (limits(16_000, 2047), (2047, None)),
        (limits(2048, 50), (50, None)),
        (limits(2048, 4096), (4096, 2048)),
        (limits(16_000, max_tokens=8192), (8192, 7168)),
        (limits(16_000, 6000, max_tokens=8192), (6000, 4976)),
        # and so does the window
        (limits(16_000, window=16_384), (8192, 7168)),
        (limits(16_000, window=2048), (1024, None)),
        (limits("adaptive", 2000), (2000, None)),
        (limits("off"), (8192, None)),
    ],
)
def test_thinking_stays_within_what_an_answer_may_have(found: object, expected: object) -> None:
    assert found == expected


def test_without_room_for_thinking_the_blocks_of_before_are_left_out_as_well() -> None:
    said, (opaque,) = decoded(ANSWER)
    calls = (ToolCall("t1", "look", {"at": "a"}), ToolCall("minted-0", "look", {}))
    results = (ToolResult("t1", "look", "one"), ToolResult("minted-0", "look", "two"))
    history = (User("hi"), Assistant(said.text, calls, said.reasoning, opaque), *results)
    source = Source(**{**_fields(SOURCE), "options": {"thinking": 2048}})
    assert "thinking" not in json.dumps(build(source, ChatRequest(history, (), 1500)))
    assert "thinking" in json.dumps(build(source, ChatRequest(history, (), 4000)))


def test_turns_alternate_and_results_come_first_and_together() -> None:
    body = sent(
        System("Be brief."), Assistant("Earlier."), User("hi"), User("there"), Assistant("12345", CALLS), *RESULTS,
        User("note"), Assistant(" "), Assistant("So."),
    )  # fmt: skip
    assert [message["role"] for message in body["messages"]] == ["user", "assistant"] * 3 + ["user"]
    results = body["messages"][4]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert [block.get("is_error") for block in results] == [None, True, None]
    assert body["system"][0]["text"] == "Be brief."
    assert "Earlier" not in str(body["messages"][0])


def test_a_used_id_is_never_used_again_and_strange_ones_are_made_fit() -> None:
    again = (Assistant("", (ToolCall("call.0:x", "look", {}),)), ToolResult("call.0:x", "look", "1"))
    body = sent(User("hi"), *again, User("more"), *again)
    ids = [b["id"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"]
    answered = [b["tool_use_id"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert ids == answered
    assert len(set(ids)) == 2
    assert all(id_.replace("_", "").isalnum() for id_ in ids)


def test_pictures_go_behind_the_text_that_names_them() -> None:
    content = sent(User("see", (Image("image/png", b"\x89PNG"),)))["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image"]
    assert content[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}


def test_the_prompt_is_marked_to_be_kept_at_three_places() -> None:
    body = sent(System("s"), User("a"), Assistant("b"), User("c"), tools=(TOOL, TOOL))
    marked = [body["tools"][-1], body["system"][-1], body["messages"][-1]["content"][-1]]
    assert [block["cache_control"] for block in marked] == [{"type": "ephemeral"}] * 3
    assert json.dumps(body).count("cache_control") == 3
    assert "cache_control" not in json.dumps(sent(User("a"), cache="off"))
    assert sent(User("a"), cache="1h")["messages"][0]["content"][0]["cache_control"]["ttl"] == "1h"


def test_tools_keep_their_schema_but_for_alternatives_at_the_top() -> None:
    tool = ToolSpec("t", "d", {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}, "anyOf": []})
    assert sent(User("a"), tools=(tool,))["tools"][0]["input_schema"] == {
        "type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}},
    }  # fmt: skip
    gone = sent(User("a"), Assistant("", CALLS[:1]), RESULTS[0])
    assert (gone["tool_choice"], [tool["name"] for tool in gone["tools"]]) == ({"type": "none"}, ["look"])


def test_the_person_s_own_words_win() -> None:
    body = sent(User("a"), extra={"metadata": {"user_id": "me"}}, max_tokens=77, stream=False, effort="low")
    assert (body["metadata"], body["max_tokens"], "stream" in body) == ({"user_id": "me"}, 77, False)
    assert body["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("base", ["https://x", "https://x/", "https://x/v1", "https://x/v1/messages"])
def test_the_address_and_the_headers(base: str) -> None:
    source = Source("a", base, "m", "anthropic", options={"betas": "b-1", "headers": {"x-api-key": "other"}})
    assert api(source) == "https://x/v1"
    assert AnthropicAdapter().url(source) == "https://x/v1/messages"
    headers = AnthropicAdapter().headers(source, "key")
    assert (headers["anthropic-version"], headers["anthropic-beta"]) == ("2023-06-01", "b-1")
    assert headers["x-api-key"] == "other"
    assert "x-api-key" not in AnthropicAdapter().headers(SOURCE, "")


@pytest.mark.parametrize(
    ("events", "error"),
    [
        (stream({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), Reported),
        (stream({"type": "message_delta", "delta": {"stop_reason": "refusal"}}), Reported),
        (
            stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
            BrokenOff,
        ),
        (b'data: {"type": "content_block_delta", "ind', BrokenOff),
    ],
)
def test_what_went_wrong_is_told(events: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decoded(events)


@pytest.mark.parametrize(
    ("reason", "ours"), [("end_turn", "stop"), ("max_tokens", "length"), ("pause_turn", "stop"), ("other", "other")]
)
def test_why_it_ended(reason: str, ours: str) -> None:
    said, opaque = decoded(stream({"type": "message_delta", "delta": {"stop_reason": reason}}))
    assert (said.reason, opaque) == (ours, [])
