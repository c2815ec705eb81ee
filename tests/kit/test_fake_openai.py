"""The fake server is as strict as the real one, and as badly behaved as it is told to be."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from trio.testing import wait_all_tasks_blocked

from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread, open_fake_openai
from tests.kit.fake_server import FakeServer, wire_named
from tests.kit.openai_rules import Contract, Refused, check, check_key, pictures, tokens
from tests.kit.openai_script import Reply, Script
from tests.kit.openai_wire import asked

USER = {"role": "user", "content": "hi"}


def assistant(*ids: str, **fields: object) -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def tool(id_: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id_, "content": "seen"}


def with_call(**changes: object) -> list[dict[str, Any]]:
    message = assistant("a")
    message["tool_calls"][0].update(changes)
    return [USER, message, tool("a")]


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def test_a_model_that_sees_takes_pictures_and_counts_them_by_their_size() -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(200_000)
    content = [{"type": "text", "text": "what is this?"}, picture(data_url("image/png", data))]
    body = {"model": "fake-1", "messages": [{"role": "user", "content": content}]}
    check(Contract(vision=True), body)
    assert pictures(body) == [data]
    assert tokens(body) < 1000


REFUSED: list[tuple[list[Any], str, str | None]] = [
    ([], "empty array", None),
    ([{"role": "boss", "content": "x"}], "Invalid value: 'boss'. Supported values are:", "invalid_value"),
    ([USER, tool("a")], "must be a response to a preceeding message with 'tool_calls'", None),
    ([USER, assistant("a"), tool("b")], "must be a response to a preceeding message", None),
    ([USER, assistant("a"), tool("a"), tool("a")], "must be a response to a preceeding message", None),
    ([USER, assistant("a", "b"), tool("a"), USER], "did not have response messages: b", None),
    ([USER, assistant("a")], "did not have response messages: a", None),
    ([USER, assistant("a"), {"role": "tool", "content": "x"}], "Missing parameter 'tool_call_id'", None),
    ([USER, assistant("a"), tool("")], "Missing parameter 'tool_call_id'", None),
    ([USER, assistant("a", "a"), tool("a")], "Duplicate value", None),
    ([USER, assistant(content="x", tool_calls=[])], "empty array", "empty_array"),
    (with_call(id=""), "Missing required parameter: 'messages[1].tool_calls[0].id'", "missing_required_parameter"),
    (with_call(function={"name": "look", "arguments": {}}), "expected a string, but got an object", "invalid_type"),
    (with_call(function={"name": "no spaces", "arguments": "{}"}), "function.name", "invalid_value"),
    ([{"role": "user", "content": None}], "expected a string, got null", None),
    ([{"role": "assistant", "content": None}], "expected a string, got null", None),
    (["text"], "expected an object", "invalid_type"),
    ([{"role": "user", "content": []}], "empty array", "empty_array"),
    (
        [{"role": "user", "content": [{"type": "image"}]}],
        "Supported values are: 'text' and 'image_url'",
        "invalid_value",
    ),
    ([{"role": "user", "content": [{"type": "text"}]}], "[0].text", "missing_required_parameter"),
    ([{"role": "user", "content": [picture("https://x/cat.png")]}], "Invalid base64 image_url", "invalid_value"),
    ([{"role": "user", "content": [picture(data_url("image/png", b""))]}], "Invalid base64 image_url", "invalid_value"),
    (
        [{"role": "user", "content": [picture(data_url("image/svg+xml", b"<svg/>"))]}],
        "base64 image_url",
        "invalid_value",
    ),
    (
        [{"role": "user", "content": [picture(data_url("image/png", b"GIF89a"))]}],
        "unsupported image",
        "invalid_image_format",
    ),
    (
        [{"role": "user", "content": [picture(data_url("image/gif", b"GIF89a"))]}],
        "only supported by certain models",
        None,
    ),
    (
        [{"role": "assistant", "content": [picture(data_url("image/gif", b"GIF89a"))]}],
        "Supported values are: 'text'",
        "invalid_value",
    ),
    ([{"role": "user", "content": "long " * 40_000}], "maximum context length is 32768", "context_length_exceeded"),
]


@pytest.mark.parametrize(("messages", "words", "code"), REFUSED)
def test_refuses_what_the_real_server_refuses_in_its_words(messages: list[Any], words: str, code: str | None) -> None:
    with pytest.raises(Refused) as caught:
        check(Contract(), {"model": "fake-1", "messages": messages})
    assert words in caught.value.message
    assert (caught.value.status, caught.value.code) == (400, code)


@pytest.mark.parametrize(
    "messages",
    [[USER], [USER, assistant("a", "b"), tool("b"), tool("a"), USER], [{"role": "system", "content": ""}, USER]],
)
def test_takes_what_the_real_server_takes(messages: list[Any]) -> None:
    check(Contract(), {"model": "fake-1", "messages": messages, "stream": True, "stream_options": {}})


@pytest.mark.parametrize(
    ("body", "words", "status"),
    [
        ({}, "must provide a model", 400),
        ({"model": "other"}, "`other` does not exist", 404),
        ({"model": "fake-1", "surprise": 1}, "Unknown parameter: 'surprise'", 400),
        ({"model": "fake-1", "stream_options": {}}, "only allowed when 'stream' is enabled", 400),
        ({"model": "fake-1", "tools": []}, "Invalid 'tools': empty array", 400),
        ({"model": "fake-1", "tools": [{"type": "function"}]}, "tools[0].function", 400),
        ({"model": "fake-1", "tools": [{"type": "function", "function": {"name": "a b"}}]}, "pattern", 400),
        (
            {"model": "fake-1", "tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}]},
            "Invalid schema for function 'a'",
            400,
        ),
    ],
)
def test_refuses_bad_parameters(body: dict[str, Any], words: str, status: int) -> None:
    with pytest.raises(Refused) as caught:
        check(Contract(), {"messages": [USER], **body})
    assert words in caught.value.message
    assert caught.value.status == status


def test_a_reasoning_contract_holds_both_ways() -> None:
    with_it = {"model": "fake-1", "messages": [USER, assistant("a", reasoning_content="r"), tool("a")]}
    without = {"model": "fake-1", "messages": [USER, assistant("a"), tool("a")]}
    check(Contract(reasoning="required"), with_it)
    check(Contract(reasoning="forbidden"), without)
    for mode, body in (("required", without), ("forbidden", with_it)):
        with pytest.raises(Refused):
            check(Contract(reasoning=mode), body)


def test_only_its_own_key_opens() -> None:
    check_key(Contract(), f"Bearer {Contract().key}")
    check_key(Contract(key=""), "")
    for given in ("", "Bearer ", "Bearer wrong"):
        with pytest.raises(Refused) as caught:
            check_key(Contract(), given)
        assert caught.value.status == 401


def test_a_rule_answers_step_by_step_and_its_alternatives_one_after_the_other() -> None:
    script = Script()
    script.load({"rules": [{"when": "go", "steps": [[{"status": 503}, {"say": "first"}], {"say": "then {tool}"}]}]})
    start = {"messages": [{"role": "user", "content": "go on"}]}
    after = {"messages": [*start["messages"], assistant("a"), {"role": "tool", "tool_call_id": "a", "content": "T"}]}
    assert [script.choose(asked(start)).status for _ in range(3)] == [503, 200, 200]
    assert script.choose(asked(start)).say == "first"
    assert script.choose(asked(after)).say == "then T"
    assert script.choose(asked({"messages": [USER]})).say == "You said: hi"


def test_a_typing_slip_in_a_script_is_an_error() -> None:
    with pytest.raises(ValueError, match="dealy"):
        Reply.parse({"say": "x", "dealy": 1})
    with pytest.raises(ValueError, match="rulez"):
        FakeServer(wire_named("openai")).load({"rulez": []})


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


async def post(fake: FakeOpenAI, body: object, *, key: str | None = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {fake.key if key is None else key}"}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{fake.url}/chat/completions", headers=headers, content=content)


async def test_serves_models_and_refuses_unknown_paths_and_keys(fake: FakeOpenAI) -> None:
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {fake.key}"}) as client:
        assert (await client.get(f"{fake.url}/models")).json()["data"][0]["id"] == fake.model
        assert (await client.get(f"{fake.url}/nothing")).status_code == 404
    refused = await post(fake, {}, key="sk-nope")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


async def test_broken_json_is_a_400_and_recorded(fake: FakeOpenAI) -> None:
    answer = await post(fake, b"{")
    assert answer.status_code == 400
    assert "could not parse the JSON body" in fake.requests[-1].error


async def test_answers_in_both_forms_with_usage(fake: FakeOpenAI) -> None:
    body = {"model": fake.model, "messages": [USER]}
    whole = (await post(fake, body)).json()
    assert whole["choices"][0]["message"]["content"] == "You said: hi"
    assert whole["usage"]["total_tokens"] > 0
    streamed = (await post(fake, {**body, "stream": True})).text
    assert streamed.endswith("data: [DONE]\n\n")
    assert [request.end for request in fake.requests] == ["complete", "complete"]


async def test_drops_the_connection_at_the_byte_it_was_told(fake: FakeOpenAI) -> None:
    fake.say("something", cut=7)
    with pytest.raises(httpx2.RemoteProtocolError):
        await post(fake, {"model": fake.model, "messages": [USER], "stream": True})
    assert (fake.requests[-1].end, fake.requests[-1].sent) == ("dropped", 7)


async def test_an_answer_hangs_until_its_word_and_those_after_it_do_not(fake: FakeOpenAI) -> None:
    fake.when("hi", {"say": "one two three four five", "hang": "until lunch"})
    body = {"model": fake.model, "messages": [USER], "stream": True}
    async with (
        httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {fake.key}"}) as client,
        client.stream("POST", f"{fake.url}/chat/completions", json=body) as answer,
    ):
        lines = answer.aiter_lines()
        while not (await anext(lines)).startswith("data:"):
            pass
        fake.release("another")
        await wait_all_tasks_blocked(0.01)
        assert fake.requests[-1].end == "", "it stands in the middle"
        fake.release("lunch")
        assert "data: [DONE]" in [line async for line in lines]
    assert (await post(fake, body)).text.endswith("data: [DONE]\n\n")
    assert [request.end for request in fake.requests] == ["complete", "complete"]


def test_runs_in_a_thread_for_tests_without_a_loop() -> None:
    with fake_openai_thread({"key": "", "default": {"say": "thread"}}) as fake:
        body = {"model": fake.model, "messages": [USER]}
        answer = httpx2.post(f"{fake.url}/chat/completions", json=body, trust_env=False)
    assert answer.json()["choices"][0]["message"]["content"] == "thread"
    assert fake.requests[0].body == body


def test_runs_as_a_process_and_records_what_reached_it(tmp_path: Path) -> None:
    script, port, record = tmp_path / "s.json", tmp_path / "port", tmp_path / "r.jsonl"
    script.write_text(json.dumps({"rules": [{"when": "天气", "steps": [{"say": "晴🌞"}]}]}), encoding="utf-8")
    command = [sys.executable, "-m", "tests.kit.fake_openai", "--port-file", str(port), "--script", str(script)]
    root = Path(__file__).parents[2]
    with subprocess.Popen([*command, "--record", str(record)], cwd=root, env={**os.environ}) as child:
        try:
            deadline = time.monotonic() + 30
            while not port.exists() and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.02)
            url = f"http://127.0.0.1:{port.read_text()}/v1/chat/completions"
            key = {"Authorization": f"Bearer {Contract().key}"}
            body = {"model": "fake-1", "messages": [{"role": "user", "content": "今天天气?"}]}
            answer = httpx2.post(url, json=body, headers=key, trust_env=False).json()
        finally:
            child.send_signal(signal.SIGTERM)
    assert answer["choices"][0]["message"]["content"] == "晴🌞"
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert (lines[0]["status"], lines[0]["body"]) == (200, body)
    assert lines[1]["end"] == "complete"
