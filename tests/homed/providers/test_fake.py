from __future__ import annotations

import pytest
import trio

from homed.providers.base import ChatRequest, ContentDelta, Done, ErrorKind, ProviderError, User
from homed.providers.fake import FakeProvider
from tests.homed.providers.kit import Said, ask


async def test_says_its_script_then_the_default() -> None:
    fake = FakeProvider("one", [ContentDelta("two"), Done("length")], default="rest")
    assert [(await ask(fake)).text for _ in range(4)] == ["one", "two", "rest", "rest"]
    assert fake.requests[0].messages == (User("hi"),)
    assert fake.closed == 4


async def test_fails_and_waits_where_the_script_says() -> None:
    go, said = trio.Event(), Said()
    error = ProviderError(ErrorKind.TRANSIENT, "broken", partial=True)
    fake = FakeProvider([ContentDelta("a"), go, ContentDelta("b"), error])
    async with fake.stream(ChatRequest((User("x"),))) as parts:
        said.take(await anext(parts))
        with trio.move_on_after(0):
            await anext(parts)
        assert said.text == "a"
        go.set()
        said.take(await anext(parts))
        with pytest.raises(ProviderError, match="broken"):
            await anext(parts)
    assert said.text == "ab"
