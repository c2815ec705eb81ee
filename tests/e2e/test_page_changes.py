"""The pages of changes and of the log in real Chromium: diffs, the way back and its question, telephones, languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.conftest import Served, at, caught, ready
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_kept import AT, furnished_changes

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture
def served() -> Iterator[Served]:
    kernel = StandIn()
    kernel.changes = furnished_changes()
    said = {"at": AT, "thread": "th1", "turn": "t1", "channel": "webui", "peer": "webui:owner", "seq": 1, "id": "ev_1"}
    kernel.said = [
        {**said, "kind": "user", "text": "把说明改一下 <img src=x onerror=alert(1)>"},
        {**said, "kind": "tool", "text": "ok " * 400, "data": {"name": "files_edit"}},
        {**said, "kind": "assistant", "text": "Done."},
    ]
    with Served(kernel) as made:
        yield made


def wide(page: Page) -> bool:
    """Whether the page itself, and not a part that scrolls, is wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_a_change_is_read_put_back_and_that_is_a_change_again(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        page = visitor.open("/changes")
        expect(page.locator(".change-list > li")).to_have_count(4)
        expect(page.get_by_text("it holds more than 20000 files and folders")).to_be_visible()
        page.get_by_role("link", name="cmd_run").first.click()
        ready(page)
        expect(page.get_by_text("新的一行", exact=False).first).to_be_visible()
        expect(page.locator(".diff .ins").first).to_contain_text("新的一行")
        later = page.locator('details[data-number="30"]')
        later.locator("summary").click()
        expect(later.locator(".diff .del")).to_contain_text("<script>alert(1)</script>")
        page.get_by_role("button", name="Roll back").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert served.kernel.put_back == []
        page.get_by_role("button", name="Roll back").click()
        with page.expect_navigation():
            page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
        ready(page)
        assert served.kernel.put_back == [("chg_2", False)]
        expect(page.get_by_role("link", name="What was put back")).to_be_visible()
        visitor.check()


def test_who_is_quicker_than_the_script_gets_the_lines_of_a_file_too(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        held: list[Route] = []
        page = visitor.context.new_page()
        page.route("**/static/js/changes.js", lambda route: held.append(route))
        page.goto(f"{served.url}/changes/chg_2", wait_until="commit")
        later = page.locator('details[data-number="30"]')
        later.locator("summary").click()
        expect(later).to_have_attribute("open", "")
        caught(page, held).continue_()
        expect(later.locator(".diff .del")).to_contain_text("<script>alert(1)</script>")


def test_what_was_changed_since_is_named_before_it_is_forced(browser: Browser, served: Served) -> None:
    served.kernel.since = ["docs/说明.md"]
    with at(browser, served) as visitor:
        page = visitor.open("/changes/chg_2")
        page.get_by_role("button", name="Roll back").click()
        page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
        asked = page.get_by_role("dialog")
        expect(asked).to_contain_text("docs/说明.md")
        expect(page.locator(".troubles li")).to_have_text(["docs/说明.md was changed since then"])
        assert served.kernel.put_back == []
        with page.expect_navigation():
            asked.get_by_role("button", name="Replace them").click()
        ready(page)
        assert served.kernel.put_back == [("chg_2", True)]
        visitor.check()


def test_a_change_is_forgotten_and_a_missing_one_says_so(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        page = visitor.open("/changes/chg_2")
        page.get_by_role("button", name="Forget").click()
        with page.expect_navigation():
            page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        ready(page)
        expect(page.locator(".change-list > li")).to_have_count(3)
        page = visitor.open("/changes/chg_2")
        expect(page.get_by_text("This change is not kept any more.")).to_be_visible()
        visitor.check()


def test_the_log_shows_a_day_and_leads_to_others(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        page = visitor.open("/log?day=2026-02-02")
        expect(page.locator(".said-list > li")).to_have_count(3)
        expect(page.locator(".said-list")).to_contain_text("<img src=x")
        expect(page.get_by_role("link", name="← 2026-02-01")).to_be_visible()
        page.get_by_role("link", name="2026-02-03 →").click()
        ready(page)
        expect(page.get_by_label("Day")).to_have_value("2026-02-03")
        page.get_by_label("Day").fill("2026-01-15")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**/log?day=2026-01-15")
        ready(page)
        visitor.open("/log?day=2026-99-99")
        visitor.open("/log?day=0001-01-01")
        visitor.check()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_they_fit_a_telephone_in_both_themes_and_languages(
    browser: Browser, served: Served, lang: str, theme: str
) -> None:
    options = {"viewport": {"width": 360, "height": 740}, "color_scheme": theme, "locale": lang}
    with at(browser, served, **options) as visitor:
        for path, title in (("/changes", "更改"), ("/changes/chg_2", "更改"), ("/log?day=2026-02-02", "记录")):
            page = visitor.open(path)
            assert not wide(page), path
            expect(page.get_by_role("heading", level=1)).to_contain_text(title if lang == "zh" else "")
        visitor.check()
