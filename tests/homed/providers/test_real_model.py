"""Our adapter and a real model: what no fake can show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import trio

from homed.net import open_http
from homed.providers.base import ChatRequest, ContentDelta, ErrorKind, ProviderError, Source, User
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.openai import openai
from homed.providers.trial import try_out
from tests.homed.providers.kit import Said
from tests.kit.real_model import RealModel, real_model

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    with real_model(tmp_path_factory.mktemp("model")) as running:
        yield running


@pytest.fixture
async def provider(model: RealModel) -> AsyncIterator[HttpProvider]:
    async with open_http() as client:
        yield openai(Source("small", model.url, model.name), HttpPorts(client, lambda: None))


async def test_a_real_model_streams_its_answer(provider: HttpProvider) -> None:
    said, pieces = Said(), 0
    async with provider.stream(ChatRequest((User("Count from one to five."),), max_tokens=24)) as parts:
        async for part in parts:
            said.take(part)
            pieces += isinstance(part, ContentDelta)
    assert said.text.strip()
    assert pieces > 3
    assert said.reason in ("stop", "length")
    assert said.usage.prompt > 5
    assert said.usage.completion > 0


async def test_a_real_model_stops_when_cancelled_and_is_free_at_once(provider: HttpProvider) -> None:
    with trio.CancelScope() as scope:
        async with provider.stream(ChatRequest((User("Tell a very long story."),), max_tokens=1500)) as parts:
            async for part in parts:
                if isinstance(part, ContentDelta):
                    begun = trio.current_time()
                    scope.cancel()
    assert scope.cancelled_caught
    assert trio.current_time() - begun < 0.5  # 0.1 s is the goal, on a machine with nothing else to do
    # One slot only: an answer now means that the story is no longer being written (it would take 20 s and more).
    with trio.fail_after(60):
        async with provider.stream(ChatRequest((User("Hi"),), max_tokens=2)) as parts:
            assert [part async for part in parts]


async def test_a_real_server_says_that_the_context_is_full(provider: HttpProvider) -> None:
    with pytest.raises(ProviderError) as caught:
        async with provider.stream(ChatRequest((User("word " * 4000),), max_tokens=2)) as parts:
            await anext(parts)
    assert caught.value.kind is ErrorKind.CONTEXT_FULL


async def test_a_real_model_can_be_tried_out(provider: HttpProvider) -> None:
    result = await try_out(provider)
    assert (result.ok, result.streaming) == (True, True)
    assert result.latency_ms > 0
