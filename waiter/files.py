"""Files a person names: handed to homed with a message, or written with a conversation in them."""

from __future__ import annotations

import base64
import json
import mimetypes
import os
import re
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import trio

from homed.errors import HomedError, InvalidInput

from .answers import when
from .frames import compact, mapping, mappings, number, text
from .messages import Export, Handed
from .model import Attachment
from .terminal import harmless
from .words import Words

Ask = Callable[[str, Mapping[str, object]], Awaitable[Mapping[str, Any]]]

PIECE = 384 * 1024
"""Bytes of a file in one call: base64 makes half a MiB of it, a line holds one."""
MOST = 20 << 20
PAGE = 200
"""Events asked for at once while a conversation is written out."""
_CUT = re.compile(r"\[… \d+ of \d+ characters left out")
"""What stands where a page of history has only head and tail of a text."""


async def upload(ask: Ask, named: str, words: Words) -> Handed:
    """Hand a file to homed in pieces.  Raises InvalidInput when it cannot be read, and what homed answers."""
    path = expanded(named)
    data = await trio.to_thread.run_sync(_read, path, words)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    params: dict[str, object] = {"name": path.name, "media_type": kind}
    given: Mapping[str, Any] = {}
    for at in range(0, max(1, len(data)), PIECE):
        piece = base64.b64encode(data[at : at + PIECE]).decode("ascii")
        given = await ask("io.upload", {**params, "data": piece, "last": at + PIECE >= len(data)})
        params["upload"] = text(given, "upload")
    return Handed(Attachment(text(given, "upload"), path.name, len(data)))


def expanded(named: str) -> Path:
    """A path with ``~`` taken for the home folder."""
    return Path(os.path.expanduser(named))


def _read(path: Path, words: Words) -> bytes:
    try:
        # NONBLOCK: a pipe that nobody writes to must not hold us, and there is no end to a device
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInput(words("attach.failed", path=path, why=words("attach.no_file")))
            data = file.read(MOST + 1)
    except OSError as error:
        raise InvalidInput(words("attach.failed", path=path, why=error.strerror or error)) from error
    if len(data) > MOST:
        raise InvalidInput(words("attach.big", path=path, most=f"{MOST >> 20} MiB"))
    return data


async def export(ask: Ask, wanted: Export, words: Words) -> str:
    """Write a whole conversation to a new file; returns what to say.  Raises InvalidInput, and what homed answers."""
    events: list[Mapping[str, Any]] = []
    before: dict[str, object] = {}
    while True:
        page = await ask("history", {"thread": wanted.thread, "limit": PAGE, **before})
        found = mappings(page.get("events"))
        events[:0] = [await _whole(ask, event) for event in found]
        if not page.get("more") or not found:
            break
        before = {"before": number(found[0], "seq")}
    path = expanded(wanted.path)
    thread = {**mapping(page.get("thread")), "title": wanted.title}
    made = as_json(thread, events) if path.suffix == ".json" else as_markdown(wanted.title, events)
    await trio.to_thread.run_sync(_write, path, made, words)
    return words("export.done", path=path, count=len(events))


async def _whole(ask: Ask, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """An event with all of its text and data, of which a page shows head and tail where they are long."""
    if not _CUT.search(text(event, "text") + compact(event.get("data"))):
        return event
    parts, of, data = "", 1, event.get("data")
    while len(parts) < of:
        part = await ask("io.event", {"event": text(event, "id"), "offset": len(parts)})
        data, of = mapping(part.get("event")).get("data", data), number(part, "of")
        if not text(part, "text"):
            break
        parts += text(part, "text")
    return {**event, "text": parts or text(event, "text"), "data": data}


def _write(path: Path, made: str, words: Words) -> None:
    """To a file of its own, readable by its owner alone; one that is there is never touched."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise HomedError(words("export.there", path=path)) from None
    except OSError as error:
        raise InvalidInput(words("export.failed", path=path, why=error.strerror or error)) from error
    with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(made)


def as_json(thread: Mapping[str, Any], events: list[Mapping[str, Any]]) -> str:
    """One object: the thread, and its events as ``history`` gives them."""
    return json.dumps({"thread": thread, "events": events}, ensure_ascii=False, indent=2) + "\n"


def as_markdown(title: str, events: list[Mapping[str, Any]]) -> str:
    """A heading for each who spoke; tool calls as code.  Nothing in it drives a terminal that it is shown on."""
    parts = [f"# {title or '…'}"]
    for event in events:
        kind, said, data = text(event, "kind"), text(event, "text"), mapping(event.get("data"))
        if kind == "tool":
            args = compact(data.get("args"))
            parts.append(_fenced(f"{text(data, 'name')} {args}\n{said}"))
        elif said and kind in ("user", "assistant"):
            who = text(event, "peer") if kind == "user" else "homed"
            at = event.get("created_at")
            parts.append(f"## {who} · {when(at if isinstance(at, int | float) else 0)}\n\n{said}")
        elif said:
            parts.append(f"> {said}")
    return harmless("\n\n".join(parts)) + "\n"


def _fenced(code: str) -> str:
    """A code block whose fence is longer than any in it."""
    longest, run = 0, 0
    for char in code:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code}\n{fence}"
