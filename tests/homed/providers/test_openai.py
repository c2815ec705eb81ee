"""The OpenAI adapter against the strict fake server, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import trio
from trio.testing import MockClock

from homed.net import open_http
from homed.providers.base import (
    Assistant,
    ChatRequest,
    ContentDelta,
    ErrorKind,
    Image,
    ProviderError,
    Retrying,
    Source,
    System,
    ToolCall,
    ToolResult,
    User,
)
from homed.providers.http import HttpPorts, Limits
from homed.providers.openai import openai
from tests.homed.providers.kit import TOOL, Said, ask, provider_for, reply_of, source_of
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai
from tests.kit.openai_rules import pictures
from tests.kit.openai_script import Call

TEXT = "你好🌍 — naïve ‮bidi‬ 👩‍👩‍👧‍👦 end"


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


async def test_streams_the_answer_with_its_usage_and_reason(fake: FakeOpenAI) -> None:
    fake.say(TEXT, think="hm 想", cached=3)
    async with provider_for(fake) as provider:
        said = await ask(provider)
    assert (said.text, said.reasoning, said.reason) == (TEXT, "hm 想", "stop")
    assert said.usage.prompt > said.usage.cached == 3 < said.usage.completion


@pytest.mark.parametrize(
    "how", [{"one_byte": True}, {"one_byte": True, "crlf": True}, {"keepalive": True, "crlf": True}]
)
async def test_text_is_byte_identical_however_the_stream_is_cut_a24(fake: FakeOpenAI, how: dict[str, bool]) -> None:
    fake.say(TEXT, think=TEXT, chunk=1, **how)
    async with provider_for(fake) as provider:
        said = await ask(provider)
    assert (said.text, said.reasoning, said.reason) == (TEXT, TEXT, "stop")


async def test_interleaved_fragments_of_parallel_calls_stay_apart_and_in_order_e14(fake: FakeOpenAI) -> None:
    fake.call_tools(Call("look", {"at": "北京" * 5}), Call("look", {"at": "b"}), Call("look"), chunk=3)
    async with provider_for(fake) as provider:
        said = await ask(provider, tools=(TOOL,))
    assert said.calls == [("look", '{"at": "' + "北京" * 5 + '"}'), ("look", '{"at": "b"}'), ("look", "{}")]
    assert said.reason == "tool_calls"


@pytest.mark.parametrize(  # not ("same", "zero"): one id under one index is one call by every reading
    ("ids", "indexes"),
    [("missing", ""), ("missing", "missing"), ("missing", "zero"), ("empty", ""), ("empty", "missing"),
     ("empty", "zero"), ("same", ""), ("same", "missing"), ("", "zero")],
)  # fmt: skip
async def test_two_calls_of_one_tool_get_ids_of_their_own_a14_e14(fake: FakeOpenAI, ids: str, indexes: str) -> None:
    fake.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "b"}), ids=ids, indexes=indexes)
    async with provider_for(fake) as provider:
        said = await ask(provider, tools=(TOOL,))
        assert said.calls == [("look", '{"at": "a"}'), ("look", '{"at": "b"}')]
        assert all(said.ids)
        assert len(set(said.ids)) == 2
        # and what they were given is good enough for the strict server
        results = [ToolResult(id_, "look", "seen") for id_ in said.ids]
        assert (await ask(provider, "go", reply_of(said), *results)).text == "You said: go"


async def test_arguments_sent_as_an_object_are_taken(fake: FakeOpenAI) -> None:
    fake.call_tools(Call("look", {"at": "a"}), arguments_as="object")
    async with provider_for(fake) as provider:
        assert (await ask(provider)).calls == [("look", '{"at": "a"}')]


async def test_broken_arguments_come_as_they_are_and_go_back_as_valid_json_a15(fake: FakeOpenAI) -> None:
    fake.call_tools(Call("look", raw='{"a":1'))
    async with provider_for(fake) as provider:
        said = await ask(provider)
        assert said.calls == [("look", '{"a":1')]
        await ask(provider, "go", reply_of(said), ToolResult(said.ids[0], "look", "not JSON", is_error=True))
    sent = fake.chats[-1].body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert sent == "{}"


async def test_a_server_that_could_not_parse_the_models_call_is_not_asked_the_same_again_a15(fake: FakeOpenAI) -> None:
    fake.misbehave(
        status=500, body={"error": {"message": "error parsing tool call: raw='{\"a\":1', err=unexpected end"}}
    )
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError, match="error parsing tool call") as caught:
            await ask(provider)
    # the turn loop asks once more, with the error shown to the model
    assert (caught.value.kind, caught.value.partial, len(fake.chats)) == (ErrorKind.BAD_REQUEST, False, 1)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("sse", [True, False])
async def test_either_form_of_body_answers_either_form_of_request_e16(fake: FakeOpenAI, asked: bool, sse: bool) -> None:
    fake.misbehave(say=TEXT, think="t", calls=[Call("look", {"at": "a"}), Call("look")], sse=sse)
    async with provider_for(fake, source=source_of(fake, stream=asked)) as provider:
        said = await ask(provider)
    assert (said.text, said.reasoning, said.reason) == (TEXT, "t", "tool_calls")
    assert said.calls == [("look", '{"at": "a"}'), ("look", "{}")]
    assert said.usage.prompt > 0
    assert fake.chats[0].body.get("stream", False) is asked


async def test_a_thinking_source_gets_its_reasoning_back_with_tool_calls_only_a10(fake: FakeOpenAI) -> None:
    fake.insist(reasoning="required")
    fake.call_tool("look", {"at": "a"}, think="I must look")
    fake.say("seen", think="now I know")
    async with provider_for(fake) as provider:
        first = await ask(provider)
        result = ToolResult(first.ids[0], "look", "a wall")
        second = await ask(provider, "go", reply_of(first), result)
        await ask(provider, "go", reply_of(first), result, reply_of(second), "thanks")
    messages = fake.chats[-1].body["messages"]
    assert [m.get("reasoning_content") for m in messages] == [None, "I must look", None, None, None]


async def test_echo_sends_the_field_also_for_a_history_of_another_source_and_strip_never_a11(fake: FakeOpenAI) -> None:
    fake.call_tool("look", {})
    async with provider_for(fake) as provider:
        said = await ask(provider)
    history = ("go", reply_of(said), ToolResult(said.ids[0], "look", "x"))
    fake.insist(reasoning="required")
    async with provider_for(fake, source=source_of(fake, reasoning="echo")) as provider:
        assert (await ask(provider, *history)).text
    fake.insist(reasoning="forbidden")
    thought = replace(reply_of(said), reasoning="I think")
    async with provider_for(fake, source=source_of(fake, reasoning="strip")) as provider:
        assert (await ask(provider, "go", thought, history[2])).text


async def test_a_broken_history_is_repaired_before_the_strict_server_sees_it_a2_a3_a4(fake: FakeOpenAI) -> None:
    fake.call_tools(Call("look", {"at": "a"}), Call("look", {"at": "b"}))
    async with provider_for(fake) as provider:
        said = await ask(provider)
        orphan, lost = ToolResult("call_gone", "look", "from before the cut"), ToolResult(said.ids[1], "look", "")
        answer = await ask(provider, System("be brief"), orphan, "go", reply_of(said), lost, "and?")
    assert answer.text == "You said: and?"
    assert [m["role"] for m in fake.chats[-1].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]


@pytest.mark.parametrize(
    "retry_after",
    [None, "1", "30", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "nan"],
)
@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_source_is_asked_twice_and_the_wait_is_told_a23(
    fake: FakeOpenAI, status: int, retry_after: str | None
) -> None:
    fake.misbehave(status=status, headers={"retry-after": retry_after} if retry_after else {})
    fake.say("ok")
    async with provider_for(fake) as provider:
        said = await ask(provider)
    assert said.text == "ok"
    assert len(said.retries) == 1
    assert said.retries[0].wait <= 0.002
    assert str(status) in said.retries[0].why


@pytest.mark.parametrize("retry_after", ["31", "999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_source_that_asks_for_a_long_wait_is_not_asked_again_a23(fake: FakeOpenAI, retry_after: str) -> None:
    fake.misbehave(status=429, headers={"retry-after": retry_after})
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    assert caught.value.hint.startswith("It takes no questions for ")
    assert len(fake.chats) == 1


async def test_a_source_that_stays_busy_fails_with_its_own_words_a23(fake: FakeOpenAI) -> None:
    for _ in range(2):
        fake.misbehave(status=429, body={"error": {"message": "Rate limit reached for fake-1", "code": "rate_limit"}})
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    error = caught.value
    assert (error.kind, error.status, error.partial) == (ErrorKind.TRANSIENT, 429, False)
    assert "test (127.0.0.1:" in error.message
    assert "Rate limit reached for fake-1" in error.message
    assert error.hint
    assert len(fake.chats) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_never_tried_again_and_never_shown_d6(
    fake: FakeOpenAI, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    wrong = "some plain words"[:4] + "-QwErTy-wrong-key"
    if status == 403:
        fake.misbehave(status=403, body={"error": {"message": f"key {fake.key} may not"}})
    async with provider_for(fake, key=wrong if status == 401 else None) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    error = caught.value
    assert error.kind is ErrorKind.CREDENTIAL
    assert "key" in error.hint
    assert len(fake.chats) == 1
    for key in (wrong, fake.key):
        assert key not in f"{error!r} {error} {error.detail} {provider!r} {caplog.text}"
    assert "[secret:" in error.message


@pytest.mark.parametrize("key", ["sk-abc\ndef-0123456789", "ключ-0123456789", "two words 0123456789"])
async def test_an_impossible_key_is_refused_before_the_http_library_repeats_it_d6(fake: FakeOpenAI, key: str) -> None:
    async with provider_for(fake, key=key) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    assert caught.value.kind is ErrorKind.CREDENTIAL
    chained: BaseException | None = caught.value
    while chained is not None:
        assert key not in repr(chained)
        assert "0123456789" not in str(chained)
        chained = chained.__cause__ or (None if chained.__suppress_context__ else chained.__context__)
    assert not fake.requests


async def test_a_full_context_is_its_own_kind_and_not_retried(fake: FakeOpenAI) -> None:
    fake.insist(context=50)
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider, "long " * 100)
    assert caught.value.kind is ErrorKind.CONTEXT_FULL
    assert "maximum context length is 50" in caught.value.message
    assert len(fake.chats) == 1


async def test_an_unknown_model_says_what_to_check(fake: FakeOpenAI) -> None:
    async with provider_for(fake, source=replace(source_of(fake), model="nope")) as provider:
        with pytest.raises(ProviderError, match="`nope` does not exist") as caught:
            await ask(provider)
    assert caught.value.kind is ErrorKind.BAD_REQUEST
    assert "homed models" in caught.value.hint


@pytest.mark.parametrize(
    "how", [{"cut": 900}, {"error_after": 3}, {"done": False, "cut": 1000}, {"broken_json": True}],
)  # fmt: skip
async def test_what_came_before_a_break_is_kept_and_nothing_is_asked_again(
    fake: FakeOpenAI, how: dict[str, object]
) -> None:
    fake.say("0123456789abcdef", chunk=4, think="t", **how)
    said = Said()
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider, into=said)
    assert caught.value.kind is ErrorKind.TRANSIENT
    assert caught.value.partial
    assert said.reasoning == "t"
    assert "0123456789abcdef".startswith(said.text)
    assert len(fake.chats) == 1


async def test_a_break_before_anything_was_shown_is_asked_again(fake: FakeOpenAI) -> None:
    fake.say("lost", cut=10)
    fake.say("ok")
    async with provider_for(fake) as provider:
        said = await ask(provider)
    assert said.text == "ok"
    assert len(said.retries) == 1


async def test_a_stream_without_done_but_with_a_reason_is_complete(fake: FakeOpenAI) -> None:
    fake.say("all of it", done=False)
    async with provider_for(fake) as provider:
        said = await ask(provider)
    assert (said.text, said.reason) == ("all of it", "stop")
    assert said.usage.prompt


@pytest.mark.parametrize(
    ("hang", "limits", "words", "setting"),
    [
        ("before", Limits(first_byte=0.15), "did not begin to answer within 0.15 s", "core.llm.first_byte_timeout"),
        ("mid", Limits(idle=0.15), "sent nothing more within 0.15 s", "core.llm.idle_timeout"),
    ],
)
async def test_a_silent_source_is_given_up_and_the_setting_named(
    fake: FakeOpenAI, hang: str, limits: Limits, words: str, setting: str
) -> None:
    for _ in range(2):
        fake.say("something longer", hang=hang)
    async with provider_for(fake, limits=limits) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    assert caught.value.kind is ErrorKind.TRANSIENT
    assert words in caught.value.message
    assert setting in caught.value.hint


async def test_nobody_listening_is_said_plainly(fake: FakeOpenAI) -> None:
    port = trio.socket.socket()
    await port.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{port.getsockname()[1]}/v1"
    async with provider_for(fake, source=Source("away", address, "m")) as provider:
        with pytest.raises(ProviderError, match=r"away \(127.0.0.1:\d+\) cannot be reached") as caught:
            await ask(provider)
    port.close()
    assert "base URL" in caught.value.hint


@pytest.mark.parametrize(
    "address", ["", "nonsense", "ftp://x/v1", "http://[::1/v1", "http://exa mple/v1", "http://h:99999/"]
)
async def test_an_address_of_no_use_is_said_plainly(fake: FakeOpenAI, address: str) -> None:
    async with provider_for(fake, source=Source("bad", address, "m")) as provider:
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
    assert "bad" in caught.value.message


async def test_a_web_page_where_an_api_should_be_is_recognised(fake: FakeOpenAI) -> None:
    for status in (404, 404):
        fake.misbehave(status=status, body="<html>not here</html>")
    async with provider_for(fake) as provider:
        with pytest.raises(ProviderError, match="web page") as caught:
            await ask(provider)
    assert caught.value.kind is ErrorKind.BAD_REQUEST


async def test_cancelling_closes_the_connection_at_once(fake: FakeOpenAI) -> None:
    fake.say("slow and steady " * 50, delay=0.02)
    async with provider_for(fake) as provider:
        begun = 0.0
        with trio.CancelScope() as scope:
            async with provider.stream(ChatRequest((User("hi"),))) as parts:
                async for part in parts:
                    if isinstance(part, ContentDelta):
                        begun = trio.current_time()
                        scope.cancel()
        assert trio.current_time() - begun < 2  # the goal is 0.1 s, and the rest of the answer takes 4 s
        with trio.fail_after(60):
            while not fake.chats[0].end:
                await trio.lowlevel.checkpoint()
        assert fake.chats[0].end == "closed"
        # and the source can be asked again at once
        assert (await ask(provider)).text == "You said: hi"


async def test_leaving_early_closes_the_connection(fake: FakeOpenAI) -> None:
    fake.say("slow and steady " * 50, delay=0.02)
    async with provider_for(fake) as provider:
        async with provider.stream(ChatRequest((User("hi"),))) as parts:
            await anext(parts)
        with trio.fail_after(60):
            while not fake.chats[0].end:
                await trio.lowlevel.checkpoint()
    assert fake.chats[0].end == "closed"


async def test_finished_answers_share_one_connection(fake: FakeOpenAI) -> None:
    opened: list[object] = []
    async with provider_for(fake) as provider:
        for _ in range(3):
            await ask(provider)
        late: Any = provider._ports.client._transport
        opened = list(late._client._transport_for_url(httpx2.URL(fake.url))._pool.connections)
    assert len(opened) == 1


async def test_no_more_requests_at_once_than_the_source_allows(fake: FakeOpenAI) -> None:
    for _ in range(3):
        fake.say("x", hang="mid", chunk=1)
    source = replace(source_of(fake), max_concurrent=2)
    async with provider_for(fake, source=source) as provider, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask, provider)
        with trio.fail_after(60):
            while len(fake.chats) < 2:
                await trio.lowlevel.checkpoint()
        with trio.move_on_after(0.1):
            while len(fake.chats) < 3:
                await trio.lowlevel.checkpoint()
        assert len(fake.chats) == 2
        nursery.cancel_scope.cancel()


class _Busy(httpx2.AsyncBaseTransport):
    """A source that always says: come back later."""

    def __init__(self, seconds: int) -> None:
        self.seconds, self.asked = seconds, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        body = httpx2.ByteStream(b'{"error": {"message": "busy"}}')
        return httpx2.Response(429, headers={"retry-after": str(self.seconds)}, stream=body)


async def test_a_long_wait_is_kept_to_and_can_be_cancelled_a23(autojump_clock: MockClock) -> None:
    async with open_http(busy := _Busy(25)) as client:
        provider = openai(Source("busy", "http://x/v1", "m"), HttpPorts(client, lambda: "", jitter=lambda: 0.0))
        begun = trio.current_time()
        with pytest.raises(ProviderError, match="busy"):
            await ask(provider)
        assert trio.current_time() - begun == pytest.approx(25)
        assert busy.asked == 2
        waiting = trio.Event()
        async with trio.open_nursery() as nursery:

            async def wait_long() -> None:
                async with provider.stream(ChatRequest((User("hi"),))) as parts:
                    async for part in parts:
                        assert isinstance(part, Retrying)
                        waiting.set()

            nursery.start_soon(wait_long)
            await waiting.wait()
            cancelled = trio.current_time()
            nursery.cancel_scope.cancel()
        assert trio.current_time() == cancelled


async def test_an_endless_wait_is_not_begun_and_the_person_hears_how_long_it_is_a23(autojump_clock: MockClock) -> None:
    async with open_http(busy := _Busy(3600)) as client:
        provider = openai(Source("busy", "http://x/v1", "m"), HttpPorts(client, lambda: "", jitter=lambda: 0.0))
        begun = trio.current_time()
        with pytest.raises(ProviderError, match="busy") as caught:
            await ask(provider)
        assert (trio.current_time(), busy.asked) == (begun, 1)
        assert "60 minutes" in caught.value.hint


@pytest.mark.parametrize("name", ["functions.look", "look up", "", "n" * 65, "看", "look\x1b", "<|call|>"])
async def test_a_call_of_what_is_no_tool_leaves_a_history_that_can_be_sent(fake: FakeOpenAI, name: str) -> None:
    """A strict server refuses such a name in the history: one slip of a model would end the conversation for good."""
    call = ToolCall("c1", name, {"at": "a"})
    history = (User("go"), Assistant("", (call,)), ToolResult("c1", name, "There is no such tool.", is_error=True))
    fake.say("I see")
    async with provider_for(fake) as provider, provider.stream(ChatRequest((*history, User("and?")), ())) as parts:
        said = "".join([part.text async for part in parts if isinstance(part, ContentDelta)])
    assert said == "I see"
    assert fake.chats[-1].body["messages"][2]["tool_call_id"] == "c1"


async def test_a_tool_s_own_name_goes_back_as_it_was(fake: FakeOpenAI) -> None:
    call = ToolCall("c1", "look-at_2", {})
    fake.say("ok")
    async with provider_for(fake) as provider:
        history = (User("go"), Assistant("", (call,)), ToolResult("c1", "look-at_2", "there"))
        async with provider.stream(ChatRequest(history, ())) as parts:
            _ = [part async for part in parts]
    assert fake.chats[-1].body["messages"][1]["tool_calls"][0]["function"]["name"] == "look-at_2"


async def test_pictures_go_as_parts_behind_the_text_that_names_them(fake: FakeOpenAI) -> None:
    """E17: in a message of the person's, never in a tool's."""
    fake.insist(vision=True)
    data = [b"\x89PNG\r\n\x1a\n" + bytes(300), b"GIF89a" + bytes(range(256))]
    images = (Image("image/png", data[0]), Image("image/gif", data[1]))
    async with provider_for(fake) as provider:
        said = await ask(
            provider, User("what are these?", images), Assistant("cats"), User("sure?"), User("", images[:1])
        )
    assert said.reason == "stop"
    assert pictures(fake.chats[-1].body) == [*data, data[0]]
    first, _, plain, alone = fake.chats[-1].body["messages"]
    assert [part["type"] for part in first["content"]] == ["text", "image_url", "image_url"]
    assert plain["content"] == "sure?"
    assert [part["type"] for part in alone["content"]] == ["image_url"], "no empty text beside it"
