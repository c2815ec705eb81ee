"""The list of conversations, two tabs in step, and the keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.conftest import Served, Visitor, at, caught, copied, ready
from tests.kit.daemon import until
from tests.plugins.webui.standin import StandIn, furnished, show

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture
def served() -> Iterator[Served]:
    """One for each test: what another one's turn still says would move this one's list."""
    with Served(furnished(StandIn(show))) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served) as made:
        yield made


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.open()


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn .said").last).to_have_text(text)


def ended(page: Page) -> None:
    """Wait for the end of the only turn.  That none is live is true before it begins, too."""
    expect(page.locator("section.turn [data-key=end]")).to_be_visible()


def menu(page: Page, title: str, item: str) -> None:
    """Choose something from the menu of a conversation in the list."""
    page.get_by_role("button", name=f"More for {title}").click()
    page.get_by_role("menuitem", name=item).click()


def test_conversations_are_found_as_one_types_in_chinese_too(page: Page) -> None:
    page.locator("#find").press_sequentially("服务器", delay=20)
    expect(page.locator("a.thread")).to_have_text(["服务器迁移计划"])
    page.fill("#find", "garden")
    expect(page.locator("a.thread").first).to_have_text("Garden plan")
    page.fill("#find", "nothing of the kind")
    expect(page.locator("#threads")).to_have_text("No conversation has that in its name or in what was said.")
    page.keyboard.press("Escape")
    page.fill("#find", "")
    expect(page.locator("a.thread").nth(2)).to_be_visible()


def test_a_conversation_is_renamed_in_the_list(page: Page, served: Served) -> None:
    served.do(lambda: served.kernel.open_talk("to be renamed"))
    menu(page, "to be renamed", "Rename")
    page.keyboard.type("renamed from the list")
    page.keyboard.press("Enter")
    expect(page.locator("a.thread", has_text="renamed from the list")).to_be_visible()
    expect(page.locator("a.thread", has_text="to be renamed")).to_have_count(0)


def test_a_list_that_is_made_anew_leaves_whoever_renames_in_it_alone(page: Page, served: Served) -> None:
    served.do(lambda: served.kernel.open_talk("to be renamed"))
    menu(page, "to be renamed", "Rename")
    page.keyboard.type("renamed ")
    with page.expect_response("**/api/v1/threads"):
        served.do(lambda: served.kernel.open_talk("somebody else speaks"))
    page.keyboard.type("in peace")
    page.keyboard.press("Escape")
    expect(page.locator("a.thread", has_text="somebody else speaks")).to_be_visible()  # what was put off, nevertheless
    menu(page, "to be renamed", "Rename")
    with page.expect_response("**/api/v1/threads"):
        served.do(lambda: served.kernel.open_talk("and once more"))
    page.keyboard.type("renamed in peace")
    page.keyboard.press("Enter")
    expect(page.locator("a.thread", has_text="renamed in peace")).to_be_visible()
    expect(page.locator("a.thread", has_text="to be renamed")).to_have_count(0)


def test_a_conversation_that_gets_its_name_while_it_is_renamed_keeps_its_stream(page: Page, served: Served) -> None:
    say(page, "to be named")
    ended(page)
    thread = page.url.rpartition("/")[2]
    page.click("#about")
    page.get_by_role("menuitem", name="Rename").click()
    served.do(lambda: served.kernel.io_thread_rename("", thread, "named elsewhere"))
    expect(page).to_have_title("named elsewhere · HologramAgent")
    page.keyboard.press("Escape")
    expect(page.locator("#title")).to_have_text("named elsewhere")


def test_a_conversation_is_taken_along_as_markdown_and_json(page: Page) -> None:
    say(page, "to be exported")
    ended(page)
    for name, ending in (("Export as Markdown", ".md"), ("Export as JSON", ".json")):
        page.click("#about")
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=name).click()
        assert download.value.suggested_filename.endswith(ending)
        text = download.value.path().read_text("utf-8")
        assert "to be exported" in text
        assert "Black Krim" in text
        if ending == ".json":
            json.loads(text)


def test_deleting_names_what_goes_and_asks_first(page: Page, visitor: Visitor, served: Served) -> None:
    served.do(lambda: served.kernel.open_talk("old shopping list"))
    menu(page, "old shopping list", "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“old shopping list” goes for good")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("a.thread", has_text="old shopping list")).to_be_visible()
    menu(page, "old shopping list", "Delete")
    dialog.get_by_role("button", name="Delete for good").click()
    expect(page.locator(".toast")).to_contain_text("Deleted: 0 events")  # first: it is soon gone
    expect(page.locator("a.thread", has_text="old shopping list")).to_have_count(0)


def test_two_tabs_are_in_step(page: Page, visitor: Visitor) -> None:
    """A new conversation, its messages, approvals and names; and the one that is deleted says so and offers another."""
    other = visitor.open()
    say(page, "ask me something")
    expect(other.locator("a.thread", has_text="ask me something")).to_be_visible()
    other.locator("a.thread", has_text="ask me something").click()
    ready(other)
    expect(other.locator(".card.ask")).to_be_visible()
    expect(page.locator(".card.ask")).to_be_visible()
    other.get_by_role("button", name="Allow once").click()
    for tab in (page, other):
        expect(tab.locator(".card.ask")).to_have_count(0)
        expect(tab.locator(".answer")).to_contain_text("Your pictures take the most space")
    page.bring_to_front()  # in a tab behind another one a click takes two seconds
    page.click("#about")
    page.get_by_role("menuitem", name="Rename").click()
    page.keyboard.type("about pictures")
    page.keyboard.press("Enter")
    expect(other.locator("#title")).to_have_text("about pictures")
    expect(other.locator("a.thread[aria-current]")).to_have_text("about pictures")
    page.click("#about")
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(ready(page).locator("#welcome")).to_be_visible()
    expect(page.locator(".toast")).to_contain_text("Deleted:")
    gone = other.locator("#gone")
    expect(gone).to_contain_text("This conversation was deleted")
    expect(other.locator("#text")).to_be_hidden()
    expect(other.locator("section.turn")).to_have_count(0)
    expect(other.locator("a.thread", has_text="about pictures")).to_have_count(0)
    other.bring_to_front()
    gone.get_by_role("link").click()
    expect(ready(other).locator("#welcome")).to_be_visible()


def test_what_is_typed_outlives_the_end_of_a_session_and_is_gone_when_sent(page: Page, visitor: Visitor) -> None:
    say(page, "a talk with a draft")
    ended(page)
    page.fill("#text", "an hour of thought")
    session: list[Any] = [*visitor.context.cookies()]
    visitor.context.clear_cookies()
    page.locator("#text").press("Enter")  # the answer is 401: the page that comes asks who is there
    expect(page.locator("#say")).to_have_count(0)
    visitor.context.add_cookies(session)
    page.reload()
    expect(ready(page).locator("#text")).to_have_value("an hour of thought")
    page.goto(visitor.url)
    expect(ready(page).locator("#text")).to_have_value("")
    page.go_back()
    expect(ready(page).locator("#text")).to_have_value("an hour of thought")
    say(page, "sent now")
    expect(page.locator("#text")).to_have_value("")
    page.reload()
    expect(ready(page).locator("#text")).to_have_value("")


def test_what_is_typed_for_a_deleted_conversation_waits_in_a_new_one(page: Page, served: Served) -> None:
    page.fill("#text", "for a new one")
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    served.do(lambda: served.kernel.open_talk("soon deleted"))
    page.locator("a.thread", has_text="soon deleted").click()
    expect(ready(page).locator("#text")).to_have_value("")
    page.fill("#text", "typed for it")
    thread = page.url.rpartition("/")[2]
    served.do(lambda: served.kernel.io_thread_delete("", thread))
    page.locator("#gone").get_by_role("link").click()
    expect(ready(page).locator("#text")).to_have_value("for a new one\n\ntyped for it")


def test_leaving_takes_what_was_typed_along_in_every_tab(page: Page, visitor: Visitor) -> None:
    other = visitor.open()
    for tab in (page, other):
        tab.fill("#text", "secret plans")
    other.evaluate("void (window.heard = new Promise((so) => addEventListener('storage', () => so(true))))")
    page.bring_to_front()
    page.click("#logout")
    expect(page.locator("#say")).to_have_count(0)
    assert other.evaluate("window.heard"), "the other tab was told"
    visitor.context.clear_cookies()
    other.reload()
    for tab in (page, other):
        assert tab.evaluate("Object.keys(sessionStorage).filter((one) => one.startsWith('draft:'))") == []


def test_a_lost_line_comes_back_by_itself_without_a_gap(page: Page, served: Served) -> None:
    """D4: what was said while it was down is there, and nothing twice.  A browser that is told to be offline keeps the
    streams that it has, so it is the server that ends them."""
    say(page, "say it while I am away")
    answer = page.locator("section.turn .answer").last
    expect(answer).to_contain_text("Black Krim")
    served.do(served.kernel.hub.close)
    expect(page.locator("#line")).to_be_visible()
    ended(page)
    expect(page.locator("#line")).to_be_hidden()
    expect(answer).to_contain_text("in your calendar?")
    shown = answer.inner_text()
    assert shown.count("Black Krim") == 1
    page.reload()
    assert ready(page).locator("section.turn .answer").last.inner_text() == shown
    expect(page.locator("section.turn")).to_have_count(1)


def test_a_tab_that_was_away_finds_its_conversation_deleted(page: Page, served: Served) -> None:
    say(page, "soon gone")
    thread = page.url.rpartition("/")[2]
    kernel = served.kernel

    def lose() -> None:
        kernel.talks.pop(thread)
        kernel.seq += 1  # the notice that never comes has a number
        kernel.hub.lost(1)  # the page must load afresh, and there is nothing to load

    served.do(lose)
    expect(page.locator("#gone")).to_contain_text("This conversation was deleted")


def test_everything_is_reached_by_the_keyboard_alone(page: Page, served: Served) -> None:
    """From the first message to the deletion: no mouse, the focus always seen and never lost."""
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("by keyboard alone")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two lines")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn .said")).to_have_text("by keyboard alone\ntwo lines")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#stop")).to_be_visible()
    page.keyboard.press("Escape")
    ended(page)
    expect(page.locator("a.thread").first).to_have_text("by keyboard alone two lines")
    expect(page.locator("a.thread[data-busy]")).to_have_count(0)
    page.locator("body").evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("break the line")
    for _ in range(4):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('dialog') || document.activeElement === document.body")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("/")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#text")).to_have_value("")
    page.locator("#about").focus()
    page.keyboard.press("f")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("a.thread").first).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is seen"
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    # somebody else speaks meanwhile, and the list is made anew
    page.locator("#threads button.more").first.evaluate("one => one.replaceWith(one.cloneNode(true))")
    page.keyboard.press("Escape")
    expect(page.locator("#menu")).to_be_hidden()
    expect(page.locator("#threads button.more").first).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(ready(page).locator("#welcome")).to_be_visible()
    expect(page.locator("#text")).to_be_focused()


def test_escape_closes_what_lies_on_top_and_does_not_stop_the_answer(page: Page) -> None:
    say(page, "ask while I look")
    expect(page.locator(".card.ask")).to_be_visible()
    page.click("#help")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator(".card.ask")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#stop")).to_be_hidden()


def test_who_listens_hears_questions_and_whole_answers(page: Page) -> None:
    spoken = page.locator("#spoken")
    say(page, "ask and tell")
    expect(spoken).to_have_text("Allow cmd_run?")
    expect(spoken).to_have_attribute("aria-live", "polite")
    page.get_by_role("button", name="Allow once").click()
    expect(spoken).to_contain_text("Your pictures take the most space")


def test_who_listens_hears_an_answer_that_was_quicker_than_the_page(page: Page, served: Served) -> None:
    held: list[Route] = []
    page.route("**/api/v1/chat/history?*", lambda route: held.append(route))
    page.fill("#text", "quick")
    page.keyboard.press("Enter")
    asked = caught(page, held)
    talk = next(talk for talk in served.kernel.talks.values() if talk.title == "quick")
    until(lambda: talk.ended, what="the end of the turn")
    asked.continue_()
    expect(page.locator("#spoken")).to_contain_text("Black Krim")


def test_an_answer_and_a_question_are_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "ask for copies")
    page.get_by_role("button", name="Deny").click()
    ended(page)
    page.locator("[data-copies=said]").click()
    copied(page, "ask for copies")
    page.locator("[data-copies=answer]").click()
    copied(page, "Your pictures take the most space: 1.2 GB.")


def test_a_turn_longer_than_a_page_is_one_turn_when_the_earlier_part_comes(page: Page) -> None:
    say(page, "many steps")
    expect(page.locator("section.turn .answer")).to_have_count(1)
    shown = page.evaluate(
        """async () => {
            const { prepend } = await import("/static/js/talk.js");
            const here = document.querySelector("section.turn:last-of-type");
            const part = (key, order) => `<div class="item" data-key="${key}" data-order="${order}">${key}</div>`;
            prepend(`<section class="turn" data-turn="before" data-input="">${part("said", "0000.0")}</section>
                <section class="turn" data-turn="${here.dataset.turn}" data-input="">${part("early", "0000.0.1")}
                ${part("end", "9999.9")}</section>`);
            const keys = [...here.children].map((one) => one.dataset.key);
            const turns = [...document.querySelectorAll("section.turn")].map((one) => one.dataset.turn);
            return { keys, first: turns[0], of: turns.filter((one) => one === here.dataset.turn).length };
        }"""
    )
    assert (shown["first"], shown["of"]) == ("before", 1)
    assert shown["keys"][:2] == ["said", "early"]
    assert len(shown["keys"]) == len(set(shown["keys"]))
