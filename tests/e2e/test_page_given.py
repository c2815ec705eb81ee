"""A picture that a tool gives back: on the page, in waiter, before a model that sees; and again after kill -9."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import enter, ready, visiting
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house
from tests.plugins.webui.standin_rich import picture

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

NAME = "花园 bed.png"
SHOTS = os.environ.get("HOMED_TEST_SHOTS", "")
"""A folder for pictures of the page, for people to look at."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / NAME).write_bytes(picture())
    plan = Plan(only=("webui", "files"), allow=("files_read",), seer=True, vectors=False)
    with house(tmp_path / "data", plan) as built:
        built.ask("admin.config_set", key="plugin.files.roots", value=[str(folder)])
        built.ask("admin.models_use", name="seer")
        built.fake.insist(vision=True)
        built.fake.when("show me", {"calls": [{"name": "files_read", "args": {"path": NAME}}]})
        built.fake.when("What tools gave back", {"say": "A garden."})
        yield built


def shown(page: Page) -> None:
    """The picture stands below the tool's card, small pictures as they come, and is really there."""
    image = page.locator("section.turn .item .given a.shot img")
    expect(image).to_have_attribute("alt", NAME)
    until(lambda: image.evaluate("one => one.complete && one.naturalWidth > 0"), what="the picture")


def pictures(home: House) -> list[bytes]:
    """Those of the newest request."""
    parts: list[Any] = [part for message in home.fake.chats[-1].body["messages"] for part in listed(message["content"])]
    urls = [str(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def listed(content: object) -> list[Any]:
    return content if isinstance(content, list) else []


def test_it_is_seen_by_the_person_and_by_the_model_also_after_a_kill(browser: Browser, home: House) -> None:
    with visiting(browser, home.daemon.url) as visitor:
        page = enter(visitor.context.new_page(), home.ask("admin.link")["url"])
        page.fill("#text", "show me the garden")
        page.keyboard.press("Enter")
        expect(page.locator("section.turn .answer")).to_have_text("A garden.")
        shown(page)
        assert pictures(home) == [picture()], "in the request right after the result"
        assert [m["role"] for m in home.fake.chats[-1].body["messages"][-2:]] == ["tool", "user"]
        with page.context.expect_page() as opened:
            page.locator(".given a.shot").click()
        whole = opened.value.locator("img")
        until(lambda: whole.evaluate("one => one.complete && one.naturalWidth") == 320, what="the whole picture")
        opened.value.close()
        page.reload()
        shown(ready(page))
        look_at(page)
        address, old = page.url, home.daemon.url
    home.daemon.kill()
    home.start()
    with visiting(browser, home.daemon.url) as visitor:
        page = enter(visitor.context.new_page(), home.ask("admin.link")["url"])
        page.goto(address.replace(old, home.daemon.url))
        shown(ready(page))
        page.fill("#text", "and what was it?")
        page.keyboard.press("Enter")
        expect(page.locator("section.turn .answer").last).to_have_text("You said: and what was it?")
    assert pictures(home) == [picture()]
    ran = home.waiter("-chat", "show me another")
    assert f"[{NAME}]" in ran.err + ran.out, ran


def look_at(page: Page) -> None:
    """Narrow and wide, both themes, for whoever wants to see it."""
    if not SHOTS:
        return
    page.locator("section.turn details.tool").evaluate("one => one.open = true")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (360, 1100):
            page.set_viewport_size({"width": width, "height": 800})
            time.sleep(0.3)
            page.screenshot(path=f"{SHOTS}/given-{scheme}-{width}.png")
