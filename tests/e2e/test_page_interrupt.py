"""Taking something up while an answer is made, in real Chromium: what stands still says so, and goes on (E41)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visitor
from tests.e2e.test_page_chat import say
from tests.kit.daemon import until
from tests.kit.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

SHOTS = os.environ.get("HOMED_TEST_SHOTS", "")
"""A folder for pictures of the page, for people to look at."""


SETTLED = """() => Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations === 1)
  .map((one) => one.finished))"""


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.evaluate(SETTLED)
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def test_a_message_is_taken_up_now_and_the_answer_under_way_goes_on_afterwards(
    visitor: Visitor, model: FakeOpenAI
) -> None:
    model.when("tell a story", [{"say": "It was a dark", "hang": "mid"}, {"say": "It was a bright night."}])
    model.when("when is lunch", {"say": "At noon, if it is ready.", "chunk": 2, "hang": "until lunch"})
    page = visitor.open()
    expect(page.locator("#now")).to_be_hidden()
    say(page, "tell a story")
    story = page.locator("section.turn").first
    expect(story.locator(".answer")).to_have_text(re.compile("It was"))
    page.fill("#text", "when is lunch?")
    expect(page.locator("#now")).to_be_visible()
    page.click("#now")
    expect(page.locator("section.turn")).to_have_count(2)
    expect(story).to_have_class(re.compile("suspended"))
    expect(story.locator('[data-key="paused"]')).to_contain_text("Suspended")
    expect(story.locator(".answer")).to_have_text(re.compile("It was"))
    lunch = page.locator("section.turn").last
    expect(lunch).to_have_class(re.compile("live"))
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 720})
        page.emulate_media(color_scheme="light" if width > 1000 else "dark")
        shoot(page, f"suspended-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    expect(page.locator("section.turn.suspended .answer")).to_have_text(re.compile("It was"))
    model.release("lunch")
    expect(page.locator("section.turn.live")).to_have_count(0)
    expect(page.locator("section.turn").last.locator(".answer")).to_have_text("At noon, if it is ready.")
    expect(page.locator("section.turn").first.locator(".answer")).to_have_text("It was a bright night.")
    expect(page.locator('[data-key="paused"]')).to_have_count(0)
    expect(page.locator("#now")).to_be_hidden()
    shoot(page, "after")
    visitor.check()


def test_ctrl_enter_takes_up_now_and_says_so_in_chinese(visitor: Visitor, model: FakeOpenAI) -> None:
    model.when("慢慢讲", [{"say": "很久以前", "hang": "mid"}, {"say": "很久很久以前。"}])
    model.when("几点了", {"say": "现在是中午。", "chunk": 1, "hang": "until noon"})
    page = visitor.open()
    page.evaluate("document.cookie = 'lang=zh; path=/'")
    page.reload()
    say(page, "慢慢讲")
    story = page.locator("section.turn").first
    expect(story.locator(".answer")).to_have_text(re.compile("很久"))
    page.fill("#text", "几点了？")
    page.keyboard.press("Control+Enter")
    expect(story.locator('[data-key="paused"]')).to_be_visible()
    shoot(page, "chinese")
    model.release("noon")
    expect(page.locator("section.turn.live")).to_have_count(0)
    expect(story.locator(".answer")).to_have_text("很久很久以前。")
    until(lambda: not [one for one in model.requests if not one.end], what="no connection is left")
    visitor.check()


def test_stop_ends_what_runs_and_what_was_suspended_goes_on(visitor: Visitor, model: FakeOpenAI) -> None:
    model.when("first of two", [{"say": "one and", "hang": "mid"}, {"say": "one and all"}])
    model.when("second of two", {"say": "never", "hang": "mid"})
    page = visitor.open()
    say(page, "first of two")
    expect(page.locator(".answer")).to_have_text(re.compile("one"))
    page.fill("#text", "second of two")
    page.click("#now")
    expect(page.locator("section.turn")).to_have_count(2)  # until then the last one is the first one, which is live
    expect(page.locator("section.turn").last).to_have_class(re.compile("live"))
    page.click("#stop")
    expect(page.locator("section.turn").last.locator(".mark.warn")).to_be_visible()
    expect(page.locator("section.turn").first.locator(".answer")).to_have_text("one and all")
    visitor.check()
