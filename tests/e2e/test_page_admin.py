"""The first five minutes, the pages of plugins, models and settings, languages and narrow screens, in real Chromium."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Visitor, enter, ready, visiting
from tests.kit.daemon import Daemon, until
from tests.kit.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


def test_without_a_model_the_page_says_what_to_do_and_a_key_is_enough(
    browser: Browser, model: FakeOpenAI, tmp_path: Path
) -> None:
    """The first five minutes: a link, a key, an answer; the key goes in and never comes out."""
    with Daemon(tmp_path / "data") as daemon, visiting(browser, daemon.url) as visitor:
        page = enter(visitor.context.new_page(), daemon.link)
        expect(page.locator("#welcome")).to_contain_text("One thing is missing: a model")
        page.select_option("[name=preset]", "")
        for name, value in (("name", "mine"), ("model", model.model), ("base_url", model.url), ("api_key", model.key)):
            page.fill(f"form.source [name={name}]", value)
        page.fill("form.source [name=base_url]", "http://127.0.0.1:9/v1")
        page.click("form.source button.primary")
        expect(page.locator(".said-of-form.bad")).to_contain_text("cannot be reached")
        page.fill("form.source [name=base_url]", model.url)
        page.fill("form.source [name=api_key]", model.key)
        page.click("form.source button.primary")
        expect(page.locator("#welcome")).to_contain_text("What shall we do?")
        ready(page).fill("#text", "hello there")
        page.keyboard.press("Enter")
        expect(page.locator(".answer")).to_have_text("You said: hello there")
        page.goto(daemon.url + "/models")
        ready(page)
        expect(page.locator("article")).to_contain_text("in use")
        assert model.key not in page.content()
        page.click("[data-do=test]")
        expect(page.locator("article .result")).to_contain_text("Works")
        page.click("[data-do=remove]")
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.locator("article")).to_have_count(0)


def test_tools_are_offered_unless_the_box_is_cleared(page: Page, daemon: Daemon) -> None:
    """Off for very small models; the list says so, and editing a source keeps what it was."""

    def tools(name: str) -> bool:
        return bool(next(one for one in daemon.json("models", "list") if one["name"] == name)["tools"])

    def save() -> None:
        with page.expect_navigation():
            page.click("form.source button.primary")
        ready(page)

    assert tools("fake"), "as it is when nothing is said"
    page.goto(page.url.rstrip("/") + "/models")
    ready(page).select_option("[name=preset]", "")
    for name, value in (("name", "tiny"), ("model", "tiny-1"), ("base_url", "http://127.0.0.1:9/v1")):
        page.fill(f"form.source [name={name}]", value)
    page.get_by_label("Offer tools").uncheck()
    save()
    card = page.locator('article[data-name="tiny"]')
    expect(card.locator(".result.bad")).to_contain_text("Does not work: tiny (127.0.0.1:9) cannot be reached")
    expect(card).to_contain_text("without tools")
    expect(page.locator('article[data-name="fake"]')).not_to_contain_text("without tools")
    assert not tools("tiny")
    expect(page.get_by_role("link", name="get one")).to_be_visible()
    card.locator("[data-do=edit]").click()
    expect(page.locator(".panel h2")).to_have_text("Change tiny")
    expect(page.get_by_role("link", name="get one")).to_be_hidden()
    page.select_option("[name=preset]", "deepseek")
    expect(page.locator(".panel h2")).to_have_text("Add or change a model")
    card.locator("[data-do=edit]").click()
    expect(page.get_by_label("Offer tools")).not_to_be_checked()
    page.get_by_label("Offer tools").check()
    save()
    expect(card).not_to_contain_text("without tools")
    assert tools("tiny")
    card.locator("[data-do=remove]").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(card).to_have_count(0)
    expect(page.locator('article[data-name="fake"]')).to_contain_text("in use")


def test_a_plugin_that_crashes_is_shown_and_started_again_by_hand(visitor: Visitor, daemon: Daemon) -> None:
    """Back after 1, 2 and 3 s; after the fourth kill it waits for a person, on the page too; the chat never noticed."""
    assert daemon.run("plugin", "start", "sanitizer").code == 0
    page = visitor.open("/plugins")
    card = page.locator("article#plugin-sanitizer")
    for crash in range(1, 5):
        pid = until(lambda: daemon.plugin("sanitizer")["pid"], what="sanitizer running")
        os.kill(pid, signal.SIGKILL)
        expect(card.locator("details.crashes summary")).to_have_text(f"Crash reports ({crash})")
    expect(card.locator("h2")).to_contain_text("stopped: needs attention")
    expect(page.locator("nav .foot")).to_be_visible()
    card.locator("details.crashes summary").click()
    expect(card.locator(".crash").first).to_contain_text("signal 9")
    card.get_by_role("button", name="Start").click()
    expect(card.locator("h2")).to_contain_text("running")
    expect(card.locator("details.crashes")).to_be_attached()
    chat = visitor.open("/")
    chat.fill("#text", "still here?")
    chat.keyboard.press("Enter")
    expect(chat.locator(".answer")).to_have_text("You said: still here?")


def test_a_setting_is_saved_or_refused_with_the_reason(visitor: Visitor, daemon: Daemon) -> None:
    page = visitor.open("/settings")
    form = page.locator('form[data-key="core.agent.max_tool_turns"]')
    form.locator("input").fill("7")
    form.locator("button:not(.reset)").click()
    expect(form.locator("[role=status]")).to_contain_text("Saved")
    assert daemon.run("config", "get", "core.agent.max_tool_turns").out.strip() == "7"
    form.locator("input").fill("0")
    form.locator("button:not(.reset)").click()
    expect(form.locator("[role=status]")).to_contain_text("between 1 and")
    form = page.locator('form[data-key="core.agent.tool_timeout"]')
    form.locator("input").fill("5m")
    form.locator("button:not(.reset)").click()
    expect(form.locator("[role=status]")).to_contain_text("Saved")
    assert daemon.run("config", "get", "core.agent.tool_timeout").out.strip() in ("300", "300.0")


def test_a_password_lets_in_and_a_wrong_one_does_not(browser: Browser, visitor: Visitor, daemon: Daemon) -> None:
    page = visitor.open("/settings")
    form = page.locator('form[data-key="core.web.password"]')
    form.locator("input").fill("correct horse battery")
    form.locator("button").click()
    expect(form.locator("[role=status]")).to_contain_text("Saved")
    with visiting(browser, daemon.url) as other:
        page = other.context.new_page()
        page.goto(daemon.url + "/models")
        ready(page)
        page.fill("[name=password]", "wrong")
        page.click("button.primary")
        expect(page.locator("#state")).to_contain_text("not the password")
        page.fill("[name=password]", "correct horse battery")
        page.click("button.primary")
        expect(page.locator("main h1")).to_have_text("Models")
        ready(page).click("#logout")
        expect(page.locator("#password")).to_be_visible()
        page.goto(daemon.url + "/models")
        ready(page)
        expect(page.locator("#password")).to_be_visible()


def test_language_and_theme_are_a_click_away_and_stay(visitor: Visitor) -> None:
    page = visitor.open("/models")
    page.click("[data-lang=zh]")
    expect(page.locator("main h1")).to_have_text("模型")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    ready(page).click("#theme")
    expect(page.locator("html")).to_have_attribute("data-theme", re.compile("^(dark|light)$"))
    theme = str(page.locator("html").get_attribute("data-theme"))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    ready(page)
    page.click("[data-lang=en]")
    expect(page.locator("main h1")).to_have_text("Models")


def test_a_narrower_window_keeps_the_end_in_view_for_who_was_there(visitor: Visitor, model: FakeOpenAI) -> None:
    words = " ".join(f"word{n}" for n in range(1500))
    model.when("at length", {"say": words})
    page = visitor.open()
    page.set_viewport_size({"width": 1200, "height": 700})
    page.fill("#text", "at length")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("word1499")
    expect(page.locator("section.turn.live")).to_have_count(0)
    left = "(t => t.scrollHeight - t.scrollTop - t.clientHeight)(document.querySelector('#talk'))"
    until(lambda: page.evaluate(left) < 5)
    page.set_viewport_size({"width": 400, "height": 500})
    until(lambda: page.evaluate(left) < 5, what="the end in view")
    page.evaluate("document.querySelector('#talk').scrollTop = 0")
    page.wait_for_function("document.querySelector('#talk').scrollTop === 0")
    page.set_viewport_size({"width": 360, "height": 500})
    page.wait_for_function("innerWidth === 360")
    page.evaluate("new Promise((over) => requestAnimationFrame(() => requestAnimationFrame(over)))")
    assert page.evaluate(left) > 500, "who reads further up is left there"


def test_the_page_that_stops_its_own_plugin_says_so(browser: Browser, tmp_path: Path) -> None:
    with Daemon(tmp_path / "data") as daemon, visiting(browser, daemon.url) as visitor:
        page = enter(visitor.context.new_page(), daemon.link)
        page.goto(daemon.url + "/plugins")
        ready(page)
        page.locator("article#plugin-webui [data-do=stop]").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        expect(page.get_by_role("alert")).to_contain_text("homed plugin start webui")
        expect(page.locator("article")).to_have_count(0)
        until(lambda: daemon.plugin("webui")["state"] == "stopped")
