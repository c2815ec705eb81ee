"""Records in real Chromium: found, read, corrected, made one, put back, forgotten; usable by everybody, and inert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.conftest import Served, Visitor, at, caught, ready
from tests.kit.daemon import until
from tests.plugins.webui.standin import OWNER, StandIn, furnished
from tests.plugins.webui.standin_records import AT, cold, furnished_records, record, said, side

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

ID = "fact_000000009f3c1a7b"
HERE = f"/memory/records/{ID}"
PAGES = ("/memory", "/memory/records?status=any&query=e", HERE, "/memory/cold", "/memory/merges")
BAD = "<img src=x onerror=window.run=1><script>window.run=1</script>\"'><svg onload=window.run=1>{{7*7}}"


@pytest.fixture
def served() -> Iterator[Served]:
    kernel = furnished(StandIn())
    furnished_records(kernel)
    with Served(kernel) as made:
        yield made


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served, locale="en-GB") as made:
        yield made


def faults(page: Page) -> list[str]:
    """What axe calls serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def wide(page: Page) -> list[str]:
    """What sticks out at the right, and does not scroll by itself."""
    found: list[str] = page.evaluate(
        """[...document.querySelectorAll('main, main *, dialog, dialog *')].filter(one => one.checkVisibility()
            && !one.closest('pre, .scrolls, .parts') && one.getBoundingClientRect().right > innerWidth + 0.5)
            .map(one => one.tagName + '.' + one.className)"""
    )
    return found


def test_what_changes_before_the_stream_begins_is_seen(visitor: Visitor, served: Served) -> None:
    """A notice in the gap: the page is there, its stream is not yet."""
    held: list[Route] = []
    visitor.context.route("**/api/v1/chat/events*", lambda route: held.append(route))
    page = visitor.open("/memory")
    stats = served.kernel.memory_stats("")
    stats["records"]["record"]["fact"] = 7341
    served.kernel.memory_stats = lambda peer: stats  # type: ignore[method-assign]
    served.do(lambda: served.kernel.post("memory", "", "", what="changed"))
    stream = caught(page, held)
    assert "341" not in page.locator("#memory").inner_text()
    stream.continue_()
    expect(page.locator("#memory")).to_contain_text(re.compile("7.?341"))


def test_a_record_is_searched_for_opened_and_its_words_lead_to_the_conversation(
    visitor: Visitor, served: Served
) -> None:
    talk = next(talk for talk in served.kernel.talks.values() if talk.title == "Garden plan")
    for n in range(150):
        served.kernel.store(talk, f"turn{n}", "user", f"Question number {n}, about the beds.")
    served.kernel.rests[ID][0] |= {"thread": talk.id, "turn": "turn5"}
    page = visitor.open("/")
    page.get_by_role("link", name="Memory", exact=True).click()
    ready(page).get_by_role("link", name="Records", exact=True).click()
    ready(page).get_by_label("Search: words, or an id").fill("munich")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/records?query=munich")
    expect(ready(page).locator(".records > li")).to_have_count(1)
    expect(page.locator(".records > li")).to_contain_text("id:9f3c1a7b")
    expect(page.locator(".records > li")).to_contain_text("score 0.50")
    page.get_by_role("link", name="Mei lives in Munich since May.").click()
    expect(ready(page).locator("mark").first).to_have_text("I live in Munich since May")
    page.get_by_role("link", name="Garden plan").and_(page.locator(".piece a")).first.click()
    asked = ready(page).locator("section.turn.pointed")
    expect(asked).to_contain_text("Question number 5, about the beds.")
    expect(asked).to_be_in_viewport()
    expect(asked).to_be_focused()


def test_an_edit_over_what_changed_meanwhile_shows_both_before_it_is_saved(visitor: Visitor, served: Served) -> None:
    page = visitor.open(HERE)
    page.get_by_role("button", name="Edit").click()
    text = page.get_by_label("Text")
    expect(text).to_be_focused()
    expect(text).to_have_value("Mei lives in Munich since May.")
    served.do(lambda: served.kernel.memory_edit(OWNER, ID, 3, text="Mei lives in Augsburg."))
    expect(page.locator(".says .text")).to_have_text("Mei lives in Augsburg.")
    text.fill("Mei lives in Munich, near the river.")
    page.get_by_role("button", name="Save").click()
    clash = page.locator(".clash")
    expect(clash).to_contain_text("It was changed meanwhile")
    expect(clash.locator("blockquote")).to_have_text("Mei lives in Augsburg.")
    expect(text).to_have_value("Mei lives in Munich, near the river.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".says .text")).to_have_text("Mei lives in Munich, near the river.")
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    newest = page.locator(".changes-of > li").first
    expect(newest).to_contain_text("revision 5")
    expect(newest.locator("del").first).to_have_text("Augsburg")
    assert [one["text"] for one in served.kernel.before[ID]][:2] == [
        "Mei lives in Augsburg.",
        "Mei lives in Munich since May.",
    ]
    page.get_by_role("button", name="Edit").click()
    text.fill("The password: hunter2")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#edit [role=status]")).to_have_text("blocked: password")


def test_hidden_shown_again_and_put_back_with_the_figures_right_everywhere(visitor: Visitor, served: Served) -> None:
    figures = visitor.open("/memory")
    holds = figures.locator(".tile dd").first
    expect(holds).to_have_text("6")
    page = visitor.open(HERE)
    page.get_by_role("button", name="Hide").click()
    expect(page.locator(".says")).to_contain_text("It is hidden: nothing finds it.")
    expect(holds).to_have_text("5")
    expect(figures.locator(".besides")).to_contain_text("hidden: 2")
    page.get_by_role("button", name="Show again").click()
    expect(page.get_by_role("button", name="Hide")).to_be_visible()
    expect(holds).to_have_text("6")
    page.get_by_role("button", name="Let it hold again").click()
    page.get_by_role("dialog").get_by_role("button", name="Let it hold again").click()
    expect(page.locator(".chain")).to_have_count(0)
    expect(holds).to_have_text("7")
    assert served.kernel.known["fact_00000000aaaa0001"]["status"] == "active"


def test_a_page_that_nobody_sees_holds_no_line_and_is_true_once_it_is_seen(visitor: Visitor, served: Served) -> None:
    """A browser has six connections to a server: tabs in the background must not take them all."""
    page = visitor.open("/memory")
    until(lambda: served.kernel.hub.watchers == 1)
    see = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    see += " document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(see, True)
    until(lambda: served.kernel.hub.watchers == 0)
    served.do(lambda: served.kernel.memory_hide(OWNER, ID))
    until(lambda: served.kernel.known[ID]["status"] == "hidden")
    expect(page.locator(".tile dd").first).to_have_text("6")
    page.evaluate(see, False)
    expect(page.locator(".tile dd").first).to_have_text("5")
    until(lambda: served.kernel.hub.watchers == 1)


def test_two_records_become_one_once_both_were_seen(visitor: Visitor, served: Served) -> None:
    page = visitor.open(HERE)
    page.get_by_role("button", name="Combine…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("searchbox")).to_be_focused()
    expect(dialog.get_by_role("radio")).to_have_count(3)
    yes = dialog.get_by_role("button", name="Combine", exact=True)
    expect(yes).to_be_disabled()
    dialog.get_by_role("searchbox").fill("tuesdays")
    expect(dialog.get_by_role("radio")).to_have_count(1)
    dialog.get_by_text("The meeting is on Tuesdays.").click()
    expect(dialog.get_by_role("status")).to_have_text(
        "Stays: “Mei lives in Munich since May.”. Becomes history: “The meeting is on Tuesdays.”."
    )
    dialog.get_by_label("Which stays").select_option("the other record")
    expect(dialog.get_by_role("status")).to_contain_text("Stays: “The meeting is on Tuesdays.”.")
    assert faults(page) == []
    yes.click()
    page.wait_for_url("**/fact_00000000aaaa0004")
    expect(ready(page).locator(".chain .older")).to_contain_text("Mei lives in Munich since May.")
    expect(page.locator(".changes-of")).to_contain_text("combined with 9f3c1a7b")
    assert served.kernel.known[ID]["superseded_by"] == "fact_00000000aaaa0004"


def test_forgetting_for_good_shows_what_goes_and_proves_that_it_went(visitor: Visitor, served: Served) -> None:
    page = visitor.open(HERE)
    page.get_by_role("button", name="Forget for good…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Mei lives in Munich since May.")
    expect(dialog).to_contain_text("2 messages say it and stay in their conversations.")
    dialog.get_by_label("The messages it comes from, too").check()
    expect(dialog).to_contain_text("Messages: 2")
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert ID in served.kernel.known
    page.get_by_role("button", name="Forget for good…").click()
    expect(dialog).to_contain_text("Records: 1")
    dialog.get_by_role("button", name="Forget for good").click()
    expect(dialog).to_contain_text("It was looked for afterwards and stands nowhere any more.")
    expect(dialog).to_contain_text("4 files were searched")
    assert ID not in served.kernel.known
    dialog.get_by_role("button", name="Close").click()
    page.wait_for_url("**/memory/records")
    expect(ready(page).locator(".records")).not_to_contain_text("Munich")


def test_a_record_is_written_by_hand_with_the_keyboard_alone(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/records")
    page.get_by_role("button", name="Write a record").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#note")).to_be_hidden()
    expect(page.get_by_role("button", name="Write a record")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("梅对花生过敏。")
    page.get_by_label("Tags").fill("健康，饮食")
    page.keyboard.press("Enter")
    first = page.locator(".records > li").first
    expect(first).to_contain_text("梅对花生过敏。")
    expect(first).to_contain_text("manual")
    expect(first.locator(".tag")).to_have_text(["健康", "饮食"])
    expect(page.locator("#found-records")).to_have_text("7 found")


def test_what_left_the_window_is_found_and_brought_back(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/cold")
    expect(page.locator(".cold-event")).to_have_count(30)
    page.get_by_role("link", name="More").click()
    expect(page.locator(".cold-event")).to_have_count(20)
    ready(page).get_by_label("Search what was said").fill("message 64")
    page.keyboard.press("Enter")
    expect(page.locator(".cold-event")).to_have_count(1)
    ready(page)  # only now it is the page of what was found that is asked
    page.get_by_role("button", name="Bring back").click()
    expect(page.locator(".empty")).to_contain_text("Nothing in cold memory fits that.")
    assert served.kernel.brought == ["ev_00000064"]


def test_who_may_be_one_is_decided_and_taken_back(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/merges")
    page.get_by_role("button", name="The same; keep the name 张伟").click()
    expect(page.locator(".merges > li")).to_have_count(1)
    expect(page.locator(".merged li").first).to_contain_text("Zhang Wei → 张伟")
    page.get_by_role("button", name="They are two").click()
    expect(page.locator(".merges")).to_have_count(0)
    page.get_by_role("button", name="Take back: Zhang Wei").click()
    expect(page.locator(".merged li")).to_have_count(1)
    assert [one["done"] for one in served.kernel.merged] == [1]


def test_nothing_that_anybody_fills_in_is_run(browser: Browser, served: Served) -> None:
    """XSS, through every field: what is said, titles, tags, kinds, names of speakers and threads, excerpts."""
    kernel = served.kernel
    made = record(
        "fact_00000000bad00001", BAD, kind=BAD, title=BAD, tags=[BAD], project=BAD, observed=BAD, relation=BAD,
        object=BAD, subject={"id": BAD, "name": BAD}, untrusted=True, revision=2, level=BAD, origin=BAD,
    )  # fmt: skip
    kernel.keep(made, said("ev_1", BAD, title=BAD, speaker=BAD, before=BAD, after=BAD, turn=BAD))
    kernel.before[made["id"]] = [
        {"revision": 1, "title": BAD, "text": "old", "importance": 1, "tags": [BAD, "x"], "why": BAD, "at": AT}
    ]
    kernel.cited_in[made["id"]] = [{"turn": BAD, "thread": BAD, "title": BAD, "at": AT}]
    kernel.remember("ev_1", BAD, title=BAD)
    kernel.keep(record("fact_00000000bad00002", BAD, created_at=AT + 90))
    kernel.in_cold = [cold(1, BAD, title=BAD, event="ev_1")]
    kernel.proposed = [{"merge": "a-b", "scope": BAD, "score": 0.5, "sides": [side(BAD, BAD, BAD), side(BAD, BAD)]}]
    kernel.gates = {BAD: 2}
    with at(browser, served, locale="en-GB", viewport={"width": 360, "height": 740}) as visitor:
        for path in (*PAGES, f"/memory/records/{made['id']}"):
            page = visitor.open(path)
            assert wide(page) == [], path
            assert page.evaluate("window.run === undefined"), path
            page.close()
        page = visitor.open(f"/memory/records/{made['id']}")
        assert page.locator("main img, main script, main :not(h2, header) > svg").count() == 0
        page.get_by_role("button", name="The whole message").click()
        expect(page.get_by_role("dialog").locator(".verbatim")).to_have_text(BAD)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Combine…").click()
        page.get_by_role("dialog").get_by_role("radio").first.check()
        expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("onerror")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_label("Text")).to_have_value(BAD)
        page.get_by_label("Title").fill(BAD[:80])  # as much as may be saved
        page.get_by_label("Kind").select_option("fact")
        page.get_by_label("Tags").fill(BAD[:20])
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#edit")).to_be_hidden()
        expect(page.locator(".says .text")).to_have_text(BAD)
        page.get_by_role("button", name="Forget for good…").click()
        expect(page.get_by_role("dialog").locator("blockquote")).to_have_text(BAD)
        assert page.evaluate("window.run === undefined")


@pytest.mark.parametrize(("lang", "theme"), [("en-GB", "light"), ("zh-CN", "dark")])
def test_everybody_can_use_them_on_a_telephone_and_at_a_desk(
    browser: Browser, served: Served, lang: str, theme: Any
) -> None:
    options = {"viewport": {"width": 360, "height": 740}, "reduced_motion": "reduce"}
    with at(browser, served, locale=lang, color_scheme=theme, **options) as visitor:
        for path in PAGES:
            page = visitor.open(path)
            expect(page.locator('.parts [aria-current="page"]')).to_be_in_viewport()
            for details in page.locator("main details").all():
                details.evaluate("one => { one.open = true }")
            assert wide(page) == [], path
            page.set_viewport_size({"width": 1280, "height": 900})
            assert faults(page) == [], path
            page.close()
