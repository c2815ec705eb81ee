"""The chat in real Chromium, against a real daemon and a scripted model."""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from tests.e2e.conftest import Visitor, copied, ready, visiting
from tests.kit.daemon import Daemon, until
from tests.kit.fake_openai import FakeOpenAI
from tests.plugins.webui.standin_rich import picture

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

LONG = " ".join(f"word{n}" for n in range(120))
ENDLESS = " ".join(f"word{n}" for n in range(5000))
WATCH = """() => {
    const lengths = (window.lengths = new Set());
    const talk = document.querySelector("#talk");
    const look = () => lengths.add([...talk.querySelectorAll(".answer")].map((one) => one.textContent).join().length);
    new MutationObserver(look).observe(talk, { subtree: true, childList: true, characterData: true });
}"""
"""Remember every length that an answer had."""
HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"


def say(page: Page, text: str) -> None:
    """Send a message, and wait until it stands on the page."""
    before = page.locator("section.turn").count()
    page.fill("#text", text)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn")).to_have_count(before + 1)
    expect(page.locator("#text")).to_have_value("")


def turn(page: Page) -> Locator:
    """The latest turn."""
    return page.locator("section.turn").last


def answer(page: Page) -> Locator:
    return turn(page).locator(".answer").last


def ended(page: Page) -> None:
    """Wait for the end of the latest turn."""
    expect(turn(page).locator(".answer, .card.bad").last).to_be_visible()
    expect(page.locator("section.turn.live")).to_have_count(0)


def rename(page: Page) -> None:
    page.click("#about")
    page.get_by_role("menuitem", name="Rename").click()


def reload(page: Page) -> None:
    page.reload()
    ready(page)


def test_a_login_link_lets_in_once_and_leaves_no_secret(browser: Browser, daemon: Daemon) -> None:
    """D5: no secret in a URL that is sent; single use; a cookie that scripts cannot read."""
    link = daemon.json("link")["url"]
    secret = link.split("#")[1]
    with visiting(browser, daemon.url) as visitor:
        page = visitor.context.new_page()
        page.on("request", lambda request: visitor.requests.append(request.url))
        page.goto(link)
        expect(page.locator("#say")).to_be_visible()
        assert secret not in page.url
        assert not any(secret in url for url in visitor.requests)
        cookie = next(c for c in visitor.context.cookies() if c["name"].startswith("homed_session"))
        assert cookie["httpOnly"] is True
        assert cookie["sameSite"] == "Lax"
        assert cookie["value"] != secret
    with visiting(browser, daemon.url) as stranger:
        page = stranger.context.new_page()
        page.goto(link)
        expect(page.locator("#state")).to_contain_text("does not work any more")
        page.goto(daemon.url + "/plugins")
        expect(ready(page).locator(".gate .command")).to_have_text("homed link")
        expect(page.locator("#password")).to_have_count(0)
        page.click("[data-lang=zh]")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_an_answer_streams_visibly(page: Page, model: FakeOpenAI) -> None:
    model.when("stream please", {"say": LONG, "think": "Let me think about it.", "chunk": 6, "delay": 0.02})
    page.evaluate(WATCH)  # by the page itself: who looks in from outside misses what comes between two looks
    say(page, "stream please")
    ended(page)
    assert page.evaluate("window.lengths.size") >= 5, "it came in pieces"
    assert answer(page).inner_text() == LONG
    reasoning = turn(page).locator("details.line")
    assert not reasoning.evaluate("one => one.open"), "reasoning is folded"
    reasoning.locator("summary").click()
    expect(reasoning.locator(".thought")).to_have_text("Let me think about it.")


def test_markdown_is_shown_as_markup_with_a_copy_button(page: Page, model: FakeOpenAI) -> None:
    model.when("markdown", {"say": "**bold** and\n\n```python\ndef f():\n    return 1\n```\n\n|a|b|\n|-|-|\n|1|2|\n"})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "markdown please")
    ended(page)
    expect(answer(page).locator("strong")).to_have_text("bold")
    expect(answer(page).locator("td").first).to_have_text("1")
    expect(answer(page).locator("pre span.k").first).to_have_text("def")
    answer(page).locator("button.copy").click()
    copied(page, "def f():\n    return 1\n")


@pytest.mark.parametrize("how", ["button", "Escape"])
def test_stop_works_in_mid_stream_and_the_next_message_too(page: Page, model: FakeOpenAI, how: str) -> None:
    model.when("never ending", {"say": LONG * 20, "chunk": 4, "delay": 0.05})
    model.when("and now", {"say": "Here I am."})
    say(page, "never ending")
    expect(answer(page)).to_contain_text("word2")
    began = time.monotonic()
    if how == "button":
        page.click("#stop")
    else:
        page.keyboard.press("Escape")
    expect(turn(page).locator("[data-key=end]")).to_contain_text("Stopped")
    assert time.monotonic() - began < 5
    shown = answer(page).inner_text()
    until(lambda: model.chats[-1].end == "closed", what="the model's connection closed")
    assert answer(page).inner_text() == shown, "nothing more came"
    expect(page.locator("#stop")).to_be_hidden()
    say(page, "and now?")
    ended(page)
    assert answer(page).inner_text() == "Here I am."
    reload(page)
    expect(page.locator("section.turn").first.locator(".answer")).to_have_text(shown)


def call(model: FakeOpenAI, word: str, command: str, then: str = "It said: {tool}") -> None:
    model.when(word, {"calls": [{"name": "cmd_run", "args": {"command": command}}]}, {"say": then})


def test_a_tool_is_asked_for_runs_and_shows_arguments_and_result(page: Page, model: FakeOpenAI) -> None:
    call(model, "run the echo", "echo $((6 * 7))", then="All done.")
    say(page, "run the echo")
    ask = turn(page).locator(".card.ask")
    expect(ask).to_contain_text("Allow cmd_run?")
    expect(ask).to_contain_text("echo $((6 * 7))")
    expect(turn(page).locator("details.tool em")).to_have_text("waiting for your answer")
    ask.get_by_role("button", name="Allow once").click()
    ended(page)
    card = turn(page).locator("details.tool")
    expect(card).to_have_attribute("data-status", "ok")
    card.locator("summary").click()
    expect(card.locator("pre").first).to_contain_text("echo $((6 * 7))")
    expect(card.locator("pre").last).to_contain_text("42")
    expect(turn(page).locator(".card.ask")).to_have_count(0)
    assert answer(page).inner_text() == "All done."
    reload(page)
    card = turn(page).locator("details.tool")
    card.locator("summary").click()
    expect(card.locator("pre").last).to_contain_text("42")


def test_an_approval_can_be_denied_and_survives_a_reload(page: Page, model: FakeOpenAI) -> None:
    call(model, "be denied", "touch /nowhere/at/all")
    say(page, "be denied")
    expect(turn(page).locator(".card.ask")).to_be_visible()
    reload(page)
    turn(page).locator(".card.ask").get_by_role("button", name="Deny").click()
    ended(page)
    expect(turn(page).locator("details.tool")).to_have_attribute("data-status", "denied")
    expect(answer(page)).to_contain_text("Every tool call of this round was denied")


def test_always_in_this_conversation_is_asked_once(page: Page, model: FakeOpenAI) -> None:
    call(model, "run it twice", "echo twice", then="Done.")
    say(page, "run it twice")
    turn(page).locator(".card.ask").get_by_role("button", name="Always").click()
    ended(page)
    say(page, "run it twice, again")
    ended(page)
    expect(turn(page).locator("details.tool")).to_have_attribute("data-status", "ok")
    expect(turn(page).locator("[data-key^=approval]")).to_have_count(0)


def test_a_reload_keeps_the_history_also_in_mid_stream(page: Page, model: FakeOpenAI) -> None:
    """D4: nothing lost, nothing twice.  The answer flows on for as long as the page takes."""
    model.when("slowly", {"say": ENDLESS, "chunk": 5, "delay": 0.04})
    say(page, "slowly now")
    expect(answer(page)).to_contain_text("word10")
    reload(page)
    expect(turn(page).locator(".said")).to_have_text("slowly now")
    expect(answer(page)).to_contain_text("word9")
    expect(page.locator("#stop")).to_be_visible()
    words = len(answer(page).inner_text().split())
    expect(answer(page)).to_contain_text(f"word{words + 10} ")
    page.click("#stop")
    ended(page)
    shown = answer(page).inner_text()
    assert ENDLESS.startswith(shown)
    reload(page)
    assert answer(page).inner_text() == shown
    expect(page.locator("section.turn")).to_have_count(1)


def test_an_answer_that_is_under_way_at_a_reload_comes_to_its_end(page: Page, model: FakeOpenAI) -> None:
    """D4"""
    model.when("after a while", {"say": LONG, "chunk": 5, "hang": "until it is there again"})
    say(page, "after a while")
    expect(answer(page)).to_contain_text("word0")
    reload(page)
    expect(answer(page)).to_contain_text("word0")
    expect(page.locator("#stop")).to_be_visible()
    model.release("it is there again")
    ended(page)
    assert answer(page).inner_text() == LONG
    reload(page)
    assert answer(page).inner_text() == LONG
    expect(page.locator("section.turn")).to_have_count(1)


def test_two_pages_show_the_same(page: Page, visitor: Visitor, model: FakeOpenAI) -> None:
    model.when("both pages", {"say": "Hello, both."})
    say(page, "hello")
    ended(page)
    other = visitor.open(page.url.removeprefix(visitor.url))
    expect(other.locator("section.turn")).to_have_count(1)
    say(page, "both pages")
    expect(other.locator("section.turn")).to_have_count(2)
    ended(other)
    assert answer(other).inner_text() == "Hello, both."
    expect(turn(other).locator(".said")).to_have_text("both pages")


def test_conversations_are_listed_found_and_renamed(page: Page, model: FakeOpenAI) -> None:
    model.when("about herons", {"say": "Herons wade."})
    say(page, "about herons")
    ended(page)
    entry = page.locator("a.thread[aria-current]")
    expect(entry).to_have_text("about herons")
    rename(page)
    page.fill("input.title", "Wading birds")
    page.keyboard.press("Enter")
    expect(entry).to_have_text("Wading birds")
    page.fill("#find", "wading")
    expect(page.locator("a.thread")).to_have_count(1)
    page.fill("#find", "no such thing")
    expect(page.locator("a.thread")).to_have_count(0)


def test_nothing_that_anybody_says_is_run(page: Page, model: FakeOpenAI) -> None:
    """XSS: through the person, the title, the model, its reasoning, arguments, a tool's result, and a new title."""
    model.when(
        "<img",
        {
            "calls": [{"name": "cmd_run", "args": {"command": f"echo '{HOSTILE.replace(chr(39), '')}'"}}],
            "think": HOSTILE,
        },
        {"say": f"{HOSTILE}\n\n[x](javascript:document.title='pwned')\n\n![y](http://evil.example/x.png)"},
    )
    say(page, HOSTILE)
    turn(page).locator(".card.ask").get_by_role("button", name="Allow once").click()
    ended(page)
    for _ in range(2):
        expect(turn(page).locator(".said")).to_contain_text("<img src=x")
        expect(page.locator("a.thread[aria-current]")).to_contain_text("<img")
        expect(answer(page)).to_contain_text("<script>")
        assert page.evaluate("document.querySelectorAll('.talk img, .talk script, nav a.thread img').length") == 0
        hrefs = page.evaluate("[...document.querySelectorAll('.talk a')].map(one => one.protocol)")
        assert set(hrefs) <= {"http:", "https:"}
        assert page.title() != "pwned"
        reload(page)
    rename(page)
    page.fill("input.title", f"anew {HOSTILE}")
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_contain_text("anew <img")
    reload(page)
    expect(page.locator("#title")).to_contain_text("anew <img")
    assert page.evaluate("document.querySelectorAll('main img, a.thread img').length") == 0


def test_a_model_that_fails_says_why(page: Page, model: FakeOpenAI) -> None:
    model.when("fail now", {"status": 401})
    say(page, "fail now")
    expect(turn(page).locator(".card.bad")).to_contain_text("That did not work")
    ended(page)
    expect(turn(page).get_by_role("link", name="Open Models")).to_have_attribute("href", "/models")


def test_a_message_whose_turn_failed_is_sent_again_as_a_new_one(page: Page, model: FakeOpenAI) -> None:
    model.when("not at first", {"status": 401})
    say(page, "not at first")
    ended(page)
    model.script.rules.pop()
    model.when("not at first", {"say": "Now I can."})
    reload(page)
    page.fill("#text", "a draft")
    turn(page).get_by_role("button", name="Send again").click()
    expect(page.locator("section.turn")).to_have_count(2)
    expect(answer(page)).to_have_text("Now I can.")
    expect(turn(page).locator(".said")).to_have_text("not at first")
    expect(page.locator("#text")).to_have_value("a draft")


def test_how_turns_ended_stands_there_after_a_reload_as_before(page: Page, model: FakeOpenAI) -> None:
    """Tokens and seconds of an answer, the mark of a stop, error and hint of a failure."""
    model.when("be short", {"say": "Short."})
    model.when("be refused", {"status": 401})
    model.when("go on and on", {"say": LONG * 20, "chunk": 4, "delay": 0.05})
    say(page, "be short")
    ended(page)
    say(page, "be refused")
    ended(page)
    say(page, "go on and on")
    expect(answer(page)).to_contain_text("word2")
    page.keyboard.press("Escape")
    ends = page.locator("[data-key=end]")
    expect(ends).to_have_count(3)
    live = ends.all_inner_texts()
    assert re.search(r"\d+ \+ \d+ tokens.*\d (ms|s)\b", live[0], re.DOTALL)
    assert len(live[1].splitlines()) >= 3, "what happened, why, and what to do"
    assert "Stopped" in live[2]
    reload(page)
    expect(ends).to_have_count(3)
    assert ends.all_inner_texts() == live


def test_a_message_with_line_breaks_and_every_script_is_kept(page: Page, model: FakeOpenAI) -> None:
    model.when("多行", {"say": "好的 🌍"})
    page.fill("#text", "多行")
    page.focus("#text")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second 🎈")
    page.keyboard.press("Enter")
    expect(page.locator("section.turn")).to_have_count(1)
    ended(page)
    assert turn(page).locator(".said").inner_text() == "多行\nsecond 🎈"
    assert answer(page).inner_text() == "好的 🌍"


def test_a_picture_and_a_file_reach_the_conversation_and_go_with_it(page: Page, model: FakeOpenAI) -> None:
    """Through the real store: shown after a reload, told to the model, and gone with the conversation."""
    model.when("what is on it", {"say": "A green field."})
    shot: FilePayload = {"name": "field.png", "mimeType": "image/png", "buffer": picture()}
    note: FilePayload = {"name": "harvest.csv", "mimeType": "text/csv", "buffer": b"year,kg\n2026,41\n"}
    page.set_input_files("#files", [shot, note])
    expect(page.locator("#attached li[data-ready]")).to_have_count(2)
    say(page, "what is on it?")
    ended(page)
    assert answer(page).inner_text() == "A green field."
    assert "2026,41" in json.dumps(model.chats[-1].body, ensure_ascii=False), "a text file is shown to the model"
    reload(page)
    image = turn(page).locator("a.shot img")
    until(lambda: image.evaluate("one => one.complete && one.naturalWidth") == 320, what="the picture")
    with page.expect_download() as download:
        turn(page).locator("a.file").click()
    assert download.value.path().read_bytes() == note["buffer"]
    address = str(image.get_attribute("src"))
    base = page.url.split("/t/")[0]
    assert page.request.get(base + address).status == 200
    page.click("#about")
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("“what is on it?” goes for good")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator(".toast")).to_have_text("Deleted: 2 events and 2 files")
    assert page.request.get(base + address).status == 404


def test_what_was_told_elsewhere_is_recalled_and_opens_to_the_very_words(page: Page, visitor: Visitor) -> None:
    """Told in one conversation, asked in another: the page lists what came back, word for word, and why."""
    told = "My grandmother's orchard lies in Zarasai, with forty-two quince trees."
    say(page, told)
    ended(page)
    other = visitor.open("/")
    say(other, "How many quince trees has the orchard in Zarasai?")
    ended(other)
    line = turn(other).locator("details.recall")
    expect(line.locator("summary")).to_contain_text("from other conversations")
    line.locator("summary").click()
    row = line.locator(".event", has_text="forty-two quince trees").first
    row.click()
    dialog = other.get_by_role("dialog")
    expect(dialog.locator(".verbatim")).to_have_text(told)
    expect(dialog.get_by_role("link", name="My grandmother's orchard")).to_be_visible()
    other.keyboard.press("Escape")
    turn(other).get_by_role("button", name="Why this answer").click()
    expect(other.get_by_role("dialog")).to_contain_text("What the model saw")
    expect(other.get_by_role("dialog").locator(".event", has_text="quince").first).to_be_attached()
    other.keyboard.press("Escape")
    reload(other)
    expect(turn(other).locator("details.recall summary")).to_contain_text("from other conversations")
