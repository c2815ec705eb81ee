"""What came back from memory and why, evidence word for word, and the built-in model, honestly named."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import trio
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Served, Visitor, at, ready
from tests.plugins.webui.standin import OWNER, StandIn, Turn
from tests.plugins.webui.standin_ledger import AUTUMN, BED, MEI, PROFILE
from tests.plugins.webui.standin_rich import CHINESE, remembering, small

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(remembering(StandIn(script))) as running:
        yield running


async def script(turn: Turn) -> None:
    """Some turns of which something comes back or is kept; the others as ever."""
    kernel, talk = turn.kernel, turn.talk
    if turn.text.startswith("recall what"):
        row = {**kernel.injected[0], "turn": turn.turn, "lines": [kernel.injected[0]["lines"][at] for at in (0, 3)]}
        kernel.injected.append(row)
        turn.recall([], [], 412, facts=[MEI, PROFILE], counts={"fact": 1, "capsule": 1})
        await turn.say("Only these.")
        return
    if turn.text.startswith("show your progress"):
        while not kernel.held["loaded"].is_set():  # told again and again, as of any model that takes its time
            await turn.wait("loading", pause=0.05)
        await turn.wait("reading")
        await trio.sleep_forever()
    await small(turn)
    if "remember" in turn.text:
        kept = {"summary": [AUTUMN], "fact": [BED]} if turn.text.startswith("remember that") else {}
        talk.written.append({"turn": turn.turn, "state": "done", "records": kept})
        kernel.post("memory", talk.id, turn.turn, what="written", state="done", made=2, records=kept)


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served, locale="en-GB") as made:
        yield made


@pytest.fixture
def page(visitor: Visitor, served: Served) -> Page:
    """The conversation with one of everything."""
    talk = next(talk for talk in served.kernel.talks.values() if talk.title.startswith("Garden plan for"))
    return visitor.open(f"/t/{talk.id}")


def test_the_recall_line_opens_to_the_events_and_each_to_its_words(page: Page) -> None:
    line = page.locator("details.recall")
    expect(line.locator("summary")).to_have_text(
        "[long-term recall] 2 from other conversations · 1 from cold memory · 640 chars"
    )
    line.locator("summary").click()
    rows = line.locator(".event")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("assistant · Autumn clean-up")
    expect(rows.nth(1)).to_contain_text("Black Krim split and then rotted")
    rows.nth(1).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".verbatim")).to_have_text(
        "…no, the others were fine. Black Krim split and then rotted when it rained all August."
    )
    facts = dialog.locator(".facts")
    expect(facts).to_contain_text("Whoyou")
    expect(facts).to_contain_text("14 November 2023")
    expect(facts).to_contain_text("cold memory")
    expect(facts.get_by_role("link", name="Autumn clean-up")).to_have_attribute("href", "/t/th0")
    page.keyboard.press("Escape")
    expect(rows.nth(1)).to_be_focused()


def test_what_an_earlier_release_told_stands_in_line_with_its_id_and_day(page: Page) -> None:
    at_, id_ = 1_700_000_000.0, "fact_00000000deadbeef"
    known = {"kind": "fact", "layer": "stable", "title": "", "excerpt": "Ida plays the cello.", "created_at": at_}
    told = {"cold": ["ev_1"], "facts": [id_], "hits": [], "known": {"scores": {id_: 0.4}}}
    said = known | {"kind": "user", "layer": "cold", "excerpt": "I heard her play."}
    answer = {"entries": [{"kind": "recall", "data": told}], "events": {id_: known, "ev_1": said}}
    page.route("**/explain", lambda route: route.fulfill(json=answer))
    page.route("**/memory/injections?*", lambda route: route.fulfill(json={"injections": [], "next": None}))
    page.locator("details.recall summary").click()
    rows = page.locator(".recalled .event")
    expect(rows).to_have_count(2)
    heard, cello = rows.all()
    expect(cello).to_contain_text("lasting memory · fact_00000000deadbeef · 14 Nov")
    expect(cello).to_contain_text("Ida plays the cello.")
    one, other = (row.locator(".excerpt").bounding_box() for row in (heard, cello))
    assert one
    assert other
    assert abs(one["x"] - other["x"]) < 2, "they are one list"


def test_the_recall_line_counts_by_layer_and_opens_to_question_words_and_evidence(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.fill("#text", "recall what you know")
    page.keyboard.press("Enter")
    line = page.locator("details.recall")
    expect(line.locator("summary")).to_have_text("[long-term recall] L1×0 L2×1 L3×1 · 412 chars")
    line.locator("summary").press("Enter")
    expect(line.locator(".asked q")).to_have_text("Which tomatoes did badly last year?")
    lines = line.locator(".told-lines > li")
    expect(lines.first).to_contain_text("Mei wants no Black Krim any more: they split in the rain.")
    expect(lines.first).to_contain_text("L2 · preference")
    lines.first.get_by_role("button", name="Evidence 9f3c1a7b").press("Enter")
    expect(page.get_by_role("dialog").locator("mark").first).to_have_text("I live in Munich since May")
    page.keyboard.press("Escape")
    expect(lines.first.get_by_role("button", name="Evidence 9f3c1a7b")).to_be_focused()
    expect(line.get_by_role("link", name="Why this answer")).to_have_attribute("href", re.compile("/turns/turn.*/why"))


def test_what_was_written_is_said_when_it_is_and_after_a_reload(visitor: Visitor) -> None:
    """B9: a model that only says that it remembers is told apart from one of whose turn something was kept."""
    page = visitor.open("/")
    page.fill("#text", "remember that I keep bees")
    page.keyboard.press("Enter")
    written = page.locator("section.turn").last.locator("details.written")
    expect(written.locator("summary")).to_have_text("Remembered: 1 summary, 1 fact")
    written.locator("summary").click()
    expect(written).to_contain_text("梅喜欢在阳台上种番茄")
    edit = written.locator("li").last.get_by_role("link", name="Edit")
    expect(edit).to_have_attribute("href", "/memory/records/fact_00000000aaaa0002#edit")
    page.reload()
    expect(ready(page).locator("details.written summary")).to_have_text("Remembered: 1 summary, 1 fact")
    page.fill("#text", "you will remember this, won't you?")
    page.keyboard.press("Enter")
    expect(page.locator("p.written")).to_have_text("Nothing was remembered of this.")


def test_a_recall_that_comes_while_one_looks_stands_over_the_answer(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.fill("#text", "and live?")
    page.keyboard.press("Enter")
    line = page.locator("details.recall")
    expect(line.locator("summary")).to_contain_text("1 from other conversations · 1 from cold memory · 312 chars")
    expect(page.locator("section.turn.live")).to_have_count(0)
    order = page.locator("section.turn > *").evaluate_all("all => all.map(one => one.dataset.key)")
    assert order[:3] == ["said", "recall", "reason-0"]
    line.locator("summary").click()
    expect(line.locator(".event").first).to_contain_text("cordon tomatoes")


def test_a_long_event_comes_in_parts(page: Page, served: Served) -> None:
    served.kernel.remembered["c77a90b1"]["text"] = "line of it\n" * 30_000
    page.locator("details.recall summary").click()
    page.locator("details.recall .event").first.click()
    dialog = page.get_by_role("dialog")
    first = len(dialog.locator(".verbatim").text_content() or "")
    assert first < 330_000
    dialog.get_by_role("button", name="Show more").click()
    expect(dialog.get_by_role("button", name="Show more")).to_have_count(0)
    assert dialog.locator(".verbatim").text_content() == "line of it\n" * 30_000


def test_why_shows_what_was_in_view_left_out_recalled_and_sunk(page: Page) -> None:
    page.locator("section.turn").first.hover()
    page.get_by_role("button", name="Why this answer").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("8 of 34 earlier messages were in view, 26 were left out.")
    first = dialog.locator("details.group").first
    expect(first.locator(".event")).to_have_count(8)
    expect(first.locator(".event").first).to_contain_text("Black Krim split")
    expect(first.locator(".event").first).to_contain_text("0.83")
    expect(first.locator(".event").first).to_contain_text("closest of the others")
    assert first.locator(".bar i").first.evaluate("one => one.style.width") == "83%"
    names = ["In view", "Left out", "From cold memory", "From other conversations", "Found, but no room to tell"]
    expect(dialog.locator("details.group > summary b")).to_have_text([*names, "Back in the window", "To cold memory"])
    left = dialog.locator("details.group").nth(1)
    expect(left.locator(".count")).to_have_text("26")
    left.locator("summary").click()
    expect(left.locator(".event")).to_have_count(12)
    left.get_by_role("button", name="Show all 14").click()
    expect(left.locator(".event")).to_have_count(14)
    expect(dialog).to_contain_text("Not in time: cold.")
    expect(dialog).to_contain_text("Before: 62 events, 80000 tokens. After: 30 events, 31000 tokens.")


def test_a_turn_of_which_nothing_is_recorded_says_so(page: Page) -> None:
    answer = page.locator("section.turn", has_text="那就种五株吧")
    expect(answer.locator(".answer")).to_contain_text(CHINESE[:3])
    answer.get_by_role("button", name="Why this answer").click()
    expect(page.get_by_role("dialog")).to_contain_text("Nothing is recorded for this turn.")


def test_the_built_in_model_is_named_for_what_it_is_and_says_where_a_key_goes(visitor: Visitor, served: Served) -> None:
    served.kernel.admin_models_use(OWNER, "embedded")
    try:
        page = visitor.open("/")
        label = page.locator("header #model")
        expect(label).to_contain_text("Built-in model · SmolLM2-135M")
        expect(label).to_contain_text("small and slow")
        expect(label).to_have_attribute("href", "/models")
        note = page.locator("#welcome .embedded")
        expect(note).to_contain_text("answers slowly")
        note.locator("summary").first.click()
        expect(note.get_by_label("API key")).to_be_visible()
        label.click()
        card = ready(page).locator('article[data-name="embedded"]')
        expect(card).to_contain_text("small and slow")
        expect(card.get_by_role("button", name="Remove")).to_have_count(0)
        card.get_by_role("button", name="Test").click()
        expect(card.locator(".result")).to_have_text("Works: answered in 412 ms")
        page.set_viewport_size({"width": 360, "height": 700})
        page.goto(served.url)
        expect(ready(page).locator("header #model")).to_contain_text("small and slow")
    finally:
        served.kernel.admin_models_use(OWNER, "deepseek")


def test_a_model_that_loads_and_reads_shows_how_far_it_is_and_can_be_stopped(visitor: Visitor, served: Served) -> None:
    loaded = served.kernel.held["loaded"] = trio.Event()
    page = visitor.open("/")
    page.fill("#text", "show your progress, forever")
    page.keyboard.press("Enter")
    progress = page.locator('[data-key="progress"]')
    expect(progress).to_contain_text("Loading the model…")
    served.do(loaded.set)
    expect(progress).to_have_text("Reading your message… 100%")
    assert progress.locator("progress").evaluate("one => one.value") == 1
    page.reload()  # there is no next one that it could wait for
    expect(progress).to_have_text("Reading your message… 100%")
    ready(page)
    page.keyboard.press("Escape")
    expect(page.locator("[data-key=end]")).to_contain_text("Stopped")
    expect(progress).to_have_count(0)
    page.fill("#text", "progress, then a word")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn").last.locator(".answer")).to_have_text("Hello!")
    expect(progress).to_have_count(0)
