"""Ollama's wire, both ways, and its answers however they are cut."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.base import (
    Assistant,
    ChatRequest,
    Image,
    Message,
    Source,
    System,
    ToolCall,
    ToolResult,
    Usage,
    User,
)
from homed.providers.failures import BrokenOff, Reported, Unreadable
from homed.providers.ollama import OllamaAdapter
from homed.providers.ollama_answer import OllamaDecoder
from homed.providers.ollama_request import build
from tests.homed.providers.kit import TOOL, gathered

CALL = ToolCall("c1", "look", {"at": "a"})
LINES = [
    {"message": {"role": "assistant", "thinking": "想 🌍"}, "done": False},
    {"message": {"role": "assistant", "content": "你好"}, "done": False},
    {"message": {"role": "assistant", "content": "🌍!"}, "done": False},
    {
        "message": {
            "role": "assistant",
            "tool_calls": [
                {"function": {"name": "look", "arguments": {"at": "a"}}},
                {"function": {"name": "look", "arguments": '{"at": 1'}},
            ],
        },
        "done": False,
    },
    {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 20,
     "eval_count": 5},
]  # fmt: skip
STREAM = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in LINES)


def sent(*messages: Message, window: int = 16_384, **options: object) -> dict[str, Any]:
    source = Source("o", "http://x", "qwen", "ollama", context_window=window, options=options)
    return build(source, ChatRequest(messages, (TOOL,)))


def decoded(*chunks: bytes) -> Any:
    numbers = itertools.count(1)
    decoder = OllamaDecoder(lambda: f"c{next(numbers)}")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    return gathered([*parts, *decoder.end()])


def check(said: Any) -> None:
    assert (said.text, said.reasoning, said.reason) == ("你好🌍!", "想 🌍", "tool_calls")
    assert said.calls == [("look", '{"at": "a"}'), ("look", '{"at": 1')]
    assert (said.ids, said.usage) == (["c1", "c2"], Usage(20, 5))


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_an_answer_is_the_same_wherever_it_is_cut_a24(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    check(decoded(*(STREAM[a:b] for a, b in itertools.pairwise(places))))


@pytest.mark.parametrize("indent", [None, 2])
def test_one_object_is_the_same_also_when_it_is_written_for_people(indent: int | None) -> None:
    message = {"role": "assistant", "content": "你好🌍!", "thinking": "想 🌍"} | {
        "tool_calls": LINES[3]["message"]["tool_calls"]  # type: ignore[index]
    }
    check(decoded(json.dumps({**LINES[-1], "message": message}, indent=indent).encode()))


def test_a_last_line_without_its_end_counts() -> None:
    check(decoded(STREAM.rstrip()))


def test_an_id_that_the_server_gave_is_kept_once() -> None:
    call = {"id": "own", "function": {"name": "look", "arguments": {}}}
    line = {"message": {"tool_calls": [call, call]}, "done": True}
    assert decoded(json.dumps(line).encode()).ids == ["own", "c1"]


def test_arguments_are_objects_and_results_go_by_name_a13() -> None:
    messages = sent(System("s"), User("hi"), Assistant("", (CALL,), "thought"), ToolResult("c1", "look", "seen"))[
        "messages"
    ]
    assert messages == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "thinking": "thought",
         "tool_calls": [{"function": {"name": "look", "arguments": {"at": "a"}}}]},
        {"role": "tool", "content": "seen", "tool_name": "look"},
    ]  # fmt: skip
    foreign = sent(User("hi"), Assistant("", (CALL,), "thought", origin="other/m"), ToolResult("c1", "look", "x"))
    assert "thinking" not in foreign["messages"][1]


def test_the_window_is_asked_for_and_may_be_another() -> None:
    assert sent(User("a"))["options"] == {"num_ctx": 16_384}
    assert sent(User("a"), num_ctx=2048)["options"] == {"num_ctx": 2048}


@pytest.mark.parametrize(("given", "value"), [("on", True), ("off", False), ("low", "low")])
def test_whether_to_think(given: str, value: object) -> None:
    assert sent(User("a"), think=given)["think"] == value
    assert "think" not in sent(User("a"))


def test_how_long_it_stays_loaded() -> None:
    assert sent(User("a"), keep_alive="30m")["keep_alive"] == "30m"
    assert sent(User("a"), keep_alive="-1")["keep_alive"] == -1
    assert "keep_alive" not in sent(User("a"))


def test_pictures_are_base64_beside_the_text() -> None:
    (message,) = sent(User("see", (Image("image/png", b"\x89PNG"),)))["messages"]
    assert message == {"role": "user", "content": "see", "images": ["iVBORw=="]}


@pytest.mark.parametrize("base", ["http://x", "http://x/", "http://x/v1", "http://x/api", "http://x/api/chat"])
def test_the_address(base: str) -> None:
    source = Source("o", base, "m", "ollama")
    assert OllamaAdapter().url(source) == "http://x/api/chat"
    assert "Authorization" not in OllamaAdapter().headers(source, "")
    assert OllamaAdapter().headers(source, "k")["Authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": "model runner has gone"}', Reported),
        (STREAM[:60], BrokenOff),
        (STREAM.splitlines(keepends=True)[0] + b"{broken\n", Unreadable),
        (b'{"message": {"content": "\xff"}}\n', Unreadable),
        (b"<html>", Unreadable),
    ],
)
def test_what_went_wrong_is_told(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decoded(body)
