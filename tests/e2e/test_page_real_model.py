"""A fresh machine without a key: the page, the daemon and the built-in model, which no script can show.

SmolLM2-135M is weak and takes no tools; nothing here depends on what it says.  It must talk long enough to be watched
and stopped, so it is asked for a long story, and each wait is for something seen on the page.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import ready, visiting
from tests.kit.daemon import BUILT_IN, Daemon, until

pytestmark = [pytest.mark.chromium, pytest.mark.model, pytest.mark.slow]

STORY = "Write a very long story about a river, with as many details as you can."
PATIENT = 120_000
"""Milliseconds for the model to be loaded, a prompt to be read and a first word said, on one busy core."""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """With nothing but what was installed."""
    with Daemon(tmp_path_factory.mktemp("fresh") / "data", env={BUILT_IN: "on"}) as running:
        yield running


@pytest.fixture
def page(browser: Browser, daemon: Daemon) -> Iterator[Page]:
    """A new conversation; whoever came in by the link sees at once which model answers."""
    with visiting(browser, daemon.url) as visitor:
        page = visitor.context.new_page()
        page.goto(daemon.new_link())
        expect(page.locator("header #model")).to_contain_text("Built-in model")
        expect(page.locator("#welcome .embedded")).to_contain_text("It is small")
        yield ready(page)


def say(page: Page, text: str) -> Locator:
    """Send a message; the turn it began."""
    before = page.locator("section.turn").count()
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn")).to_have_count(before + 1)
    return page.locator("section.turn").nth(before)


def grown(answer: Locator, steps: int) -> list[int]:
    """Watch an answer until its text was longer than before so many times; the lengths that were seen."""
    expect(answer).not_to_be_empty(timeout=PATIENT)
    seen = [len(answer.inner_text())]

    def longer() -> bool:
        length = len(answer.inner_text())
        if length > seen[-1]:
            seen.append(length)
        return len(seen) > steps

    until(longer, what=f"an answer that grows {steps} times, not {seen}")
    return seen


def stopped(page: Page) -> Locator:
    """A story stopped in mid-stream; should the model have come to an end just before, it is asked for another."""
    for _ in range(3):
        turn = say(page, STORY)
        grown(turn.locator(".answer"), steps=2)
        page.keyboard.press("Escape")
        expect(page.locator("section.turn.live")).to_have_count(0)
        if "Stopped" in turn.locator("[data-key=end]").inner_text():
            return turn
    raise AssertionError("three stories, and none was stopped")


def test_a_real_model_streams_and_is_stopped_and_goes_on(page: Page) -> None:
    """One conversation: a story that grows, a stop that keeps what was said, and the next message answered."""
    turn = stopped(page)
    kept = turn.locator(".answer").inner_text()
    assert kept.strip()

    following = say(page, "Say hello.")
    expect(following.locator(".answer")).not_to_be_empty(timeout=PATIENT)
    page.keyboard.press("Escape")  # it may talk for a minute; that it talks at all is what counts
    expect(page.locator("section.turn.live")).to_have_count(0)
    assert turn.locator(".answer").inner_text() == kept, "what was said stays"
    count = page.locator("section.turn").count()
    page.reload()
    ready(page)
    expect(page.locator("section.turn")).to_have_count(count)
    assert turn.locator(".answer").inner_text() == kept, "also in the store"


def test_a_stop_while_it_reads_holds_and_the_next_message_is_answered(page: Page) -> None:
    """The first message of all: the model is loaded and reads, with progress shown; Escape ends that too."""
    turn = say(
        page, "Please read all of this with care. " + "The river was long and the road beside it was longer. " * 90
    )
    progress = turn.locator('[data-key="progress"]')
    expect(progress).to_contain_text("Reading your message…", timeout=PATIENT)
    page.keyboard.press("Escape")
    expect(page.locator("section.turn.live")).to_have_count(0)
    expect(turn.locator("[data-key=end]")).to_contain_text("Stopped")
    expect(turn.locator(".answer")).to_have_count(0)
    expect(progress).to_have_count(0)
    following = say(page, "Hello!")
    expect(following.locator(".answer")).not_to_be_empty(timeout=PATIENT)
    page.keyboard.press("Escape")
    expect(page.locator("section.turn.live")).to_have_count(0)
