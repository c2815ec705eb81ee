"""What an OpenAI-compatible server is sent, by the quirks of its source."""

from __future__ import annotations

from typing import Any

import pytest

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
    User,
)
from homed.providers.openai_request import build
from homed.providers.shaping import BRIDGE, CUT_OFF

CALL = ToolCall("call_1", "look", {"at": "a"})
ROUND: tuple[Message, ...] = (Assistant("", (CALL,), "thought"), ToolResult("call_1", "look", "seen"))


def sent(*messages: Message, **options: object) -> dict[str, Any]:
    return build(Source("s", "http://x/v1", "m", options=options), ChatRequest(messages, (), 50, 0.5))


def roles(*messages: Message, **options: object) -> list[str]:
    return [str(message["role"]) for message in sent(*messages, **options)["messages"]]


@pytest.mark.parametrize(
    ("how", "origin", "back"),
    [
        ("auto", "", "thought"), ("auto", "s/m", "thought"), ("auto", "other/m", None), ("echo", "other/m", "thought"),
        ("strip", "s/m", None),
    ],
)  # fmt: skip
def test_thoughts_go_back_as_the_source_wants_a10_a11(how: str, origin: str, back: str | None) -> None:
    message = Assistant("", (CALL,), "thought", origin=origin)
    made = sent(User("hi"), message, ROUND[1], reasoning=how)["messages"][1]
    assert made.get("reasoning_content") == back


def test_echo_sends_the_field_also_where_there_was_none() -> None:
    body = sent(User("hi"), Assistant("", (CALL,)), ROUND[1], reasoning="echo")
    assert body["messages"][1]["reasoning_content"] == ""
    assert (
        "reasoning_content" not in sent(User("hi"), Assistant("text", (), "thought"), reasoning="echo")["messages"][1]
    )


@pytest.mark.parametrize(("how", "content"), [("null", None), ("empty", ""), ("omit", "absent")])
def test_a_message_that_only_calls_has_the_content_it_wants(how: str, content: object) -> None:
    assert sent(User("hi"), *ROUND, empty_content=how)["messages"][1].get("content", "absent") == content


def test_ids_are_as_mistral_wants_them_and_the_same_each_time() -> None:
    ids = [
        [m.get("tool_call_id") or m["tool_calls"][0]["id"] for m in sent(*ROUND, call_ids="nine")["messages"]]
        for _ in range(2)
    ]
    assert ids[0] == ids[1]
    assert ids[0][0] == ids[0][1]
    assert len(ids[0][0]) == 9
    assert ids[0][0].isalnum()
    kept = sent(
        Assistant("", (ToolCall("abcDEF123", "look", {}),)), ToolResult("abcDEF123", "look", "x"), call_ids="nine"
    )
    assert kept["messages"][1]["tool_call_id"] == "abcDEF123"


def test_an_id_is_never_longer_than_openai_takes() -> None:
    long = "call_" + "x" * 80
    body = sent(Assistant("", (ToolCall(long, "look", {}),)), ToolResult(long, "look", "x"))
    id_ = body["messages"][0]["tool_calls"][0]["id"]
    assert len(id_) <= 40
    assert body["messages"][1]["tool_call_id"] == id_


def test_a_person_after_a_result_gets_a_word_between() -> None:
    body = sent(User("hi"), *ROUND, User("note"), user_after_tool=False)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert body["messages"][3]["content"] == BRIDGE
    assert roles(User("hi"), *ROUND, User("note")) == ["user", "assistant", "tool", "user"]


def test_turns_alternate_where_that_is_wanted() -> None:
    body = sent(
        System("s"), Assistant("earlier"), Assistant("and"), User("a"), User("b", (Image("image/png", b"x"),)),
        *ROUND, *ROUND, merge_same_role=True,
    )  # fmt: skip
    made = body["messages"]
    assert [m["role"] for m in made] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert made[1]["content"] == CUT_OFF
    assert made[2]["content"] == "earlier\n\nand"
    assert [part["type"] for part in made[3]["content"]] == ["text", "text", "image_url"]


def test_what_was_said_before_calls_is_joined_to_them() -> None:
    made = sent(User("hi"), Assistant("Let me see."), *ROUND, merge_same_role=True)["messages"]
    assert [message["role"] for message in made] == ["user", "assistant", "tool"]
    assert made[1]["content"] == "Let me see."
    assert made[1]["tool_calls"]


@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_instructions_go_in_the_role_it_wants(role: str) -> None:
    assert roles(System("s"), User("a"), system_role=role) == [role, "user"]


def test_limits_temperature_streams_and_what_is_put_in_besides() -> None:
    body = sent(User("a"), max_tokens_field="max_completion_tokens", temperature="omit", stream_usage=False)
    assert (body["max_completion_tokens"], "temperature" in body, "stream_options" in body) == (50, False, False)
    body = sent(User("a"), stream=False, extra={"model": "other", "seed": 1}, reasoning_effort="low")
    assert ("stream" in body, body["model"], body["seed"], body["reasoning_effort"]) == (False, "other", 1, "low")


def test_a_recording_goes_as_audio() -> None:
    (message,) = sent(User("hear", (), (Audio("audio/mpeg", b"ID3"),)))["messages"]
    assert message["content"][1] == {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}


def test_a_result_may_name_its_tool() -> None:
    assert sent(User("hi"), *ROUND, result_names=True)["messages"][2]["name"] == "look"
