"""A whole thread, read page by page and written as it is read: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

Data = Mapping[str, Any]

PAGE = 200
"""Events read at a time."""
CUT = re.compile(r"\[… \d+ of \d+ characters left out")
"""What stands where a page shows only the head and tail of a text; such a text is fetched whole."""
LONG = 1_500
"""Characters below which no page cuts a text."""
SPEAKERS = {"user": "You", "assistant": "Answer", "tool": "Tool", "note": "Note"}


class Kernel(Protocol):
    """The part of the kernel that is used here."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call a kernel method."""


class Export:
    """One thread for one person.  Holds one page, and a number for each page before it."""

    def __init__(self, kernel: Kernel, peer: str, thread: str) -> None:
        self._kernel = kernel
        self._asked = {"peer": peer, "thread": thread, "limit": PAGE}
        self._befores: list[int] = []
        self._last: Data = {}

    async def begin(self) -> Data:
        """The thread; finds where its pages begin.  Raises NotFound for one that is not this person's to see."""
        self._last = page = await self._page(None)
        while page["more"] and page["events"]:
            self._befores.append(int(page["events"][0]["seq"]))
            page = await self._page(self._befores[-1])
        head: Data = self._last["thread"]
        return head

    async def events(self) -> AsyncIterator[Data]:
        """Every event, oldest first, with its whole text.  What is said meanwhile is not in it."""
        for before in reversed(self._befores):
            for event in (await self._page(before))["events"]:
                yield await self._whole(event)
        for event in self._last["events"]:
            yield await self._whole(event)

    async def _page(self, before: int | None) -> Data:
        params = self._asked if before is None else {**self._asked, "before": before}
        page: Data = await self._kernel.call("io.history", params)
        return page

    async def _whole(self, event: Data) -> Data:
        text, data = str(event.get("text", "")), event.get("data")
        if len(text) + len(json.dumps(data)) < LONG or not CUT.search(text + json.dumps(data, ensure_ascii=False)):
            return event
        parts: list[str] = []
        at, of = 0, 1
        while at < of:
            given = {"peer": self._asked["peer"], "event": event["id"], "offset": at}
            part = await self._kernel.call("io.event", given)
            data = part["event"].get("data", data)
            if not part["text"]:
                break
            parts.append(str(part["text"]))
            at, of = at + len(parts[-1]), int(part["of"])
        return {**event, "text": "".join(parts) or text, "data": data}


async def as_json(thread: Data, events: AsyncIterator[Data]) -> AsyncIterator[bytes]:
    """``{thread, events: […]}``."""
    yield f'{{"thread": {_json(thread)}, "events": ['.encode()
    between = "\n"
    async for event in events:
        yield f"{between}{_json(event)}".encode("utf-8", "replace")
        between = ",\n"
    yield b"\n]}\n"


async def as_markdown(thread: Data, events: AsyncIterator[Data]) -> AsyncIterator[bytes]:
    """A heading for each event; what people and models said as it is, what tools gave between fences."""
    title = " ".join(str(thread.get("title") or "Conversation").split())
    yield f"# {title}\n".encode("utf-8", "replace")
    async for event in events:
        yield _section(event).encode("utf-8", "replace")


def _section(event: Data) -> str:
    kind, text = str(event.get("kind", "")), str(event.get("text", ""))
    raw = event.get("data")
    data: Data = raw if isinstance(raw, Mapping) else {}
    who = SPEAKERS.get(kind, kind)
    name = f" `{data['name']}`" if kind == "tool" and data.get("name") else ""
    parts = [f"\n## {who}{name} · {_when(event.get('created_at'))}\n"]
    for block in data.get("blocks") or ():
        parts.append(
            f"\n*{block.get('name', 'file')}* ({block.get('media_type', '')}, {block.get('bytes', 0)} bytes)\n"
        )
    for call in data.get("calls") or ():
        parts.append(f"\nCalls `{call.get('name', '')}`:\n\n{fenced(_json(call.get('arguments')), 'json')}\n")
    if text:
        parts.append(f"\n{fenced(text) if kind == 'tool' else text}\n")
    return "".join(parts)


def fenced(text: str, language: str = "") -> str:
    """A text between fences longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _when(at: object) -> str:
    seconds = at if isinstance(at, int | float) else 0
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


Writer = Callable[[Data, AsyncIterator[Data]], AsyncIterator[bytes]]
WRITERS: Mapping[str, tuple[Writer, str, str]] = {
    "md": (as_markdown, "text/markdown; charset=utf-8", ".md"),
    "json": (as_json, "application/json", ".json"),
}
"""Format → how it is written, its media type, the end of the file's name."""
