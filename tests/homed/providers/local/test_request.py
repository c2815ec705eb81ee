from __future__ import annotations

from homed.providers.base import Assistant, ChatRequest, Message, Source, System, ToolCall, ToolResult, ToolSpec, User
from homed.providers.local.models import EMBEDDED
from homed.providers.local.request import body_of, merged

MINE = Source("mine", "", "tiny", adapter="local", context_window=4096, path="/x.gguf")
TOOL = ToolSpec("look", "Looks.", {"type": "object"})


def test_the_built_in_model_is_offered_no_tools_and_answers_within_bounds() -> None:
    body = body_of(EMBEDDED, ChatRequest((System("s"), User("u")), (TOOL,)))
    assert "tools" not in body
    assert body["max_tokens"] == 256
    assert (body["stream"], body["return_progress"]) == (True, True)


def test_another_model_gets_its_tools_and_half_its_window_to_answer() -> None:
    body = body_of(MINE, ChatRequest((User("u"),), (TOOL,)))
    assert body["max_tokens"] == 2048
    assert "tools" in body
    assert "temperature" not in body


def test_what_the_request_says_comes_first() -> None:
    body = body_of(EMBEDDED, ChatRequest((User("u"),), max_tokens=5, temperature=0.7))
    assert (body["max_tokens"], body["temperature"]) == (5, 0.7)


def test_options_of_the_source_are_merged_in_but_it_always_streams() -> None:
    source = Source("m", "", "t", adapter="local", path="/x", options={"extra": {"top_k": 3}, "stream": False})
    body = body_of(source, ChatRequest((User("u"),)))
    assert (body["top_k"], body["stream"]) == (3, True)


def test_what_one_side_says_in_a_row_is_one_message() -> None:
    call = ToolCall("c", "look", {})
    messages: list[Message] = [
        System("a"), System("b"), User("notes"), User("question"), Assistant("x", (call,)),
        ToolResult("c", "look", "r"), User("y"),
    ]  # fmt: skip
    assert list(merged(messages)) == [
        System("a\n\nb"), User("notes\n\nquestion"), Assistant("x", (call,)), ToolResult("c", "look", "r"), User("y"),
    ]  # fmt: skip
    assert list(merged([])) == []
