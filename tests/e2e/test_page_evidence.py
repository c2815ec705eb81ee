"""How do we know that another conversation used the memory: shown in real Chromium, on a real daemon.

A fact is told in one conversation and asked for in another: the recall line, the ledger's row with the second one's id,
and the first one's words, verbatim, with a hash that matches.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Visitor, enter, ready, visiting
from tests.kit.daemon import READING
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

TOLD = "My sister Clara keeps eleven goats on her farm near Thun, and the oldest of the goats is called Zita."
QUOTE = "My sister Clara keeps eleven goats on her farm near Thun"
ASKED = "How many goats does Clara keep on the farm?"
SAYS = "Clara keeps eleven goats near Thun."
FACT = {"text": SAYS, "kind": "fact", "confidence": 0.9, "quote": QUOTE}
LIE = {"text": "Clara owns a castle.", "kind": "fact", "quote": "Clara has a castle"}
SUMMARY = {"request": "Tell of Clara's goats.", "outcome": "Noted.", "importance": 5}
SCRIPT = {
    "rules": [
        {"when": "<transcript>", "steps": [{"say": json.dumps({"summary": SUMMARY, "facts": [FACT, LIE]})}]},
        {"when": "How many goats", "steps": [{"say": "Eleven."}]},
        {"when": "goats", "steps": [{"say": "Done, I will remember it!"}]},
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
        enter(made.context.new_page(), home.daemon.new_link())
        yield made


def say(page: Page, text: str) -> str:
    """The id of the conversation that it was said in, once it is answered."""
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn").last.locator('[data-key="end"]')).to_be_attached()
    return page.url.rpartition("/")[2]


def test_what_one_conversation_told_another_one_uses_and_each_step_can_be_checked(
    visitor: Visitor, home: House
) -> None:
    page = visitor.open("/")
    first = say(page, TOLD)
    written = page.locator("details.written")
    expect(written.locator("summary")).to_have_text("Remembered: 1 summary, 1 fact")

    page = visitor.open("/")
    second = say(page, ASKED)
    line = page.locator("details.recall")
    expect(line.locator("summary")).to_have_text(re.compile(r"\[long-term recall\] L1×\d L2×1 L3×0.* · \d+ chars"))
    line.locator("summary").press("Enter")
    expect(line.locator(".asked q")).to_have_text(ASKED)
    told = line.locator(".told-lines > li", has_text=SAYS)
    expect(told).to_contain_text("source")
    told.locator("[data-open-record]").press("Enter")
    piece = page.get_by_role("dialog").locator(".pieces > li")
    expect(piece.locator("mark")).to_have_text(QUOTE)
    expect(piece).to_contain_text("matches what was said (hash ok)")
    expect(piece.get_by_role("link")).to_have_attribute("href", f"/t/{first}")
    page.keyboard.press("Escape")

    ((excerpt, digest, text),) = home.rows(
        "SELECT v.excerpt, v.hash, e.text FROM evidence v JOIN events e ON e.id = v.event"
        " JOIN records r ON r.id = v.record WHERE r.record = 'fact' AND e.thread = ?",
        first,
    )
    assert excerpt == QUOTE
    assert excerpt in text
    assert digest == hashlib.sha256(QUOTE.encode()).hexdigest()
    ((thread, mode),) = home.rows("SELECT thread, mode FROM injections WHERE thread <> ?", first)
    assert (thread, mode) == (second, "hit")

    page.goto(f"{visitor.url}/memory/injections?thread={second}")
    row = ready(page).locator("details.told")
    expect(row).to_have_count(1)
    expect(row.locator("summary")).to_contain_text(ASKED)
    row.locator("summary").click()
    expect(row).to_contain_text(SAYS)
    row.get_by_role("link", name="Why this answer").click()
    expect(page.get_by_role("heading", name="What it was told from memory")).to_be_visible()
    expect(page.locator(".window-bar rect")).not_to_have_count(0)
    assert home.rows("SELECT count(*) FROM records WHERE text LIKE '%castle%'") == [(0,)], "a lie is no memory"


def test_a_record_that_was_forgotten_is_only_said_to_have_been_there(visitor: Visitor, home: House) -> None:
    ((id_,),) = home.rows("SELECT id FROM records WHERE record = 'fact'")
    page = visitor.open(f"/memory/records/{id_}#forget")
    page.get_by_role("dialog").get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("dialog")).to_contain_text("nowhere")
    page.goto(f"{visitor.url}/memory/injections")
    row = ready(page).locator("details.told", has_text=ASKED)
    row.locator("summary").click()
    expect(row).to_contain_text("(deleted)")
    expect(row).not_to_contain_text("eleven goats")


def test_the_health_check_of_a_real_memory_reads_and_a_threshold_asks_why(visitor: Visitor, home: House) -> None:
    page = visitor.open("/memory/health")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#checks > li").nth(15)).to_be_visible(timeout=60_000)
    expect(page.locator("#verdict")).to_contain_text("checks")
    assert page.locator('[data-status="error"]').count() == 0
    page.goto(f"{visitor.url}/settings#find=core.memory.inject_min_score")
    form = ready(page).locator('form[data-key="core.memory.inject_min_score"]')
    form.locator("input").fill("0.2")
    form.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("core.memory.inject_min_score prevents")
    dialog.get_by_label("The reason").fill("Goats came up where sheep were meant.")
    dialog.get_by_role("button", name="Change it").click()
    expect(form.get_by_role("status")).to_have_text("Saved")
    form.locator(".reset").click()
    page.get_by_role("dialog").get_by_label("The reason").fill("It was not that.")
    page.get_by_role("dialog").get_by_role("button", name="Change it").click()
    expect(form.locator("input")).to_have_value("0.12")
    page.goto(f"{visitor.url}/memory/thresholds")
    card = ready(page).locator('[id="core.memory.inject_min_score"]')
    expect(card.locator(".because-of q")).to_have_text("It was not that.")
    assert len(home.rows("SELECT 1 FROM threshold_changes WHERE key = 'core.memory.inject_min_score'")) == 2
