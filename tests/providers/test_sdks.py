"""The official SDKs of OpenAI and Anthropic as judges of the fake servers: their clients must be served as by the real
ones.  (What homed sends is read with their types in every scenario, see ``judge``.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from pydantic import ValidationError

from tests.kit.fake_script import Call
from tests.kit.fake_server import FakeServer, fake_thread
from tests.providers.judge import judge

TEXT = "你好🌍 — fine"
PNG = "iVBORw0KGgoAAAA="
OPENAI_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
}
TOOL: dict[str, Any] = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
THINKING: dict[str, Any] = {"type": "enabled", "budget_tokens": 1024}


@pytest.fixture(params=["openai", "deepseek"])
def chat(request: pytest.FixtureRequest) -> Iterator[tuple[FakeServer, openai.OpenAI]]:
    with (
        fake_thread(request.param) as fake,
        openai.OpenAI(base_url=fake.url, api_key=fake.key, max_retries=0) as client,
    ):
        yield fake, client


@pytest.fixture
def messages() -> Iterator[tuple[FakeServer, anthropic.Anthropic]]:
    with (
        fake_thread("anthropic") as fake,
        anthropic.Anthropic(base_url=fake.root, api_key=fake.key, max_retries=0) as client,
    ):
        yield fake, client


def _talk(begun: list[Any], *more: Any) -> Any:
    """A history as it is written by hand, whatever the SDK calls its parts."""
    return [*begun, *more]


def test_openai_whole_and_streamed(chat: tuple[FakeServer, openai.OpenAI]) -> None:
    fake, client = chat
    fake.say(TEXT, think="hm")
    said: list[Any] = [{"role": "user", "content": "hi"}]
    whole = client.chat.completions.create(model=fake.model, messages=said)
    assert whole.choices[0].message.content == TEXT
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    fake.say(TEXT, think="hm", keepalive=True)
    pieces, used = "", 0
    options: Any = {"include_usage": True}
    for chunk in client.chat.completions.create(model=fake.model, messages=said, stream=True, stream_options=options):
        used = chunk.usage.total_tokens if chunk.usage else used
        pieces += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert pieces == TEXT
    assert used > 0


def test_openai_tools_in_a_stream_and_back(chat: tuple[FakeServer, openai.OpenAI]) -> None:
    fake, client = chat
    fake.call_tools(Call("look", {"at": "北"}), Call("look", {"at": "b"}), think="hm", chunk=2)
    said: list[Any] = [{"role": "user", "content": "go"}]
    with client.chat.completions.stream(model=fake.model, messages=said, tools=[OPENAI_TOOL]) as stream:  # type: ignore[list-item]
        answer = stream.get_final_completion().choices[0].message
    calls = answer.tool_calls or []
    assert [call.function.arguments for call in calls] == ['{"at": "北"}', '{"at": "b"}']
    asked: dict[str, Any] = {
        "role": "assistant", "content": None, "reasoning_content": "hm",
        "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in calls
        ],
    }  # fmt: skip
    if fake.wire.name == "openai":
        del asked["reasoning_content"]
    results: list[Any] = [{"role": "tool", "tool_call_id": call.id, "content": "seen"} for call in calls]
    fake.say("done, {tool}")
    back = client.chat.completions.create(model=fake.model, messages=_talk(said, asked, *results))
    assert back.choices[0].message.content == "done, seen"
    with pytest.raises(openai.BadRequestError, match=r"insufficient tool messages|did not have response messages"):
        client.chat.completions.create(model=fake.model, messages=_talk(said, asked, results[0]))


def test_openai_models_and_failures(chat: tuple[FakeServer, openai.OpenAI]) -> None:
    fake, client = chat
    assert [model.id for model in client.models.list()] == list(fake.contract.models)
    said: list[Any] = [{"role": "user", "content": "hi"}]
    for status, kind in (
        (429, openai.RateLimitError), (500, openai.InternalServerError), (403, openai.PermissionDeniedError),
    ):  # fmt: skip
        fake.misbehave(status=status, message="says why")
        with pytest.raises(kind, match="says why"):
            client.chat.completions.create(model=fake.model, messages=said)
    with pytest.raises((openai.NotFoundError, openai.BadRequestError)):
        client.chat.completions.create(model="gone", messages=said)
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="sk-wrong").chat.completions.create(model=fake.model, messages=said)
    fake.say("half", error_after=1, message="broke off")
    with pytest.raises(openai.APIError, match="broke off"):
        list(client.chat.completions.create(model=fake.model, messages=said, stream=True))


def test_anthropic_whole_and_streamed(messages: tuple[FakeServer, anthropic.Anthropic]) -> None:
    fake, client = messages
    said: list[Any] = [{"role": "user", "content": "hi"}]
    fake.say(TEXT)
    whole = client.messages.create(model=fake.model, max_tokens=100, messages=said)
    assert [block.text for block in whole.content if block.type == "text"] == [TEXT]
    assert whole.stop_reason == "end_turn"
    assert whole.usage.input_tokens > 0
    fake.say(TEXT, think="hm 想", redacted="hidden", keepalive=True)
    with client.messages.stream(model=fake.model, max_tokens=100, messages=said) as stream:
        assert "".join(stream.text_stream) == TEXT
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "redacted_thinking", "text"]
    assert final.usage.output_tokens > 1


def test_anthropic_tools_with_thinking_and_back(messages: tuple[FakeServer, anthropic.Anthropic]) -> None:
    fake, client = messages
    fake.call_tools(Call("look", {"at": "北"}), Call("look"), think="hm", say="Looking.")
    said: list[Any] = [
        {"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "text", "text": "what is this?", "cache_control": {"type": "ephemeral"}},
        ]},
    ]  # fmt: skip
    asked: dict[str, Any] = {"model": fake.model, "max_tokens": 4096, "thinking": THINKING, "tools": [TOOL]}
    with client.messages.stream(messages=said, **asked) as stream:
        answer = stream.get_final_message()
    assert answer.stop_reason == "tool_use"
    assert [block.input for block in answer.content if block.type == "tool_use"] == [{"at": "北"}, {}]
    content = [block.model_dump(exclude_none=True, exclude={"citations", "parsed_output"}) for block in answer.content]
    ids = [block["id"] for block in content if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": id_, "content": "seen"} for id_ in ids]
    history: list[Any] = [*said, {"role": "assistant", "content": content}, {"role": "user", "content": results}]
    fake.say("done")
    assert client.messages.create(messages=history, **asked).stop_reason == "end_turn"
    content[0]["thinking"] = "HM"
    with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
        client.messages.create(messages=history, **asked)
    history[1] = {"role": "assistant", "content": content[1:]}
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking`"):
        client.messages.create(messages=history, **asked)
    with pytest.raises(anthropic.BadRequestError, match="without `tool_result` blocks immediately after"):
        client.messages.create(messages=_talk(history[:2], {"role": "user", "content": results[:1]}), **asked)


def test_anthropic_models_by_pages_and_failures(messages: tuple[FakeServer, anthropic.Anthropic]) -> None:
    fake, client = messages
    fake.insist(models=("fake-1", "fake-2", "fake-3"), page=2)
    assert [model.id for model in client.models.list()] == ["fake-1", "fake-2", "fake-3"]
    said: list[Any] = [{"role": "user", "content": "hi"}]
    asked: dict[str, Any] = {"model": fake.model, "max_tokens": 10, "messages": said}
    for status, kind in ((429, anthropic.RateLimitError), (529, anthropic.InternalServerError)):
        fake.misbehave(status=status, message="says why")
        with pytest.raises(kind, match="says why"):
            client.messages.create(**asked)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(**{**asked, "model": "gone"})
    with pytest.raises(anthropic.AuthenticationError):
        client.with_options(api_key="wrong").messages.create(**asked)
    fake.say("half of it", error_after=3, message="Overloaded")
    with pytest.raises(anthropic.APIError, match="Overloaded"), client.messages.stream(**asked) as stream:
        stream.get_final_message()


def test_the_prompt_cache_of_anthropic_is_told_as_the_real_one_tells_it(
    messages: tuple[FakeServer, anthropic.Anthropic],
) -> None:
    fake, client = messages
    marked: list[Any] = [{"type": "text", "text": "rules " * 1000, "cache_control": {"type": "ephemeral"}}]
    counts = []
    for _ in range(2):
        answer = client.messages.create(
            model=fake.model, max_tokens=10, system=marked, messages=[{"role": "user", "content": "hi"}]
        )
        usage = answer.usage
        counts.append((usage.cache_creation_input_tokens, usage.cache_read_input_tokens, usage.input_tokens))
    (written, none, rest), (nothing, read, again) = counts
    assert written == read
    assert (none, nothing) == (0, 0)
    assert rest == again < 20


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("openai", {"model": "m", "messages": [{"role": "tool", "content": "hi"}]}),
        ("openai", {"model": "m", "messages": [{"role": "user", "content": [{"type": "image"}]}]}),
        ("anthropic", {"model": "m", "messages": []}),
        ("anthropic", {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text"}]}]}),
    ],
)
def test_the_judge_refuses_what_an_sdk_would_not_send(wire: str, body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        judge(wire, body)
