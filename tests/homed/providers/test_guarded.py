"""A source learns from its refusals: its window, its quirks, and what it would not take (A2)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from homed.net import open_http
from homed.providers.adapters import native
from homed.providers.base import (
    Assistant,
    ChatRequest,
    ErrorKind,
    Image,
    Message,
    Provider,
    ProviderError,
    Source,
    ToolCall,
    ToolResult,
    User,
)
from homed.providers.guarded import UNSHOWN, Guarded, GuardPorts
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.registry import Sources, open_sources
from homed.providers.retry import RetryPolicy
from homed.providers.trial import red_picture
from tests.homed.providers.kit import TOOL, ask
from tests.homed.providers.test_registry import Secrets, Settings
from tests.kit.fake_server import FakeServer, open_fake

HISTORY: tuple[Message, ...] = (
    User("look"),
    Assistant("", (ToolCall("c1", "look", {"at": "a"}),)),
    ToolResult("c1", "look", "seen"),
    User("and now?"),
)
PICTURE = Image("image/png", red_picture())


@asynccontextmanager
async def guarded(fake: FakeServer, **changes: object) -> AsyncIterator[Guarded]:
    """A source on a fake server; it keeps what it learns for itself."""
    learnt: list[int] = []
    source = replace(Source("test", fake.url, fake.model, fake.wire.name), **changes)  # type: ignore[arg-type]
    async with open_http() as client:
        ports = HttpPorts(client, lambda: fake.key, jitter=lambda: 0.0, policy=RetryPolicy(base=0.001, ceiling=0.002))

        def make(one: Source) -> Provider:
            return HttpProvider(one, native(one.adapter), ports)

        async def learn(window: int) -> None:
            learnt.append(window)

        yield Guarded(source, GuardPorts(make, lambda: learnt[-1] if learnt else 0, learn))


async def test_a_history_that_was_refused_never_goes_out_again_as_it_was_a2() -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        fake.misbehave(status=400, message="messages[1]: something about it")
        with pytest.raises(ProviderError) as caught:
            await ask(provider, *HISTORY, tools=(TOOL,))
        assert caught.value.kind is ErrorKind.BAD_REQUEST
        assert len(fake.chats) == 1, "and it is not asked again by itself (A12)"
        fake.say("here")
        assert (await ask(provider, *HISTORY, User("hello?"), tools=(TOOL,))).text == "here"
        sent = fake.chats[-1].body["messages"]
        assert [message["role"] for message in sent] == ["user", "assistant", "user", "user", "user"]
        assert "called the tool look" in sent[1]["content"]
        assert "seen" in sent[2]["content"]


async def test_what_comes_after_it_goes_as_ever() -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        fake.misbehave(status=422, message="no")
        with pytest.raises(ProviderError):
            await ask(provider, *HISTORY)
        later = (Assistant("", (ToolCall("c2", "look", {}),)), ToolResult("c2", "look", "more"))
        await ask(provider, *HISTORY, *later)
        assert [message["role"] for message in fake.chats[-1].body["messages"]][-2:] == ["assistant", "tool"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(500, "oops"), (401, "bad key"), (429, "slow down"), (500, "error parsing tool call: raw='{'")],
)
async def test_other_failures_leave_the_history_as_it_is(status: int, message: str) -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        for _ in range(2):
            fake.misbehave(status=status, message=message)
        with pytest.raises(ProviderError):
            await ask(provider, *HISTORY)
        fake.script.queue.clear()
        await ask(provider, *HISTORY)
        assert fake.chats[-1].body["messages"][1]["tool_calls"]


async def test_a_picture_that_was_refused_is_described_from_then_on() -> None:
    async with open_fake("openai") as fake, guarded(fake, vision=True) as provider:
        fake.insist(vision=True)
        fake.misbehave(status=400, message="Could not process image")
        with pytest.raises(ProviderError):
            await ask(provider, User("what is it?", (PICTURE,)))
        await ask(provider, User("what is it?", (PICTURE,)))
        assert fake.chats[-1].body["messages"][0]["content"] == f"what is it?\n{UNSHOWN}"


async def test_the_window_that_a_refusal_names_counts_from_then_on() -> None:
    async with open_fake("openai") as fake, guarded(fake, context_window=100_000) as provider:
        fake.insist(context=2048)
        with pytest.raises(ProviderError) as caught:
            await ask(provider, User("x" * 20_000))
        assert (caught.value.kind, caught.value.window) == (ErrorKind.CONTEXT_FULL, 2048)
        assert provider.source.context_window == 2048


async def test_a_window_larger_than_what_is_said_teaches_nothing() -> None:
    async with open_fake("openai") as fake, guarded(fake, context_window=2000) as provider:
        fake.misbehave(status=400, message="This model's maximum context length is 9000 tokens")
        with pytest.raises(ProviderError):
            await ask(provider, "hi")
        assert provider.source.context_window == 2000


@pytest.mark.parametrize(
    ("message", "option", "value"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         "max_tokens_field", "max_completion_tokens"),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature", "omit"),
        ("stream_options: Extra inputs are not permitted", "stream_usage", False),
        ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "call_ids", "nine"),
        ("'messages.1' : property 'reasoning_content' is unsupported", "reasoning", "strip"),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning", "echo"),
        ("Unexpected role 'user' after role 'tool'", "user_after_tool", False),
        ("conversation roles must alternate user and assistant roles", "merge_same_role", True),
        ("developer is not supported as a role: unsupported", "system_role", "system"),
        ("Streaming is not supported for this model", "stream", False),
    ],
)  # fmt: skip
async def test_a_quirk_that_a_refusal_names_is_put_right_at_once(message: str, option: str, value: object) -> None:
    had: dict[str, object] = {"system_role": "developer"} if option == "system_role" else {}
    async with open_fake("openai") as fake, guarded(fake, options=had) as provider:
        fake.misbehave(status=400, message=message)
        fake.say("here")
        assert (await ask(provider, "hi")).text == "here"
        assert len(fake.chats) == 2
        assert provider.source.options[option] == value
        assert provider.adjustments == [f"--option {option}={str(value).lower()}"]
        fake.say("again")
        await ask(provider, "hi")
        assert len(fake.chats) == 3


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("stream_options: Extra inputs are not permitted", {"stream_usage": False}),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         {"max_tokens_field": "max_completion_tokens"}),
    ],
)  # fmt: skip
async def test_two_conversations_that_meet_the_same_quirk_at_once_are_both_answered(
    message: str, options: dict[str, object]
) -> None:
    """What the one has learnt holds for the other: it is no refusal of its history, and nothing to be undone."""
    said: list[str] = []
    async with open_fake("openai") as fake, guarded(fake) as provider:
        for _ in range(2):
            fake.misbehave(status=400, message=message)
        fake.say("here")
        fake.say("here, too")

        async def one() -> None:
            said.append((await ask(provider, *HISTORY, tools=(TOOL,))).text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one)
            nursery.start_soon(one)
        assert sorted(said) == ["here", "here, too"]
        assert provider.source.options == options
        assert len(provider.adjustments) == 1
        assert all(chat.body["messages"][1]["tool_calls"] for chat in fake.chats)


async def test_the_same_refusal_twice_is_told() -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        for _ in range(2):
            fake.misbehave(status=400, message="stream_options: Extra inputs are not permitted")
        with pytest.raises(ProviderError, match="stream_options"):
            await ask(provider, "hi")
        assert len(fake.chats) == 2


@pytest.mark.parametrize("wire", ["openai", "gemini", "ollama"])
async def test_a_model_that_turns_out_to_be_blind_is_told_so(wire: str) -> None:
    async with open_fake(wire) as fake, guarded(fake, vision=True) as provider:
        fake.insist(vision=False)
        said = await ask(provider, User("what is it?", (PICTURE,)))
        assert said.text
        assert UNSHOWN in str(fake.chats[-1].body)
        assert not provider.source.vision
        assert provider.adjustments == ["--no-vision"]


async def test_a_model_that_takes_no_tools_is_asked_without() -> None:
    async with open_fake("ollama") as fake, guarded(fake) as provider:
        fake.insist(tools=False)
        await ask(provider, *HISTORY, tools=(TOOL,))
        assert "tools" not in fake.chats[-1].body
        assert not provider.source.tools


async def test_one_that_is_told_to_think_and_cannot_does_without() -> None:
    async with open_fake("ollama") as fake, guarded(fake, options={"think": "on"}) as provider:
        fake.insist(thinks=False)
        await ask(provider, "hi")
        assert "think" not in fake.chats[-1].body


async def test_a_refusal_in_the_middle_of_an_answer_changes_nothing() -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        fake.say("one two three four five", error_after=3)
        with pytest.raises(ProviderError) as caught:
            await ask(provider, *HISTORY)
        assert caught.value.partial
        await ask(provider, *HISTORY)
        assert fake.chats[-1].body["messages"][1]["tool_calls"]


@asynccontextmanager
async def sources(settings: Settings, secrets: Secrets) -> AsyncIterator[Sources]:
    async with open_sources(settings, secrets) as opened:
        yield opened


async def test_what_was_learnt_survives_a_restart_and_goes_with_the_model_or_the_window() -> None:
    secrets = Secrets()
    settings = Settings(secrets)
    async with open_fake("openai") as fake:
        fake.insist(context=4096, models=())
        source = Source("s", fake.url, "m", context_window=50_000)
        async with sources(settings, secrets) as opened:
            await opened.add(source, fake.key)
            with pytest.raises(ProviderError):
                await ask(opened.provider("s"), User("x" * 40_000))
            assert opened.provider("s").source.context_window == 4096
        async with sources(settings, secrets) as opened:
            assert (opened.learnt(source), opened.provider("s").source.context_window) == (4096, 4096)
            for other in (replace(source, model="n"), replace(source, context_window=60_000)):
                await opened.add(other)
                assert opened.learnt(other) == 0
                assert opened.provider("s").source.context_window == other.context_window
            await opened.add(source)
            assert opened.learnt(source) == 4096, "for as it was then, it is still so"


async def test_a_request_that_was_never_sent_teaches_nothing() -> None:
    async with open_fake("openai") as fake, guarded(fake) as provider:
        assert provider.prepared(ChatRequest(HISTORY)) == ChatRequest(HISTORY)
        assert repr(provider) == "Guarded('test')"
