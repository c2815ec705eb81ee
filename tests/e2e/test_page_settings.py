"""The settings page on a real daemon: live changes, the way back for models, the persona; page and command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import enter, ready, visiting
from tests.kit.daemon import Daemon, run_homed
from tests.kit.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

TURNS = "core.agent.max_tool_turns"


@pytest.fixture(scope="module")
def home(model: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A new homed with a source that works, and a file that gives a setting."""
    data = tmp_path_factory.mktemp("settings") / "data"
    source = ("--base-url", model.url, "--model", model.model, "--api-key", model.key)
    assert run_homed("models", "add", "fake", *source, "--data", str(data)).code == 0
    (data / "homed.toml").write_text('[core.log]\nlevel = "warning"\n')
    with Daemon(data) as running:
        yield running


@pytest.fixture(scope="module")
def came_in(browser: Browser, home: Daemon) -> Any:
    context = browser.new_context()
    enter(context.new_page(), home.new_link())
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def page(browser: Browser, home: Daemon, came_in: Any) -> Iterator[Page]:
    with visiting(browser, home.url, storage_state=came_in) as visitor:
        yield visitor.open("/")


def settings(page: Page, home: Daemon) -> Page:
    page.goto(home.url + "/settings")
    return ready(page)


def say(page: Page, home: Daemon, text: str) -> None:
    page.goto(home.url + "/")
    ready(page).fill("#text", text)
    page.keyboard.press("Enter")


def system(model: FakeOpenAI) -> str:
    """The instructions of the newest call."""
    return str(model.requests[-1].body["messages"][0]["content"])


def test_a_new_homed_asks_who_it_should_be_and_the_next_turn_knows(page: Page, home: Daemon, model: FakeOpenAI) -> None:
    first = page.locator("#first-persona")
    expect(first).to_contain_text("Who should I be?")
    first.get_by_role("button", name="Brief").click()
    expect(first).to_have_count(0)
    expect(page.locator("#text")).to_be_focused()
    say(page, home, "hello")
    expect(page.locator(".answer")).to_have_text("You said: hello")
    assert "Answer as briefly as can be" in system(model)
    page.goto(home.url + "/")
    expect(ready(page).locator("#first-persona")).to_have_count(0)


def test_a_persona_written_on_the_page_or_into_the_file_holds_from_the_next_turn(
    page: Page, home: Daemon, model: FakeOpenAI
) -> None:
    settings(page, home)
    page.get_by_role("button", name="Tutor").click()
    area = page.locator("#persona-form textarea")
    area.fill("Speak like a pirate, {version}.")
    page.locator("#persona-form button:text('Save')").click()
    expect(page.locator("#persona-form [role=status]")).to_contain_text("Saved")
    say(page, home, "ahoy")
    expect(page.locator(".answer")).to_have_text("You said: ahoy")
    assert "Speak like a pirate, 0." in system(model)
    file = home.data / "persona.md"
    file.write_text("Speak like a parrot.\n")
    try:
        say(page, home, "polly")
        expect(page.locator(".answer")).to_have_text("You said: polly")
        assert "Speak like a parrot." in system(model)
        settings(page, home)
        expect(page.locator("#persona")).to_contain_text(f"given by {file}")
        expect(page.locator("#persona-form textarea")).to_be_disabled()
    finally:
        file.unlink()
    assert home.run("config", "unset", "core.agent.persona").code == 0


def test_a_key_changed_live_acts_on_the_next_turn(page: Page, home: Daemon, model: FakeOpenAI) -> None:
    settings(page, home)
    form = page.locator('form[data-key="core.agent.language"]')
    form.locator("select").select_option("中文")
    form.locator("button:not(.reset)").click()
    expect(form.locator("[role=status]")).to_have_text("Saved")
    expect(form.locator(".changed")).to_be_visible()
    say(page, home, "which language?")
    expect(page.locator(".answer")).to_have_text("You said: which language?")
    assert "Answer in 中文" in system(model)
    form = settings(page, home).locator('form[data-key="core.agent.language"]')
    form.get_by_role("button", name="Default: auto").click()
    expect(form.locator("select")).to_have_value("auto")
    expect(form.locator(".reset")).to_be_hidden()
    expect(form.locator("select")).to_be_focused()
    say(page, home, "and now?")
    expect(page.locator(".answer")).to_have_text("You said: and now?")
    assert "Answer in 中文" not in system(model)


def test_a_source_that_breaks_every_turn_is_rolled_back_on_the_page(
    page: Page, home: Daemon, model: FakeOpenAI
) -> None:
    broken = ("--base-url", "http://127.0.0.1:9/v1", "--model", "x", "--api-key", "sk-wrong-key-wrong-key")
    assert home.run("models", "add", "fake", *broken).code == 0
    say(page, home, "are you there?")
    expect(page.locator(".talk")).to_contain_text("cannot be reached")
    settings(page, home)
    newest = page.locator("#ways-back > li").first
    expect(newest).to_contain_text("fake.base_url: http://127.0.0.1:9/v1")
    expect(newest).not_to_contain_text("sk-wrong")
    newest.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Bring back").click()
    expect(page.locator(".toast")).to_contain_text("Brought back.")
    say(page, home, "and now?")
    expect(page.locator(".answer")).to_have_text("You said: and now?")
    assert "sk-wrong" not in (home.data / "homed.log").read_text()


def test_and_on_the_command_line_there_and_back_again(home: Daemon, model: FakeOpenAI) -> None:
    broken = ("--base-url", "http://127.0.0.1:9/v1", "--model", "x", "--api-key", "sk-wrong-key-wrong-key")
    assert home.run("models", "add", "fake", *broken).code == 0
    ran = home.run("config", "rollback")
    assert ran.code == 0, ran
    assert home.json("models", "test", "fake")["ok"]
    shown = home.run("config", "snapshots")
    assert "fake.base_url" in shown.out
    assert model.key not in shown.out + home.run("config", "dump").out
    assert home.run("config", "rollback").code == 0, "a roll back can be rolled back"
    assert home.run("models", "test", "fake").code == 1
    assert home.run("config", "rollback").code == 0
    assert home.json("models", "test", "fake")["ok"]
    assert home.run("config", "rollback", "99999").code == 1
    for file in home.data.glob("homed.db*"):
        assert model.key.encode() not in file.read_bytes(), "no key is in a snapshot"


def test_search_finds_in_both_languages_and_the_keyboard_is_enough(page: Page, home: Daemon) -> None:
    settings(page, home)
    forms = page.locator("form[data-find]:visible")
    page.locator("#find-setting").focus()
    page.keyboard.type("每轮步数")
    expect(forms).to_have_count(1)
    expect(forms.first).to_contain_text(TURNS)
    expect(page.locator("#found")).to_have_text("1 found")
    page.keyboard.press("Escape")
    expect(page.locator("#persona")).to_be_visible()
    page.keyboard.type("BACKUPS kept")
    expect(forms).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(forms.locator("input")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(forms.locator("[role=status]")).to_have_text("Saved")
    assert home.run("config", "get", "core.memory.backups_kept").out.strip() == "3"
    page.fill("#find-setting", "")
    page.check("#only-changed")
    expect(page.locator('form[data-key="core.memory.backups_kept"]')).to_be_visible()
    expect(page.locator('form[data-key="core.log.level"]')).to_contain_text("homed.toml line 2")
    expect(page.locator('form[data-key="core.log.level"] select')).to_be_disabled()
    expect(page.locator(f'form[data-key="{TURNS}"]')).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_nothing_is_wider_than_a_narrow_screen(
    browser: Browser, home: Daemon, came_in: Any, scheme: Any, language: str
) -> None:
    options = {"viewport": {"width": 360, "height": 800}, "color_scheme": scheme, "locale": language}
    with visiting(browser, home.url, storage_state=came_in, **options) as visitor:
        page = visitor.open("/settings")
        assert page.evaluate("document.querySelector('#settings').scrollWidth") <= 360
        outside = "[...document.querySelectorAll('#settings *')].filter(e => e.getBoundingClientRect().right > 361)"
        wide = page.evaluate(f"{outside}.map(e => e.outerHTML.slice(0, 80))")
        assert wide == []


def test_what_the_command_line_dumps_starts_another_homed(home: Daemon, tmp_path: Path) -> None:
    dumped = home.run("config", "dump", "core")
    assert dumped.code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "homed.toml").write_text(dumped.out)
    found = run_homed("config", "list", "--changed", "--json", "--data", str(other))
    assert found.code == 0, found
    assert '"core.memory.backups_kept"' in found.out


def test_a_leap_to_a_category_leaves_the_head_of_the_page_in_sight_on_a_telephone(page: Page, home: Daemon) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    settings(page, home)
    page.get_by_role("link", name="The way back for models", exact=True).click()
    expect(page.get_by_role("heading", name="The way back for models")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_in_viewport()
    # Nothing but what scrolls is taller than the screen: a label for readers that sticks out of it moved all.
    assert page.evaluate("document.documentElement.scrollHeight - document.documentElement.clientHeight") == 0


def test_what_is_jumped_to_is_not_beneath_the_search(browser: Browser, home: Daemon, came_in: Any) -> None:
    telephone = {"viewport": {"width": 360, "height": 640}}
    with visiting(browser, home.url, storage_state=came_in, **telephone) as visitor:
        page = visitor.open("/settings")
        page.locator(".rooms").get_by_role("link", name="Spend").click()
        heading = page.get_by_role("heading", name="Spend", exact=True)
        expect(heading).to_be_in_viewport()
        found, search = heading.bounding_box(), page.locator(".looking").bounding_box()
        assert found is not None
        assert search is not None
        assert found["y"] >= search["y"] + search["height"]
