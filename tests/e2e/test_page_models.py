"""The page of models: a provider and a key, the models of a server, quirks, what works, the window that was learnt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Served, Visitor, at, ready
from tests.plugins.webui.standin import OWNER, StandIn, furnished

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(furnished(StandIn())) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served) as made:
        yield made


def form(page: Page) -> Any:
    return page.locator("form.source")


def added(served: Served) -> dict[str, Any]:
    return next(source for source in served.kernel.sources if source["current"])


def test_a_provider_brings_everything_but_the_key(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/models")
    page.select_option("[name=preset]", "mistral")
    page.get_by_label("API key").fill("sk-of-mistral")
    with page.expect_navigation():
        page.get_by_role("button", name="Save and use").click()
    source = added(served)
    assert (source["name"], source["base_url"], source["adapter"]) == ("mistral", "https://api.mistral.ai/v1", "openai")
    assert (source["context_window"], source["vision"], source["options"]["call_ids"]) == (131_072, True, "nine")
    card = ready(page).locator('article[data-name="mistral"]')
    expect(card.locator(".result")).to_have_text("Works: answered in 412 ms")
    expect(card.locator(".works")).to_have_text("What works: streams · takes tools · counts tokens")
    assert "sk-of-mistral" not in page.content()


def test_the_models_of_a_server_are_offered_and_one_fills_the_form(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/models")
    page.select_option("[name=preset]", "deepseek")
    form(page).locator("summary").click()
    page.get_by_role("button", name="Which models does it have?").click()
    offers = page.get_by_label("Models of this server")
    expect(offers.locator("option")).to_have_text(["2 models", "deepseek-chat", "deepseek-reasoner"])
    offers.select_option("deepseek-reasoner")
    expect(page.get_by_label("Model", exact=True)).to_have_value("deepseek-reasoner")
    page.get_by_label("API key").fill("sk-wrong")
    page.get_by_role("button", name="Which models does it have?").click()
    expect(page.locator(".said-of-offers")).to_contain_text("HTTP 401")
    page.select_option("[name=preset]", "groq")
    expect(offers).to_be_hidden()


def test_quirks_are_a_json_object_and_stay_when_a_source_is_changed(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/models")
    page.select_option("[name=preset]", "groq")
    form(page).locator("summary").click()
    options = page.get_by_label("Options of its server")
    expect(options).to_have_value('{"reasoning": "strip", "max_tokens_field": "max_completion_tokens"}')
    options.fill("[1]")
    page.get_by_role("button", name="Save and use").click()
    expect(page.locator(".said-of-form")).to_have_text("The options are no JSON object.")
    options.fill('{"reasoning": "echo"}')
    page.get_by_label("Priority").fill("3")
    with page.expect_navigation():
        page.get_by_role("button", name="Save and use").click()
    assert (added(served)["options"], added(served)["priority"]) == ({"reasoning": "echo"}, 3)
    ready(page).locator('article[data-name="groq"]').get_by_role("button", name="Edit").click()
    expect(options).to_have_value('{"reasoning": "echo"}')
    expect(page.get_by_label("Priority")).to_have_value("3")
    expect(page.get_by_label("Questions at once")).to_have_value("8")


def test_the_window_that_was_learnt_is_shown_as_learnt(visitor: Visitor, served: Served) -> None:
    served.do(
        lambda: served.kernel.admin_models_add(
            OWNER, "small", "http://x/v1", "m", context_window=65536, learnt_window=8192
        )
    )
    page = visitor.open("/models")
    card = page.locator('article[data-name="small"]')
    expect(card).to_contain_text("Window: 8192 tokens, learnt from a refusal (65536 are set).")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_the_form_fits_a_narrow_screen(browser: Browser, served: Served, scheme: Any, locale: str) -> None:
    narrow = {"width": 360, "height": 740}
    with at(browser, served, viewport=narrow, color_scheme=scheme, locale=locale) as visitor:
        page = visitor.open("/models")
        page.select_option("[name=preset]", "mistral")
        form(page).locator("summary").click()
        expect(page.locator("[name=options]")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_name_that_turns_the_direction_turns_nothing_beside_it(visitor: Visitor, served: Served) -> None:
    """An address that stands backwards could be taken for another."""
    served.kernel.sources[0]["model"] = "good\u202elive"
    served.kernel.sources[0]["base_url"] = "https://api.example/v1"
    page = visitor.open("/models")
    forwards = page.get_by_text("https://api.example/v1", exact=True).first.evaluate(
        """one => {
            const at = (place) => {
                const range = document.createRange();
                range.setStart(one.firstChild, place);
                range.setEnd(one.firstChild, place + 1);
                return range.getBoundingClientRect().left;
            };
            return at(0) < at(5);
        }"""
    )
    assert forwards
