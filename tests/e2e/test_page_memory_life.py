"""The life of a record on a real page: told in one conversation, used in another, opened to the very words, corrected,
made one, put back, forgotten with proof."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Visitor, enter, ready, visiting
from tests.kit.daemon import READING
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

WORDS = "My sister Clara keeps eleven goats on her farm near Thun"
TOLD = f"{WORDS}, and the oldest of the goats is called Zita. Please keep that in mind for the birthday."
FACT = "Clara keeps eleven goats near Thun."
ANSWER = {
    "summary": {"request": "Tell of Clara's animals.", "outcome": "Noted.", "importance": 5},
    "facts": [{"text": FACT, "kind": "fact", "confidence": 0.9, "quote": WORDS, "importance": 6}],
}
SCRIPT = {
    "rules": [
        {"when": "<transcript>", "steps": [{"say": json.dumps(ANSWER)}]},
        {"when": "How many goats", "steps": [{"say": "Eleven, near Thun."}]},
        {"when": "goats", "steps": [{"say": "A fine herd!"}]},
    ]
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with fake_openai_thread(SCRIPT) as fake:
        built = House(tmp_path_factory.mktemp("home") / "data", fake, Plan(only=("webui",)))
        built.daemon.env = {**built.daemon.env, READING: "on"}
        try:
            yield built.start()
        finally:
            built.daemon.end()


@pytest.fixture(scope="module")
def visitor(browser: Browser, home: House) -> Iterator[Visitor]:
    with visiting(browser, home.daemon.url, locale="en-GB") as made:
        page = made.context.new_page()
        enter(page, home.daemon.new_link())
        page.close()  # as all others here: each has a stream, and a browser six connections to a server
        yield made


def say(page: Page, text: str, answer: str) -> None:
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator(".answer").last).to_contain_text(answer)


def opened(visitor: Visitor, text: str) -> Page:
    """The page of the record that says this; those before are closed."""
    for before in visitor.context.pages:
        before.close()
    page = visitor.open("/memory/records?record=fact")
    page.get_by_role("link", name=text).click()
    expect(page.locator("#record")).to_be_attached()
    return ready(page)


def test_what_is_told_in_one_conversation_and_used_in_another_opens_to_the_very_words(visitor: Visitor) -> None:
    records = visitor.open("/memory/records?record=fact")
    expect(records.locator(".empty")).to_be_visible()
    overview = visitor.open("/memory")
    first = visitor.open("/")
    say(first, TOLD, "A fine herd!")
    expect(records.locator(".records > li")).to_contain_text(FACT)
    expect(records.locator(".records .mark").first).to_have_text("source")
    expect(overview.locator(".tile", has_text="Facts").locator("dd")).to_have_text("1")
    second = visitor.open("/")
    say(second, "How many goats does Clara have?", "Eleven, near Thun.")
    page = opened(visitor, FACT)
    piece = page.locator(".piece").first
    expect(piece.locator("mark")).to_have_text(WORDS)
    expect(piece).to_contain_text("matches what was said")
    expect(piece).to_contain_text(", and the oldest of the goats is called Zita.")
    used = page.locator(".used > li").first
    expect(used).to_contain_text("Immediate")
    used.get_by_role("link", name="Why this answer").click()
    page.wait_for_url("**/why")
    expect(ready(page).locator("#memory")).to_contain_text("Clara")
    page.go_back()
    page.locator(".piece a").first.click()
    expect(ready(page).locator("section.turn.pointed .said")).to_have_text(TOLD)


def test_it_is_corrected_and_both_are_readable(visitor: Visitor) -> None:
    page = opened(visitor, FACT)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("Clara keeps twelve goats near Thun.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".says .text")).to_have_text("Clara keeps twelve goats near Thun.")
    expect(page.locator(".says .mark").first).to_have_text("manual")
    expect(page.locator(".changes-of > li")).to_contain_text("edited by a person")
    expect(page.locator(".changes-of del").first).to_have_text("eleven")
    expect(page.locator(".piece").first).to_contain_text("of revision 1 and before")
    page.get_by_role("button", name="Hide").click()
    expect(page.locator(".says .text")).to_have_text("(hidden)")
    page.get_by_role("button", name="Show again").click()
    expect(page.locator(".says .text")).to_have_text("Clara keeps twelve goats near Thun.")


def test_a_secret_is_refused_and_what_is_the_same_is_made_one_and_parted_again(visitor: Visitor) -> None:
    page = visitor.open("/memory/records?record=fact")
    page.get_by_role("button", name="Write a record").click()
    page.get_by_label("Text").fill("The password: hunter2hunter2")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#note [role=status]")).to_contain_text("blocked")
    page.get_by_label("Text").fill("Thun is where the goats of Clara graze.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".records > li")).to_have_count(2)
    page = opened(visitor, "Clara keeps twelve goats near Thun.")
    page.get_by_role("button", name="Combine…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio").first.check()
    expect(dialog.get_by_role("status")).to_contain_text("Becomes history: “Thun is where the goats of Clara graze.”")
    dialog.get_by_role("button", name="Combine", exact=True).click()
    expect(page.locator(".chain .older")).to_contain_text("Thun is where the goats of Clara graze.")
    page.locator(".chain").get_by_role("button", name="Let it hold again").click()
    page.get_by_role("dialog").get_by_role("button", name="Let it hold again").click()
    expect(page.locator(".chain")).to_have_count(0)
    expect(page.locator(".changes-of > li").first).to_contain_text("parted from")


def test_forgotten_for_good_it_is_nowhere_and_the_page_says_so(visitor: Visitor, home: House) -> None:
    page = opened(visitor, "Clara keeps twelve goats near Thun.")
    address = page.url
    page.get_by_role("button", name="Forget for good…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("The messages it comes from, too").check()
    expect(dialog.get_by_text("Messages: ")).to_be_visible()
    dialog.get_by_role("button", name="Forget for good").click()
    expect(dialog).to_contain_text("It was looked for afterwards and stands nowhere any more.")
    dialog.get_by_role("button", name="Close").click()
    page.wait_for_url("**/memory/records")
    expect(ready(page).locator(".records")).not_to_contain_text("twelve goats")
    assert page.goto(address).status == 404  # type: ignore[union-attr]
    expect(page.locator("main")).to_contain_text("There is no record")
    assert WORDS.encode() not in (home.data / "homed.db").read_bytes()
