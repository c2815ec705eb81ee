"""A model that answers in fewer tokens than a request allows: its own refusal says how many, and that counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from homed.providers.adjust import adjusted
from homed.providers.base import ChatRequest, ContentDelta, Done, ErrorKind, Part, ProviderError, Source, User
from homed.providers.failures import classify
from homed.providers.guarded import Guarded, GuardPorts

SAID = [
    ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.",
     4096),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    ("max_tokens: 20000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku", 4096),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the"
     " `context_window` for this model", 8192),
    ("Unable to submit request because it has a maxOutputTokens value of 70000 but the supported range is from 1"
     " (inclusive) to 65537 (exclusive)", 65537),
]  # fmt: skip


@pytest.mark.parametrize(("said", "longest"), SAID)
def test_its_words_are_understood(said: str, longest: int) -> None:
    error = ProviderError(ErrorKind.BAD_REQUEST, said, status=400)
    found = adjusted(Source("a", "http://x", "m"), error, shows=False, hears=False, tools=False)
    assert found is not None
    assert (found.source.options["max_tokens"], found.longest) == (longest, longest)
    assert found.setting == f"--option max_tokens={longest}"


class Model:
    """Refuses limits over ``most``."""

    def __init__(self, source: Source, most: int) -> None:
        self.source = source
        self.most = most
        self.asked: list[int | None] = []

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        self.asked.append(request.max_tokens)
        if request.max_tokens and request.max_tokens > self.most:
            raise ProviderError(ErrorKind.BAD_REQUEST, SAID[0][0], status=400)

        async def parts() -> AsyncIterator[Part]:
            yield ContentDelta("yes")
            yield Done("stop")

        yield parts()


async def test_it_is_asked_again_at_once_with_what_it_takes_and_from_then_on() -> None:
    made: list[Model] = []

    def make(source: Source) -> Model:
        made.append(Model(source, 4096))
        return made[-1]

    async def learn(_: int) -> None:
        raise AssertionError

    guarded = Guarded(Source("a", "http://x", "m"), GuardPorts(make, lambda: 0, learn))
    for limit in (8192, 6000, 100, None):
        async with guarded.stream(ChatRequest((User("Is it?"),), max_tokens=limit)) as parts:
            assert [part async for part in parts] == [ContentDelta("yes"), Done("stop")]
    assert [limit for model in made for limit in model.asked] == [8192, 4096, 4096, 100, None]


@pytest.mark.parametrize(("said", "_"), SAID)
def test_it_is_no_context_that_is_full(said: str, _: int) -> None:
    assert classify(400, said) is ErrorKind.BAD_REQUEST
