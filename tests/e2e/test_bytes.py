"""A24: what a source sends byte by byte, cut within characters, is whole on the page, in waiter and in the store."""

from __future__ import annotations

import sqlite3
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_page_chat import answer, ended, reload, say
from tests.kit.daemon import Daemon, run_command
from tests.kit.fake_openai import FakeOpenAI
from waiter.endpoint import places
from waiter.link import dial

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

TEXT = "你好🌍，世界 👨‍👩‍👧 é̂ ẞ ⁂ — end"
WAYS: dict[str, dict[str, object]] = {
    "one byte a chunk": {"one_byte": True},
    "with keep-alives and CRLF": {"one_byte": True, "crlf": True, "keepalive": True},
    "one character a delta": {"chunk": 1},
}


@pytest.mark.parametrize("way", WAYS)
def test_bytes_split_anywhere_arrive_whole(page: Page, daemon: Daemon, model: FakeOpenAI, way: str) -> None:
    asked = f"say it {way}"
    model.when(asked, {"say": TEXT, **WAYS[way]})
    say(page, asked)
    ended(page)
    expect(answer(page)).to_have_text(TEXT)
    reload(page)
    expect(answer(page)).to_have_text(TEXT)
    told = run_command([sys.executable, "-m", "waiter", "--data", str(daemon.data), "-chat", asked], timeout=60)
    assert (told.code, told.out.strip()) == (0, TEXT)
    link = dial(places({}, data=str(daemon.data)))
    try:
        done = link.call("chat", {"text": asked, "wait": True})
    finally:
        link.close()
    assert done["outcome"]["text"] == TEXT
    with sqlite3.connect(f"file:{daemon.data / 'homed.db'}?mode=ro", uri=True) as base:
        stored = [row[0] for row in base.execute("SELECT text FROM events WHERE kind = 'assistant'")]
    assert TEXT in stored
    assert all(text == TEXT for text in stored if "世界" in text), "byte for byte, each time it was said"
