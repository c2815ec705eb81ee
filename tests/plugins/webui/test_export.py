"""A conversation as Markdown: what is in it stays in its place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from plugins.webui.export import Export, as_markdown, fenced


@given(st.text("`~a\n ", max_size=60))
def test_nothing_inside_closes_the_fence(text: str) -> None:
    fence, *_, last = fenced(text).split("\n")
    assert fence == last
    assert set(fence) == {"`"}
    assert fence not in text


async def some(*events: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
    for event in events:
        await trio.lowlevel.checkpoint()
        yield event


async def written(*events: Mapping[str, Any], title: str = "T") -> str:
    return b"".join([part async for part in as_markdown({"title": title}, some(*events))]).decode()


async def test_files_calls_and_results_are_named() -> None:
    block = {"id": "b1", "name": "a.png", "media_type": "image/png", "bytes": 5}
    call = {"name": "files_read", "arguments": {"path": "笔记"}}
    text = await written(
        {"kind": "user", "text": "look", "created_at": 0, "data": {"blocks": [block]}},
        {"kind": "assistant", "text": "", "created_at": 60, "data": {"calls": [call]}},
        {"kind": "tool", "text": "```\nx\n```", "created_at": 61, "data": {"name": "files_read"}},
    )
    assert "*a.png* (image/png, 5 bytes)" in text
    assert '{"path": "笔记"}' in text
    assert "````\n```\nx\n```\n````" in text
    assert "1970-01-01 00:01 UTC" in text


@pytest.mark.parametrize("title", ["two\nlines", "\r\n# fake", ""])
async def test_a_title_is_one_line(title: str) -> None:
    assert (await written(title=title)).count("\n") == 1


class Gone:
    """A kernel whose event cannot be read on: it answers with nothing."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        await trio.lowlevel.checkpoint()
        if method == "io.event":
            return {"event": {}, "text": "", "offset": 0, "of": 5}
        cut = "x" * 2_000 + "[… 3 of 9 characters left out …]"
        event = {"id": "e1", "seq": 1, "text": cut, "data": {}}
        return {"thread": {"id": "t"}, "events": [event], "more": False}


async def test_an_event_that_cannot_be_read_on_stays_as_the_page_has_it() -> None:
    export = Export(Gone(), "webui:owner", "t")
    await export.begin()
    events = [event async for event in export.events()]
    assert len(events[0]["text"]) > 2_000
