"""What was told before turns, why, the graph, thresholds, the health check and vectors, in real Chromium.

On a stand-in kernel whose answers have the shapes of the real one's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from playwright.sync_api import Browser, Route, expect

from tests.e2e.conftest import Served, Visitor, at, caught, ready
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_rich import remembering, small

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(remembering(StandIn(small))) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served, locale="en-GB") as made:
        yield made


def told(served: Served, method: str) -> list[dict[str, Any]]:
    return [given for name, given in served.kernel.calls if name == method]


def test_an_injection_opens_to_its_lines_and_each_to_its_evidence(visitor: Visitor) -> None:
    page = visitor.open("/memory/injections")
    rows = page.locator("details.told")
    expect(rows).to_have_count(3)
    first = rows.filter(has_text="Which tomatoes")
    expect(first.locator("summary")).to_contain_text("L1×1 L2×3 L3×1")
    expect(first.locator("summary")).to_contain_text("not in time: cold")
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(first.locator("h3.band")).to_have_text(
        ["Immediate: answers the question", "Working: belongs to it", "Background: whatever was asked"]
    )
    lines = first.locator(".told-lines > li")
    expect(lines).to_have_count(5)
    expect(lines.nth(1)).to_contain_text("told as revision 2, now 3")
    expect(lines.nth(3)).to_contain_text("shortened")
    expect(lines.last).to_have_text(re.compile(r"\(deleted\).*0eadbeef", re.DOTALL))
    expect(lines.last.get_by_role("button")).to_have_count(0)
    button = lines.first.get_by_role("button", name="Open the evidence of 9f3c1a7b")
    button.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".pieces > li").first).to_contain_text("I live in Munich since May")
    expect(dialog.locator(".pieces > li").first).to_contain_text("matches what was said (hash ok)")
    expect(dialog.locator(".pieces > li").nth(1)).to_contain_text("does not match what was said any more")
    expect(dialog.locator(".pieces > li").nth(2)).to_contain_text("source unavailable")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_the_ledger_is_filtered_by_conversation_and_by_record(visitor: Visitor) -> None:
    page = visitor.open("/memory/injections")
    page.get_by_label("Record (id)").fill("cccc0001")
    page.keyboard.press("Enter")
    page.wait_for_url("**?record=cccc0001")
    expect(ready(page).locator("details.told")).to_have_count(2)
    page.get_by_label("Record (id)").fill("nothing1")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no record nothing1.")
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("details.told")).to_have_count(3)
    ready(page)
    page.get_by_label("Conversation (title or id)").fill("th2")
    page.keyboard.press("Enter")
    expect(page.locator("details.told")).to_have_count(1)
    expect(page.locator("details.told")).to_contain_text("今年番茄种什么？")


def test_why_has_a_page_of_its_own_that_leads_on(visitor: Visitor) -> None:
    page = visitor.open("/memory/injections")
    page.locator("details.told", has_text="Which tomatoes").locator("summary").click()
    page.get_by_role("link", name="Why this answer").first.click()
    expect(page).to_have_url(re.compile(r"/turns/ta/why$"))
    ready(page)
    expect(page.locator("blockquote.asked")).to_have_text("Which tomatoes did badly last year?")
    bar = page.get_by_role("img", name=re.compile("conversation: 34000"))
    widths = bar.locator("rect").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert widths[1] == pytest.approx(2 * widths[2], rel=0.02), "34 000 are twice 17 000"
    names = ["What the model saw", "What came back from memory", "What came back into the window"]
    expect(page.locator(".panel.why h2")).to_have_text([*names, "What went to cold memory afterwards"])
    seen = page.locator(".panel.why").first
    expect(seen.locator("details.group").first.locator(".event").first).to_contain_text("closest of the others")
    seen.locator("details.group").first.locator(".event").first.click()
    expect(page.get_by_role("dialog").locator(".verbatim")).to_contain_text("Black Krim split and then rotted")
    page.keyboard.press("Escape")
    page = visitor.open("/turns/never/why")
    expect(page.get_by_text("Nothing is recorded for this turn.")).to_be_visible()


def test_a_threshold_is_changed_with_a_reason_and_the_reason_stays(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/thresholds")
    form = page.locator('form[data-key="core.memory.extract_min_turn_chars"]')
    form.get_by_label("Value").fill("80")
    form.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Prevents summaries of small talk.")
    dialog.get_by_role("button", name="Change it").click()
    expect(dialog.get_by_role("alert")).to_have_text("A reason is needed.")
    assert told(served, "admin.threshold_set") == []
    dialog.get_by_label("The reason").fill("Greetings of 70 characters were summed up. <b>")
    dialog.get_by_role("button", name="Change it").click()
    card = page.locator(".thresholds > li", has_text="Extract min turn chars")
    expect(card.locator(".because-of q")).to_have_text("Greetings of 70 characters were summed up. <b>")
    expect(card.get_by_label("Value")).to_have_value("80")
    assert told(served, "admin.threshold_set")[-1]["value"] == 80
    form.get_by_label("Value").fill("99999")
    form.get_by_role("button").click()
    expect(form.get_by_role("status")).to_have_text("It must be between 0 and 10000.")
    expect(dialog).to_have_count(0)  # nobody gives reasons for what cannot be


def test_the_health_check_tells_how_far_it_is_mends_and_is_there_after_a_reload(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/health")
    go = served.kernel.held["admin.memory_doctor"] = trio.Event()
    page.get_by_role("button", name="Check deeply").click()
    expect(page.locator("#progress")).to_contain_text("4 of 5: vectors")
    assert page.locator("#progress progress").evaluate("one => one.value") == 0.8
    served.do(go.set)
    checks = page.locator("#checks > li")
    expect(checks).to_have_count(5)
    expect(page.locator("#verdict")).to_have_text("3 of 5 checks found something.")
    expect(checks.first).to_contain_text("1 holds a secret")
    expect(checks.first).to_contain_text("214 read")
    assert told(served, "admin.memory_doctor")[-1]["deep"] is True
    page.reload()
    expect(ready(page).locator("#checks > li")).to_have_count(5)
    page.get_by_role("button", name="Mend what is safe").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Duplicates")
    dialog.get_by_role("button", name="Mend", exact=True).click()
    expect(page.locator('[data-check-id="duplicates"]')).to_contain_text("Mended: 2 of them.")
    expect(page.get_by_role("button", name="Mend what is safe")).to_be_hidden()
    assert told(served, "admin.memory_doctor")[-1]["repair"] is True


def test_how_far_the_daemon_is_comes_by_itself(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/embedding")
    bar = page.locator("#refill progress")
    expect(page.locator("#refill")).to_contain_text("1,180 of 1,214 have their vector")
    held: list[Route] = []
    page.route("**/memory/embedding", lambda route: held.append(route))  # what is stored, asked for a while later
    served.do(lambda: served.kernel.post("progress", "", "", what="vectors", done=40, total=200))
    expect(page.locator("#refill")).to_contain_text("40 of 200 have their vector")
    assert bar.evaluate("one => one.value / one.max") == 0.2
    caught(page, held).continue_()
    expect(page.locator("#refill")).to_contain_text("1,180 of 1,214 have their vector")


def test_an_endpoint_is_tried_with_nothing_saved_and_then_set_without_showing_its_key(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/embedding")
    page.get_by_label("Made by").select_option("off")
    expect(page.get_by_label("Address")).to_be_hidden()
    page.get_by_label("Made by").select_option("endpoint")
    page.get_by_label("Address").fill("https://nowhere.example/v1")
    page.get_by_label("Model", exact=True).fill("bge-m3")
    page.locator("input[name=api_key]").fill("sk-secret-of-mine")
    page.get_by_role("button", name="Test").click()
    said = page.locator("#embedding [role=status]")
    expect(said).to_have_text("It cannot be reached. No answer. Is its address right?")
    page.get_by_label("Address").fill("https://vectors.example/v1")
    page.get_by_role("button", name="Test").click()
    expect(said).to_have_text("Works: 384 numbers in 41 ms. Nothing was saved.")
    assert told(served, "admin.embedding_set") == []
    page.get_by_role("button", name="Save").click()
    expect(said).to_contain_text("Saved")
    given = told(served, "admin.embedding_set")[-1]
    assert (given["embedding"], given["api_key"]) == ("endpoint", "sk-secret-of-mine")
    expect(page.locator("#embedding-now")).to_contain_text("812 of another model, which are not used")
    expect(page.locator("input[name=api_key]")).to_have_value("")
    page.reload()
    assert "sk-secret-of-mine" not in ready(page).content()


def test_the_graph_is_the_same_each_time_moves_and_opens_its_evidence(visitor: Visitor) -> None:
    page = visitor.open("/memory/graph")
    expect(page.locator("[data-node]")).to_have_count(12)
    expect(page.locator("#graph-said")).to_contain_text("People and things: 12 · facts that join two of them: 15 · ")
    places = "all => all.map(one => one.getAttribute('transform'))"
    before = page.locator("[data-node]").evaluate_all(places)
    page.reload()
    assert ready(page).locator("[data-node]").evaluate_all(places) == before
    inner = page.locator("#graph > g")
    still = inner.get_attribute("transform")
    page.get_by_role("button", name="Larger").click()
    expect(inner).not_to_have_attribute("transform", str(still))
    page.get_by_role("button", name="All of it").click()
    expect(inner).to_have_attribute("transform", str(still))
    box = page.locator("#graph").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.wheel(0, -300)
    expect(inner).not_to_have_attribute("transform", str(still))
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 90, steps=4)
    page.mouse.up()
    expect(page.locator("#graph-about")).to_be_hidden()
    page.get_by_role("button", name="All of it").click()
    page.locator('[data-edge="0"] .hit').dispatch_event("click")
    expect(page.get_by_role("dialog")).to_contain_text("I live in Munich since May")
    page.keyboard.press("Escape")
    page.locator("#graph [data-node]", has=page.get_by_text("Mei", exact=True)).first.click()
    about = page.locator("#graph-about")
    expect(about.locator(".relates")).to_have_count(9)
    expect(about).to_contain_text("lives since 2019")
    about.get_by_role("button", name="Look around it").click()
    expect(page.get_by_label("Around whom or what")).to_have_value("Mei")
    page.get_by_label("Around whom or what").fill("Nobody")
    page.keyboard.press("Enter")
    expect(page.locator("#graph-said")).to_have_text("Nobody and nothing here is called Nobody.")


def test_the_graph_is_walked_with_the_keyboard_and_read_as_a_list(visitor: Visitor) -> None:
    page = visitor.open("/memory/graph")
    page.locator('[data-node][tabindex="0"]').focus()
    assert "Mei" in str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    here = page.evaluate("document.activeElement.dataset.node")
    assert here
    page.keyboard.press("Enter")
    expect(page.locator("#graph-about")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#graph-about")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.node") == here
    page.get_by_text("The same as a list").click()
    expect(page.locator("#graph-list > li")).to_have_count(12)
    first = page.locator("#graph-list > li").first
    first.locator("summary").click()
    expect(first).to_contain_text("Mei plans Garden plan")
    first.get_by_role("button", name="Evidence 9f3c1a7b").click()
    expect(page.get_by_role("dialog")).to_contain_text("I live in Munich since May")


def test_figures_follow_what_changes_elsewhere(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/injections")
    expect(page.locator("details.told")).to_have_count(3)
    page.locator("details.told").last.locator("summary").click()

    def more() -> None:
        kernel = served.kernel
        kernel.injected.append({**kernel.injected[-1], "seq": 9, "turn": "td", "query": "and one more"})
        kernel.post("memory", "", "", what="injection")

    served.do(more)
    expect(page.locator("details.told")).to_have_count(4)
    expect(page.locator("details.told").first).to_contain_text("and one more")
    expect(page.locator("details.told").last).to_have_attribute("open", "")
    served.do(lambda: served.kernel.injected.pop())
