"""``/v1`` on a stand-in kernel: what the network and the kernel do in the middle of an answer, and hostile requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homed.errors import Unavailable
from plugins.webui.limits import Buckets, Limits, Slots

from .client import Answer, Browser, browsing
from .standin import Turn
from .standin_v1 import Programs

PATH = "/v1/chat/completions"


@asynccontextmanager
async def program(kernel: Programs) -> AsyncIterator[tuple[Browser, dict[str, str]]]:
    """Somebody without a cookie, and the headers with a key."""
    async with browsing(kernel) as browser:
        browser.session = ""
        key = kernel.admin_keys_add("webui:owner", f"k{len(kernel.api_keys)}", ["chat"])["key"]
        yield browser, {"Authorization": f"Bearer {key}"}


def change(browser: Browser, **values: object) -> None:
    """Dress the running site otherwise."""
    view: Any = browser.app.view_functions["v1.v1_chat"]
    for name, value in values.items():
        object.__setattr__(view.__self__.site, name, value)


def body(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "homed", "messages": [{"role": "user", "content": text}], **more}


def words(answer: Answer) -> str:
    chunks = [json.loads(line[6:]) for line in answer.body.splitlines() if line.startswith("data: {")]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


async def test_a_stream_ends_with_done_and_sends_signs_of_life() -> None:
    async def slow(turn: Turn) -> None:
        await turn.say("one ")
        await trio.sleep(0.2)
        await turn.say("two")

    kernel = Programs(slow)
    async with program(kernel) as (browser, key):
        change(browser, heartbeat=0.05)
        answer = await browser.ask("POST", PATH, body(stream=True), **key)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["X-Homed-Thread"] in kernel.talks
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.body.endswith("data: [DONE]\n\n")
    assert ": keep-alive\n\n" in answer.body
    assert words(answer) == "one two"
    assert kernel.hub.watchers == 0
    assert kernel.stopped == []


async def test_notices_that_were_lost_are_made_up_for() -> None:
    async def lossy(turn: Turn) -> None:
        await turn.say("one ")
        await trio.sleep(0.05)
        turn.kernel.hub.lost(3)
        await turn.say("two")

    async with program(Programs(lossy)) as (browser, key):
        assert words(await browser.ask("POST", PATH, body(stream=True), **key)) == "one two"
        whole = await browser.ask("POST", PATH, body(), **key)
        assert whole.json["choices"][0]["message"]["content"] == "one two"


async def test_the_words_of_other_turns_are_not_told() -> None:
    async def beside(turn: Turn) -> None:
        turn.kernel.post("content_delta", turn.talk.id, "another turn", step=0, at=0, text="not mine")
        turn.kernel.post("content_delta", "another thread", turn.turn, step=0, at=0, text="nor this")
        await turn.say("mine")

    async with program(Programs(beside)) as (browser, key):
        assert words(await browser.ask("POST", PATH, body(stream=True), **key)) == "mine"


async def test_a_kernel_that_ends_is_an_error_in_the_stream_and_a_status_without_one() -> None:
    kernel = Programs()
    kernel.fail["io.wait"] = Unavailable("homed stopped working on this message before it was answered.")
    async with program(kernel) as (browser, key):
        whole = await browser.ask("POST", PATH, body(), **key)
        assert (whole.status, whole.json["error"]["type"]) == (503, "server_error")
        assert whole.headers["x-should-retry"] == "false", "it was accepted"
        streamed = await browser.ask("POST", PATH, body(stream=True), **key)
        assert streamed.status == 200
        assert '"server_error"' in streamed.body
        assert "[DONE]" not in streamed.body


async def test_too_many_at_once_are_asked_to_wait() -> None:
    async def stays(turn: Turn) -> None:
        await trio.sleep_forever()

    async with program(Programs(stays)) as (browser, key):
        limits = Limits(requests=Buckets(3, 0.001), streams=Slots(0))
        change(browser, limits=limits)
        busy = await browser.ask("POST", PATH, body(), **key)
        assert (busy.status, busy.json["error"]["type"]) == (429, "rate_limit_error")
        assert int(busy.headers["Retry-After"]) >= 1
        assert browser.kernel.inputs == {}, "nothing was said"


async def test_results_that_nobody_waits_for_are_the_clients_mistake() -> None:
    result = {"role": "tool", "tool_call_id": "call_1", "content": "x"}
    async with program(Programs()) as (browser, key):
        answer = await browser.ask("POST", PATH, {**body(), "messages": [result]}, **key)
        assert (answer.status, answer.json["error"]["param"]) == (400, "messages")


async def test_calls_are_pieces_that_make_up_a_call() -> None:
    async def never(turn: Turn) -> None:
        await trio.sleep_forever()

    kernel = Programs(never)
    kernel.open_calls = [{"call": f"call_{at}", "name": "f", "args": {"at": at, "s": "ü"}} for at in range(2)]
    async with program(kernel) as (browser, key):
        whole = (await browser.ask("POST", PATH, body(), **key)).json
        streamed = await browser.ask("POST", PATH, body(stream=True), **key)
        assert kernel.stopped == [], "it waits for the results"
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert whole["choices"][0]["message"]["content"] is None
    made: dict[int, dict[str, str]] = {}
    for line in streamed.body.splitlines():
        for choice in json.loads(line[6:])["choices"] if line.startswith("data: {") else ():
            for call in choice["delta"].get("tool_calls", ()):
                known = made.setdefault(call["index"], {"id": call.get("id", ""), "arguments": ""})
                known["arguments"] += call["function"]["arguments"]
    assert [one["id"] for one in made.values()] == ["call_0", "call_1"]
    assert [json.loads(one["arguments"])["at"] for one in made.values()] == [0, 1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image_url", "file", "input_audio", "refusal", "x"])},
    optional={"text": JSON, "image_url": JSON, "file": JSON, "input_audio": JSON},
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "function", ""])},
    optional={"content": JSON | st.lists(PART, max_size=3), "tool_calls": JSON, "tool_call_id": JSON, "name": JSON},
)
REQUEST = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["homed", "homed:x", "gpt", ""]) | JSON,
        "messages": st.lists(MESSAGE, max_size=4) | JSON,
    },
    optional=dict.fromkeys(("stream", "tools", "tool_choice", "n", "stop", "stream_options", "metadata"), JSON),
)


@given(st.lists(REQUEST | JSON, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_sent_is_answered_or_refused_in_the_form_of_the_clients(asked: list[Any]) -> None:
    async def quick(turn: Turn) -> None:
        await turn.say("ok")

    async def main() -> None:
        async with program(Programs(quick)) as (browser, key):
            for one in asked:
                answer = await browser.ask("POST", PATH, one if one is not None else "null", **key)
                assert answer.status in (200, 400, 404), (answer.status, answer.body)
                if answer.status != 200:
                    assert set(answer.json["error"]) == {"message", "type", "param", "code"}

    trio.run(main)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"model": "\\ud800"}'])
async def test_bytes_that_are_no_request(raw: bytes) -> None:
    async with program(Programs()) as (browser, key):
        answer = await browser.send("POST", PATH, raw, Content_Type="application/json", **key)
        assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
