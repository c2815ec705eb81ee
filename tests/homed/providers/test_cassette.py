"""Recordings: what was said word for word, no secret in any corner, and the same answers played back."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from homed.errors import InvalidInput, NotFound
from homed.net import open_http
from homed.providers.base import ProviderError, Source
from homed.providers.cassette import Replay, Tape, read, tape_named
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.openai import openai
from homed.providers.retry import RetryPolicy
from homed.redact import Redactor
from tests.homed.providers.kit import TOOL, ask, source_of
from tests.kit.fake_openai import open_fake_openai

CANARY = "correct-horse-battery-9"
"""A secret that looks like none: it is known only because it is configured."""

LOOKS = "sk-proj-abcdefghijklmnop1234567890"


def tape_in(folder: Path) -> Tape:
    redactor = Redactor([CANARY])
    return tape_named(folder / "cassettes", "one", redactor.redact)


@asynccontextmanager
async def recorded(
    source: Source, key: str, tape: Tape | None, http: httpx2.AsyncClient
) -> AsyncIterator[HttpProvider]:
    client = http if tape is None else tape.client(source, lambda: key, http)
    yield openai(source, HttpPorts(client, lambda: key, policy=RetryPolicy(attempts=1)))


async def test_what_is_recorded_is_played_back_the_same(tmp_path: Path) -> None:
    tape = tape_in(tmp_path)
    async with open_fake_openai() as fake, open_http() as http:
        fake.when("call", {"calls": [{"name": "look", "args": {"at": "你好🌍"}}], "say": "I look."})
        fake.when("weather", {"say": "It rains 🌧 a lot.\u2028\x85Really."})
        source = source_of(fake)
        async with recorded(source, fake.key, tape, http) as provider:
            said = [await ask(provider, "the weather"), await ask(provider, "call it", tools=(TOOL,))]
    assert stat.S_IMODE(tape.path.stat().st_mode) == 0o600
    exchanges = read(tape.path)
    assert [(one["status"], one["ended"]) for one in exchanges] == [(200, "whole")] * 2
    assert exchanges[0]["request"]["messages"][-1]["content"] == "the weather"

    replay = Replay(exchanges)
    async with open_http(replay) as http, recorded(source, "another", None, http) as provider:
        assert await ask(provider, "the weather") == said[0]
        assert await ask(provider, "call it", tools=(TOOL,)) == said[1]
        assert replay.left == 0
        with pytest.raises(NotFound, match="not recorded"):
            await ask(provider, "the weather")


async def test_no_secret_is_in_any_corner(tmp_path: Path) -> None:
    """The source's key in header, address, request and answer; configured ones; what only looks like one."""
    tape = tape_in(tmp_path)

    class Echo(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            frame = {"choices": [{"delta": {"content": f"{CANARY} {request.headers['authorization']} {LOOKS}"}}]}
            text = f"data: {json.dumps(frame)}\n\ndata: [DONE]\n\n".encode()
            middle = text.index(CANARY.encode()) + 5  # a secret in two pieces
            headers = {"set-cookie": f"s={CANARY}", "x-request-id": "r", "retry-after": "3"}

            async def body() -> AsyncIterator[bytes]:
                yield text[:middle]
                yield text[middle:]

            return httpx2.Response(200, headers=headers, content=body())

    key = "plain-key-4711-of-the-source"
    source = Source("test", f"http://user:{CANARY}@x.example/v1?key={key}&api-version=1", "m", adapter="openai")
    async with open_http(Echo()) as http, recorded(source, key, tape, http) as provider:
        said = await ask(provider, f"my password is {CANARY}, and {LOOKS} and {key}")
    assert CANARY in said.text
    text = tape.path.read_text("utf-8")
    for secret in (CANARY, key, LOOKS, "user:"):
        assert secret not in text
    (one,) = read(tape.path)
    assert one["headers"] == {"retry-after": "3"}
    assert "x.example" in one["url"]
    assert len(one["chunks"]) == 1


async def test_a_request_stays_json_whatever_is_taken_out_of_it(tmp_path: Path) -> None:
    """Looked through as one text, a key without an end would take all that follows, and an address what is quoted."""
    tape = tape_in(tmp_path)
    async with open_fake_openai() as fake, open_http() as http:
        fake.when("BEGIN", {"say": "Hello."})
        async with recorded(source_of(fake), "model", tape, http) as provider:
            with pytest.raises(ProviderError):
                await ask(provider, "http://a: and -----BEGIN PRIVATE KEY-----\nMIIE")
    (one,) = read(tape.path)
    assert one["request"]["messages"][-1]["content"] == "http://a: and [secret:private_key]"
    assert (one["request"]["stream"], one["request"]["model"]) == (True, fake.model), "a key that is a word is none"


async def test_a_refusal_is_recorded_without_the_key_that_was_wrong(tmp_path: Path) -> None:
    tape = tape_in(tmp_path)
    async with (
        open_fake_openai() as fake, open_http() as http,
        recorded(source_of(fake), "wrong-key", tape, http) as provider,
    ):  # fmt: skip
        with pytest.raises(ProviderError):
            await ask(provider, "no")
    (one,) = read(tape.path)
    assert (one["status"], one["ended"]) == (401, "whole")
    assert "wrong-key" not in tape.path.read_text("utf-8")


async def test_a_folder_that_cannot_be_written_fails_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cassettes").write_text("in the way")
    async with open_fake_openai() as fake, open_http() as http:
        fake.when("hi", {"say": "Hello."})
        async with recorded(source_of(fake), fake.key, tape_in(tmp_path), http) as provider:
            assert (await ask(provider, "hi")).text == "Hello."
    assert "was not recorded" in caplog.text


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x" * 65])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        tape_named(tmp_path, name, str)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense", '{"v": 2}', "[]", "5", "null", "[" * 100_000, '{"v": 1, "status": "200"}',
        '{"v": 1, "chunks": "x"}',
        '{"v": 1, "chunks": [5]}', '{"v": 1, "chunks": [{"bytes": "!"}]}', '{"v": 1, "chunks": [{}]}',
        '{"v": 1, "headers": {"a": 1}}', '{"v": 1, "headers": ["a"]}', '{"v": 1, "url": 1}',
    ],
)  # fmt: skip
def test_what_is_no_recording_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match=r"x\.jsonl is"):
        read(tmp_path / "x.jsonl")
