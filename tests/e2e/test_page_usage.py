"""The usage page in real Chromium: charts under the strict policy, prices by keyboard, telephones, both languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Served, at, ready
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_usage import furnished_usage

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture
def served() -> Iterator[Served]:
    kernel = StandIn()
    kernel.usage = furnished_usage()
    with Served(kernel) as made:
        yield made


def wide(page: Page) -> bool:
    """Whether the page itself, and not a part that scrolls, is wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_the_chart_is_drawn_and_its_table_says_the_same(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        page = visitor.open("/usage")
        figure = page.get_by_role("img", name="Columns by day")
        expect(figure).to_be_visible()
        column = figure.locator("g:has(rect)").last
        box = column.bounding_box()
        assert box is not None
        assert box["height"] > 5
        assert "rgb(0, 0, 0)" not in column.locator("rect").first.evaluate("one => getComputedStyle(one).fill")
        page.get_by_text("As a table").click()
        expect(page.get_by_role("cell", name="unknown").first).to_be_visible()
        page.get_by_role("group", name="Which days").get_by_role("link", name="7 days").click()
        ready(page)
        expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
        page.get_by_role("link", name="Money", exact=True).click()
        ready(page)
        expect(page.get_by_text("are not in this chart: their price is unknown")).to_be_visible()
        visitor.check()


def test_a_price_is_given_with_the_keyboard_alone_and_forgotten(browser: Browser, served: Served) -> None:
    with at(browser, served) as visitor:
        page = visitor.open("/usage")
        button = page.get_by_role("button", name="Set the price of lan qwen2.5:14b")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label("A million tokens read", exact=True)).to_be_focused()
        page.keyboard.press("Escape")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.type("0,5")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type("2")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        ready(page)
        row = page.locator('tr[data-source="lan"]')
        expect(row).to_contain_text("0.5")
        expect(row).to_contain_text("yours")
        row.get_by_role("button", name="Forget the price").click()
        with page.expect_navigation():
            page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        ready(page)
        expect(page.locator('tr[data-source="lan"]')).to_contain_text("unknown")
        visitor.check()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_telephone_in_both_themes_and_languages(
    browser: Browser, served: Served, lang: str, theme: str
) -> None:
    options = {"viewport": {"width": 360, "height": 740}, "color_scheme": theme, "locale": lang}
    with at(browser, served, **options) as visitor:
        page = visitor.open("/usage")
        assert not wide(page)
        expect(page.get_by_role("heading", name="今天" if lang == "zh" else "Today")).to_be_visible()
        expect(page.get_by_text("164万" if lang == "zh" else "1.64M")).to_be_visible()
        for at_ in (page.locator(".amounts.prices"), page.locator("figure.chart")):
            at_.scroll_into_view_if_needed()
            expect(at_).to_be_visible()
        assert not wide(page)
        for button in page.locator(".prices button").all():  # nobody looks for a button beyond the edge
            box = button.bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
        visitor.check()
