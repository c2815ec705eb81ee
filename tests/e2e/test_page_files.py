"""Files with a message: chosen, dropped and pasted, shown in the conversation, and taken off again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from homed.jobs.looking import opened, small_of
from tests.e2e.conftest import Served, Visitor, at, caught, ready
from tests.kit.daemon import until
from tests.plugins.webui.standin import StandIn, furnished
from tests.plugins.webui.standin_rich import picture

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

PICTURE: FilePayload = {"name": "花园 south bed.png", "mimeType": "image/png", "buffer": picture()}
TABLE: FilePayload = {"name": "harvest.csv", "mimeType": "text/csv", "buffer": b"year,kg\n2026,41\n"}
HAND_OVER = """([selector, type, name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name, { type: "text/plain" }));
    const given = type === "paste" ? { clipboardData: files } : { dataTransfer: files };
    const event = type === "paste" ? new ClipboardEvent(type, { ...given, bubbles: true, cancelable: true })
        : new DragEvent(type, { ...given, bubbles: true, cancelable: true });
    document.querySelector(selector).dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(furnished(StandIn())) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served) as made:
        yield made


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.open()


def attached(page: Page, count: int) -> None:
    """Wait until so many files are up."""
    expect(page.locator("#attached li[data-ready]")).to_have_count(count)


def test_files_by_the_button_go_with_the_message_and_are_shown_in_it(page: Page, served: Served) -> None:
    page.set_input_files("#files", [PICTURE, TABLE])
    attached(page, 2)
    expect(page.locator("#attached li canvas")).to_have_count(1)
    expect(page.locator("#attached li").nth(1)).to_contain_text("harvest.csv")
    page.fill("#text", "what is this?")
    page.keyboard.press("Enter")
    turn = page.locator("section.turn")
    for _ in range(2):
        expect(turn.locator(".said")).to_have_text("what is this?")
        image = turn.locator("a.shot img")
        expect(image).to_have_attribute("alt", PICTURE["name"])
        until(lambda image=image: image.evaluate("one => one.complete && one.naturalWidth") == 320, what="the picture")
        chip = turn.locator("a.file")
        expect(chip).to_contain_text("harvest.csv")
        with page.expect_download() as download:
            chip.click()
        assert download.value.suggested_filename == "harvest.csv"
        assert download.value.path().read_bytes() == TABLE["buffer"]
        page.reload()
        ready(page)
    expect(page.locator("#attached")).to_be_hidden()


def test_a_list_shows_small_pictures_and_a_click_opens_the_whole_one(page: Page, served: Served) -> None:
    page.set_input_files("#files", [PICTURE])
    attached(page, 1)
    page.fill("#text", "and this?")
    page.keyboard.press("Enter")
    shot = page.locator("section.turn a.shot").last
    expect(shot.locator("img")).to_be_visible()
    block = next(reversed(served.kernel.blocks.values()))
    block["small"] = small_of(opened(PICTURE["buffer"]).resize((64, 48)))
    page.reload()
    ready(page)
    image = page.locator("section.turn a.shot img").last
    until(lambda: image.evaluate("one => one.complete && one.naturalWidth") == 64, what="the small picture")
    with page.context.expect_page() as opened_one:
        page.locator("section.turn a.shot").last.click()
    whole = opened_one.value.locator("img")
    until(lambda: whole.evaluate("one => one.complete && one.naturalWidth") == 320, what="the whole picture")
    opened_one.value.close()


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_a_file_can_be_dropped_and_pasted(page: Page, way: str) -> None:
    if way == "drop":
        page.evaluate(HAND_OVER, ["#talk", "dragenter", "n.txt", "x"])
        expect(page.locator("#drop")).to_be_visible()
    page.evaluate(HAND_OVER, ["#text", way, f"{way}ped.txt", "a note"])
    expect(page.locator("#drop")).to_be_hidden()
    attached(page, 1)
    expect(page.locator("#attached li")).to_contain_text(f"{way}ped.txt")
    expect(page.locator("#text")).to_be_focused()


def test_a_file_is_taken_off_again_by_keyboard(page: Page, served: Served) -> None:
    page.set_input_files("#files", [TABLE, PICTURE])
    attached(page, 2)
    page.get_by_role("button", name="Take off harvest.csv").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#attached li")).to_have_count(1)
    expect(page.locator("#text")).to_be_focused()
    page.fill("#text", "only the picture")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn a.shot")).to_have_count(1)
    expect(page.locator("section.turn a.file")).to_have_count(0)


def test_what_cannot_be_attached_says_why_and_what_to_do(page: Page) -> None:
    empty: FilePayload = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    page.set_input_files("#files", [empty])
    expect(page.locator(".toast").last).to_contain_text("empty.txt is empty")
    page.evaluate(
        """() => {
            const files = new DataTransfer();
            files.items.add(new File([new Uint8Array(20 * 1024 * 1024 + 1)], "film.mp4", { type: "video/mp4" }));
            document.querySelector("#files").files = files.files;
            document.querySelector("#files").dispatchEvent(new Event("change"));
        }"""
    )
    expect(page.locator(".toast").last).to_contain_text("film.mp4 is too large: at most 20 MB. Put it in a folder")
    expect(page.locator("#attached li")).to_have_count(0)
    many: list[FilePayload] = [{"name": f"{n}.csv", "mimeType": "text/csv", "buffer": b"x"} for n in range(11)]
    page.set_input_files("#files", many)
    expect(page.locator(".toast").last).to_contain_text("At most 10 files")
    attached(page, 10)


def test_a_file_that_the_daemon_refuses_says_so_and_is_gone(page: Page) -> None:
    page.route(
        "**/api/v1/uploads",
        lambda route: route.fulfill(status=507, json={"error": {"message": "No room.", "hint": "Make some."}}),
    )
    page.set_input_files("#files", [TABLE])
    expect(page.locator(".toast.bad")).to_contain_text("harvest.csv was not attached: No room. Make some.")
    expect(page.locator("#attached li")).to_have_count(0)


def test_a_file_on_its_way_shows_how_far_it_is_and_is_waited_for(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/v1/uploads", lambda route: held.append(route))
    page.set_input_files("#files", [TABLE])
    expect(page.locator("#attached progress")).to_be_visible()
    page.fill("#text", "too early")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("still on its way")
    expect(page.locator("#text")).to_have_value("too early")
    caught(page, held).continue_()
    attached(page, 1)
    expect(page.locator("#attached progress")).to_have_count(0)


def test_the_last_message_is_edited_with_its_files_and_sent_again(page: Page) -> None:
    """The earlier one stays: what was said was said."""
    page.set_input_files("#files", [TABLE])
    attached(page, 1)
    page.fill("#text", "how much in 2025?")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn .answer")).to_have_text("how much in 2025?")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#editing")).to_be_visible()
    expect(page.locator("#text")).to_have_value("how much in 2025?")
    attached(page, 1)
    page.keyboard.press("Escape")
    expect(page.locator("#editing")).to_be_hidden()
    expect(page.locator("#text")).to_have_value("")
    page.get_by_role("button", name="Edit").click()
    attached(page, 1)
    page.fill("#text", "how much in 2026?")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn")).to_have_count(2)
    expect(page.locator("section.turn .said")).to_have_text(["how much in 2025?", "how much in 2026?"])
    expect(page.locator("section.turn a.file")).to_have_count(2)
    expect(page.locator("#editing")).to_be_hidden()
    expect(page.get_by_role("button", name="Edit")).to_have_count(1)


def test_what_is_typed_while_a_message_is_on_its_way_stays(page: Page) -> None:
    """Nobody's words are thrown away: neither those typed on, nor those an edit would have written over."""
    held: list[Route] = []
    page.route("**/api/v1/chat", lambda route: held.append(route))
    page.fill("#text", "first")
    page.keyboard.press("Enter")
    expect(page.locator("#send")).to_be_disabled()
    page.locator("#text").press_sequentially(" and more")
    page.keyboard.press("Enter")
    page.set_input_files("#files", [TABLE])
    attached(page, 1)
    caught(page, held).continue_()
    expect(page.locator("section.turn .said")).to_have_text(["first"])
    expect(page.locator("#text")).to_have_value(" and more")
    attached(page, 1)
    assert len(held) == 1
    page.get_by_role("button", name="Edit").click()
    expect(page.locator("#text")).to_have_value("first")
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_have_value(" and more")


def test_a_file_that_is_gone_is_not_sent_again_as_the_words_that_say_so(page: Page) -> None:
    page.set_input_files("#files", [TABLE])
    attached(page, 1)
    page.fill("#text", "keep")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn .answer")).to_have_text("keep")
    page.route("**/api/v1/blocks/*", lambda route: route.fulfill(status=404, json={"error": {"message": "Gone."}}))
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".toast.bad")).to_contain_text("harvest.csv was not attached")
    expect(page.locator("#attached li")).to_have_count(0)


def test_a_long_message_that_the_page_shows_cut_is_edited_whole(page: Page, served: Served) -> None:
    """In parts, counted in characters and not in UTF-16; nothing is put in the box when it cannot be had whole."""
    served.kernel.part = 7000
    text = "begins " + "🍎 apples and pears, " * 600 + "ends"
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn [data-key=end]")).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    expect(page.locator("#text")).to_have_value(text)  # the page was told it whole, and knows no event of it yet
    page.keyboard.press("Escape")
    page.reload()
    ready(page)
    expect(page.locator("section.turn .said")).to_contain_text("characters left out")
    page.route("**/api/v1/events/*", lambda route: route.abort())
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(page.locator("#text")).to_have_value("")
    page.unroute("**/api/v1/events/*")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator("#text")).to_have_value(text)
    page.locator("#text").press("Enter")
    expect(page.locator("section.turn [data-key=end]")).to_have_count(2)
    texts = [one["text"] for one in served.kernel.remembered.values() if one["kind"] == "user"]
    assert texts.count(text) == 2
