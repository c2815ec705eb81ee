"""Files handed over, and conversations written out."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import HomedError, InvalidInput
from waiter.files import MOST, PIECE, as_markdown, export, upload
from waiter.messages import Export, Handed
from waiter.model import Attachment
from waiter.words import Words

WORDS = Words()


async def test_a_file_goes_over_in_pieces(tmp_path: Path) -> None:
    data, got = bytes(range(256)) * 4000, []
    (tmp_path / "图.png").write_bytes(data)

    async def ask(method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        await trio.lowlevel.checkpoint()
        assert method == "io.upload"
        got.append(params)
        return {"upload": "up1", "bytes": 0}

    assert await upload(ask, str(tmp_path / "图.png"), WORDS) == Handed(Attachment("up1", "图.png", len(data)))
    assert b"".join(base64.b64decode(str(p["data"])) for p in got) == data
    assert [p["last"] for p in got] == [False, False, True]
    assert [p.get("upload") for p in got] == [None, "up1", "up1"]
    assert all(len(base64.b64decode(str(p["data"]))) <= PIECE for p in got)
    assert got[0]["media_type"] == "image/png"


@pytest.mark.parametrize("what", ["missing", "folder", "big", "pipe"])
async def test_what_cannot_be_handed_over_is_told(tmp_path: Path, what: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it: reading it would hold the program for ever
    with (tmp_path / "big").open("wb") as file:
        file.truncate(MOST + 1)

    async def ask(method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        raise AssertionError(method)

    with pytest.raises(InvalidInput, match=what):
        await upload(ask, str(tmp_path / what), WORDS)


EVENTS = [
    {"seq": 1, "kind": "user", "peer": "cli:owner", "text": "你好", "created_at": 0},
    {"seq": 2, "kind": "tool", "text": "```\nx\n```", "data": {"name": "look", "args": {"a": 1}}},
    {"seq": 3, "kind": "assistant", "text": "Done.", "created_at": 0},
]


async def history(method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
    """Two pages."""
    await trio.lowlevel.checkpoint()
    assert method == "history"
    found = EVENTS[:2] if params.get("before") == 3 else EVENTS[2:]
    return {"thread": {"id": "th"}, "events": found, "more": "before" not in params}


async def test_a_conversation_is_written_whole_to_a_new_file(tmp_path: Path) -> None:
    said = await export(history, Export("th", "Title", str(tmp_path / "a.md")), WORDS)
    assert said == f"Written to {tmp_path / 'a.md'} (3 entries)."
    text = (tmp_path / "a.md").read_text("utf-8")
    assert text.startswith("# Title\n\n## cli:owner")
    assert '````\nlook {"a": 1}\n```\nx\n```\n````' in text
    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o600
    await export(history, Export("th", "Title", str(tmp_path / "a.json")), WORDS)
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (found["events"], found["thread"]["title"]) == (EVENTS, "Title")


async def test_what_a_page_shows_cut_is_written_whole(tmp_path: Path) -> None:
    """The file is what a person keeps, perhaps before deleting the conversation."""
    text, cut = "一二三" * 100_000, "一二三\n[… 299990 of 300000 characters left out; …]\n一二三"

    async def ask(method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        await trio.lowlevel.checkpoint()
        if method == "history":
            events = [
                {"id": "ev1", "seq": 1, "kind": "assistant", "text": cut, "data": {}},
                {"id": "ev2", "seq": 2, "kind": "user", "text": "short", "peer": "p", "data": {}},
            ]
            return {"thread": {"id": "th"}, "events": events, "more": False}
        assert (method, params["event"]) == ("io.event", "ev1")
        at = int(str(params["offset"]))
        return {"event": {"id": "ev1", "data": {"step": 1}}, "text": text[at : at + 200_000], "of": len(text)}

    await export(ask, Export("th", "T", str(tmp_path / "a.json")), WORDS)
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))["events"]
    assert (found[0]["text"], found[0]["data"], found[1]["text"]) == (text, {"step": 1}, "short")
    await export(ask, Export("th", "T", str(tmp_path / "a.md")), WORDS)
    assert text in (tmp_path / "a.md").read_text("utf-8")


def test_what_is_written_drives_no_terminal() -> None:
    evil = "\x1b]52;c;eA==\x07\u202e"
    made = as_markdown(evil, [{"kind": kind, "peer": evil, "text": evil, "data": {"name": evil}} for kind in SPOKEN])
    assert not set(made) & {"\x1b", "\x07", "\u202e"}


SPOKEN = ("user", "assistant", "tool", "note")


async def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("mine", "utf-8")
    with pytest.raises(HomedError, match="there already"):
        await export(history, Export("th", "T", str(tmp_path / "a.md")), WORDS)
    with pytest.raises(HomedError, match="cannot be written"):
        await export(history, Export("th", "T", str(tmp_path / "none" / "a.md")), WORDS)
    assert (tmp_path / "a.md").read_text("utf-8") == "mine"


def test_markdown_of_nothing() -> None:
    assert as_markdown("", []) == "# …\n"
