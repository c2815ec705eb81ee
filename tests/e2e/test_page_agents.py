"""Agents that an agent makes, on the real daemon and page: their card, their conversation, and how to stop them."""

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


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def spawning(task: str, name: str) -> dict[str, object]:
    return {"calls": [{"name": "spawn_child", "args": {"task": task, "name": name}}]}


def test_an_agent_works_beneath_the_turn_that_made_it_is_looked_at_and_stopped(
    visitor: Visitor, model: FakeOpenAI
) -> None:
    model.when("What you gave the agent moon-watcher", {"say": "It was stopped; I leave it there."})
    model.when("send somebody to the moon", spawning("watch the moon all night", "moon-watcher"), {"say": "It is off."})
    look = {"calls": [{"name": "memory_recall", "args": {"query": "moon"}}]}
    model.when("watch the moon all night", look, {"say": "It rises and", "hang": "mid"})
    page = visitor.open()
    say(page, "send somebody to the moon")
    turn = page.locator("section.turn").first
    expect(turn.locator(".answer")).to_have_text("It is off.")
    card = turn.locator(".card.agent")
    expect(card.locator("summary b")).to_have_text("moon-watcher")
    expect(card.locator("summary em")).to_have_text("calls: 1 · working")
    expect(page.locator("section.turn")).to_have_count(1)
    card.locator("summary").click()
    expect(card.locator(".steps li")).to_have_text("memory_recall done")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 720})
        page.emulate_media(color_scheme="light" if width > 1000 else "dark")
        shoot(page, f"agent-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    card = page.locator("section.turn").first.locator(".card.agent")
    expect(card.locator("summary em")).to_have_text("calls: 1 · working")
    expect(page.locator("nav a", has_text="moon-watcher")).to_have_count(0)
    card.locator("summary").click()
    home = page.url
    card.get_by_role("link", name="Open its conversation").click()
    expect(page.locator("#title")).to_have_text("moon-watcher")
    expect(page.locator(".card.reminder").first).to_contain_text("watch the moon all night")
    expect(page.locator(".card.reminder").first).to_contain_text("From the agent that made it")
    expect(page.locator(".answer").last).to_have_text(re.compile("It"))
    shoot(page, "agent-own")
    page.goto(home)
    card = page.locator("section.turn").first.locator(".card.agent")
    card.locator("summary").click()
    card.get_by_role("button", name="Stop it").click()
    expect(card.locator("summary em")).to_have_text("calls: 1 · stopped")
    report = page.locator("section.turn").nth(1)
    expect(report.locator(".answer")).to_have_text("It was stopped; I leave it there.")
    expect(report.locator("details.line summary").first).to_have_text("What an agent reported")
    shoot(page, "agent-stopped")
    until(lambda: not [one for one in model.requests if not one.end], what="no connection is left")
    visitor.check()


def test_the_stop_of_the_conversation_stops_them_and_chinese(visitor: Visitor, model: FakeOpenAI) -> None:
    model.when("派人去数星星", spawning("慢慢数星星", "数星者"), {"say": "已经派出了，我在等", "hang": "mid"})
    model.when("慢慢数星星", {"say": "一颗，两颗", "hang": "mid"})
    page = visitor.open()
    page.evaluate("document.cookie = 'lang=zh; path=/'")
    page.reload()
    say(page, "派人去数星星")
    card = page.locator(".card.agent")
    expect(card.locator("summary em")).to_have_text("进行中")
    expect(page.locator("section.turn").first.locator(".answer")).to_have_text(re.compile("已经派出"))
    page.set_viewport_size({"width": 360, "height": 720})
    card.locator("summary").click()
    shoot(page, "agent-chinese")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("#stop")
    expect(card.locator("summary em")).to_have_text("已停止")
    until(lambda: not [one for one in model.requests if not one.end], what="no connection is left")
    expect(page.locator("section.turn")).to_have_count(1)
    visitor.check()
