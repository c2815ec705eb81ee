"""What an owner looks after: keys of programs, health, crash reports, sources of models, a store that is read-only."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Served, Visitor, at, copied, ready
from tests.kit.daemon import until
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_rich import rich, small

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(rich(StandIn(small))) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served) as made:
        yield made


def test_a_key_is_made_shown_once_copied_and_removed(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/settings")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    keys = page.locator("#api-keys > li")
    expect(keys).to_have_count(2)
    expect(keys.filter(has_text="acts as webui:hall")).to_have_count(1)
    page.get_by_label("Name", exact=True).fill("garden robot")
    page.get_by_role("button", name="Make a key").click()
    assert page.locator("#new-key [name=name]").evaluate("one => one.validity.patternMismatch")
    page.get_by_label("Name", exact=True).fill("garden-robot")
    page.get_by_label("read what is remembered").check()
    page.get_by_role("button", name="Make a key").click()
    dialog = page.get_by_role("dialog")
    value = dialog.get_by_label("The key garden-robot")
    expect(value).to_have_value(re.compile(r"hk_\w{43}"))
    key = value.input_value()
    dialog.get_by_role("button", name="Copy").click()
    copied(page, key)
    page.keyboard.press("Escape")
    assert served.kernel.api_keys[-1]["scopes"] == ["chat", "memory"]
    page.reload()
    expect(ready(page).locator("#api-keys > li")).to_have_count(3)
    assert key[3:20] not in page.content(), "shown once"
    page.get_by_role("button", name="Remove the key garden-robot").click()
    expect(page.get_by_role("dialog")).to_contain_text("“garden-robot” are shut out at once")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("#api-keys > li")).to_have_count(2)


def test_health_puts_what_is_wrong_first_with_what_to_do(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/health")
    checks = page.locator("#checks > li")
    expect(checks).to_have_count(4)
    expect(checks.nth(0)).to_contain_text("deepseek answered HTTP 401.")
    expect(checks.nth(0)).to_contain_text("Check the key of this source")
    expect(checks.nth(1)).to_have_attribute("data-state", "warn")
    expect(page.locator("#verdict")).to_have_text("2 need your attention.")
    before = served.kernel.checks
    served.kernel.checks = before[:1]
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("#verdict")).to_have_text("All 1 checks are well.")
    served.kernel.checks = before


def test_a_store_that_is_read_only_is_said_on_every_page(visitor: Visitor, served: Served) -> None:
    served.kernel.storage |= {"state": "read_only", "reason": "The disk is full.", "kept": "/data/kept/a.db"}
    try:
        for path in ("/", "/plugins", "/settings"):
            page = visitor.open(path)
            banner = page.locator(".banner")
            expect(banner).to_contain_text("Nothing can be stored at the moment")
            expect(banner).to_contain_text("The disk is full.")
            expect(banner).to_contain_text("/data/kept/a.db")
        banner.get_by_role("link").click()
        expect(ready(page).locator("#checks")).to_be_visible()
    finally:
        served.kernel.storage |= {"state": "ok"}


def test_a_crash_report_has_its_signal_its_last_words_and_the_calls_without_an_answer(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/plugins")
    card = page.locator("article#plugin-sanitizer")
    expect(card.locator("h2")).to_contain_text("crashed, trying again")
    card.locator("details.crashes summary").click()
    crash = card.locator(".crash").first
    expect(crash).to_contain_text("signal 9 (SIGKILL)")
    expect(crash).to_contain_text("KeyError: 'x'")
    expect(crash).to_contain_text("Calls that had no answer:")
    expect(crash).to_contain_text("timer_list (call 4f2a)")
    card.locator("details.logs summary").click()
    expect(card.locator("details.logs pre")).to_contain_text("<b>hello</b>")

    def wait() -> None:
        plugin = next(one for one in served.kernel.plugins if one["name"] == "sanitizer")
        plugin["retry_at"] = time.time() + 300
        served.kernel.post("plugin_state", "", "", plugin="sanitizer", state="backoff", reason="")

    def left() -> int:
        found = re.search(r"next try in (\d+) s", card.locator(".retry").inner_text())
        return int(found[1]) if found else 0

    served.do(wait)
    expect(card.locator(".retry")).to_contain_text(re.compile(r"next try in \d+ s"))
    first = left()
    assert 0 < first <= 300
    until(lambda: 0 < left() < first - 1, what="it counts down by itself")
    expect(card.locator("details.crashes")).to_have_attribute("open", "")


def test_the_page_of_plugins_is_told_what_came_between_it_and_its_stream(visitor: Visitor, served: Served) -> None:
    with visitor.context.expect_event("request", lambda one: "/chat/events" in one.url) as asked:
        visitor.open("/plugins")
    assert asked.value.url.endswith(f"after={served.kernel.hub.cursor(served.kernel.hub.latest)}")


def test_plugins_have_chinese_names(browser: Browser, served: Served) -> None:
    served.kernel.plugins[0]["name_zh"] = "网页"
    with at(browser, served, locale="zh-CN") as visitor:
        page = visitor.open("/plugins")
        expect(page.locator("article h2").first).to_contain_text("网页")


def test_a_file_on_this_machine_is_a_source(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/models")
    page.select_option("[name=preset]", "gguf")
    expect(page.get_by_label("API key")).to_be_hidden()
    expect(page.get_by_label("Address")).to_be_hidden()
    page.get_by_label("Path of the file").fill("/srv/models/tiny.gguf")
    page.get_by_label("Name", exact=True).fill("tiny")
    with page.expect_navigation():
        page.get_by_role("button", name="Save and use").click()
    card = ready(page).locator('article[data-name="tiny"]')
    expect(card).to_contain_text("/srv/models/tiny.gguf")
    expect(card).to_contain_text("On this machine")
    expect(card.locator(".result")).to_have_text("Works: answered in 412 ms")
    card.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Path of the file")).to_have_value("/srv/models/tiny.gguf")
    page.locator('article[data-name="deepseek"]').get_by_role("button", name="Edit").click()
    expect(page.get_by_label("API key")).to_be_focused()
    expect(page.get_by_label("API key")).to_have_value("")
    page.get_by_label("Takes pictures").check()
    with page.expect_navigation():
        page.get_by_role("button", name="Save and use").click()
    expect(ready(page).locator('article[data-name="deepseek"]')).to_contain_text("sees pictures")
    assert "sk-secret" not in page.content()
