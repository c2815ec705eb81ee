"""The models of a server, in whatever shape it lists them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homed.errors import InvalidInput
from homed.net import open_http
from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.failures import Where
from homed.providers.http import Limits
from homed.providers.listing import Available, fetch, following, read, where
from homed.providers.presets import PRESETS
from tests.homed.providers.test_registry import Secrets, Settings
from tests.kit.fake_server import open_fake

WHERE = Where("s", "host")


def listed(body: Any) -> list[Available]:
    return read(WHERE, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("entry", "model"),
    [
        ({"id": "gpt-5-mini", "object": "model"}, Available("gpt-5-mini")),
        ({"id": "c", "display_name": "Claude", "max_input_tokens": 200000}, Available("c", "Claude", 200_000)),
        (
            {"name": "models/gemini-2.5-flash", "displayName": "Flash", "inputTokenLimit": 1048576,
             "supportedGenerationMethods": ["generateContent"]},
            Available("gemini-2.5-flash", "Flash", 1_048_576),
        ),
        (
            {"name": "qwen3:8b", "model": "qwen3:8b", "details": {"parameter_size": "8.2B"}},
            Available("qwen3:8b", "8.2B"),
        ),
        (
            {"id": "mistral-small", "max_context_length": 131072,
             "capabilities": {"completion_chat": True, "vision": True, "function_calling": True}},
            Available("mistral-small", "", 131_072, vision=True, tools=True),
        ),
        ({"id": "llama", "context_window": 8192, "active": True}, Available("llama", "", 8192)),
        (
            {"id": "openai/gpt-4.1", "name": "GPT-4.1", "limits": {"max_input_tokens": 8000},
             "supported_input_modalities": ["text", "image"], "capabilities": ["streaming", "tool-calling"]},
            Available("openai/gpt-4.1", "GPT-4.1", 8000, vision=True, tools=True),
        ),
        (
            {"id": "x/y", "context_length": 4096, "architecture": {"input_modalities": ["text"]}},
            Available("x/y", "", 4096, vision=False),
        ),
        ({"id": "local", "meta": {"n_ctx_train": 2048}}, Available("local", "", 2048)),
    ],
)  # fmt: skip
def test_reads_a_model_of_every_usual_shape(entry: dict[str, Any], model: Available) -> None:
    assert listed({"data": [entry]}) == [model]
    assert listed([entry]) == [model]


def test_leaves_out_what_cannot_be_talked_with_and_what_is_no_model() -> None:
    body = {
        "models": [
            {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
            {"id": "embed", "capabilities": {"completion_chat": False}},
            {"id": ""},
            {"id": 5},
            "text",
            {"id": "b"},
            {"id": "a"},
            {"id": "a"},
            {"id": "evil\x1b[2J\nname"},
        ]
    }
    assert [one.id for one in listed(body)] == ["a", "b", "evil[2Jname"]


@pytest.mark.parametrize("raw", [b"<html>", b"{}", b'{"data": {}}', b"5", b"[" * 100_000])
def test_what_is_no_list_is_said_to_be_none(raw: bytes) -> None:
    with pytest.raises(ProviderError, match="list of models"):
        read(WHERE, raw)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.name)
def test_the_key_goes_in_a_header_and_the_list_is_on_the_same_server(preset: Any) -> None:
    url, headers = where(preset.source, "the-key")
    assert "the-key" in "".join(headers.values())
    assert "the-key" not in url
    assert url.split("/")[2] == preset.source.base_url.split("/")[2]


@pytest.mark.parametrize("wire", ["openai", "deepseek", "anthropic", "gemini", "ollama"])
async def test_asks_the_server_of_every_wire(wire: str) -> None:
    adapter = "openai" if wire == "deepseek" else wire
    async with open_fake(wire) as fake, open_http() as client:
        fake.insist(models=("fake-2", "fake-1"))
        source = Source("s", fake.url, "any", adapter)
        found = [one.id.removesuffix(":latest") for one in await fetch(client, source, fake.key, Limits())]
        assert found == ["fake-1", "fake-2"]
        if wire != "ollama":
            with pytest.raises(ProviderError) as caught:
                await fetch(client, source, "wrong-key-0123", Limits())
            assert caught.value.kind is ErrorKind.CREDENTIAL
            assert "wrong-key" not in caught.value.message


@pytest.mark.parametrize("wire", ["gemini", "anthropic"])
async def test_a_list_of_several_pages_is_read_to_its_end(wire: str) -> None:
    async with open_fake(wire) as fake, open_http() as client:
        fake.insist(models=tuple(f"fake-{n}" for n in range(5)), page=2)
        found = await fetch(client, Source("s", fake.url, "any", wire), fake.key, Limits())
        assert [one.id for one in found] == [f"fake-{n}" for n in range(5)]
        assert len(fake.requests) == 3


@pytest.mark.parametrize("body", [b"[]", b'{"nextPageToken": 5}', b'{"last_id": "x"}', b'{"has_more": true}'])
def test_what_names_no_next_page_is_the_last_one(body: bytes) -> None:
    assert following(body) == ""


async def test_a_server_without_a_list_or_none_at_all() -> None:
    async with open_fake("openai") as fake, open_http() as client:
        with pytest.raises(ProviderError, match="404") as caught:
            await fetch(client, Source("s", f"{fake.url}/nowhere", "m"), fake.key, Limits())
        assert "lists no models" in caught.value.hint
    async with open_http() as client:
        with pytest.raises(ProviderError, match="cannot be reached"):
            await fetch(client, Source("s", "http://127.0.0.1:1/v1", "m"), "", Limits())


async def test_a_stored_key_asks_only_where_it_was_given_for() -> None:
    from homed.providers.registry import open_sources

    secrets = Secrets()
    async with open_fake("openai") as fake, open_sources(Settings(secrets), secrets) as sources:
        source = Source("s", fake.url, "m")
        await sources.add(source, fake.key)
        assert [one.id for one in await sources.available(source)] == ["fake-1"]
        asked = len(fake.requests)
        with pytest.raises(InvalidInput, match="another address"):
            await sources.available(Source("s", "http://elsewhere.example/v1", "m"))
        with pytest.raises(InvalidInput, match="another server"):
            await sources.available(Source("s", fake.url, "m", options={"models_url": "http://elsewhere.example/m"}))
        with pytest.raises(InvalidInput, match="one model"):
            await sources.available(Source("l", "", "m", "local", path="/m.gguf"))
        assert len(fake.requests) == asked
