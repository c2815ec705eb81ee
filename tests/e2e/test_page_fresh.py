"""What refreshes itself takes nothing from who uses it: typed words, keyboard, marks, what is open, what is yet unread.

In real Chromium, on a stand-in kernel.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect

from homed.errors import InvalidInput
from tests.e2e.conftest import Served, Visitor, at, caught
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_rich import remembering, small

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

GATE, ROOM, SMALL = (
    "core.memory." + name for name in ("inject_min_score", "inject_max_chars", "extract_min_turn_chars")
)
LOOK = "import('/static/js/fresh.js').then((module) => module.fresh())"
"""A refresh, from the page's own module; resolves once it is through."""


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(remembering(StandIn(small))) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    with at(browser, served, locale="en-GB") as made:
        yield made


def changed(served: Served, **values: float) -> None:
    """Thresholds that are set elsewhere, of which memory tells."""

    def act() -> None:
        for one in served.kernel.thresholds:
            if (value := values.get(one["key"].rpartition(".")[2])) is not None:
                one["value"] = value
        served.kernel.post("memory", "", "", what="thresholds")

    served.do(act)


def field(page: Page, key: str) -> Locator:
    return page.locator(f'form[data-key="{key}"] input')


def test_what_is_typed_and_not_saved_stays_and_is_told_of_what_was_set_meanwhile(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/thresholds")
    gate, room, few = (field(page, key) for key in (GATE, ROOM, SMALL))
    few.fill("75")
    room.focus()
    changed(served, inject_min_score=0.2, inject_max_chars=900)
    expect(gate).to_have_value("0.2")
    expect(room).to_have_value("900")  # which has the keyboard, and nothing of a person's in it
    expect(room).to_be_focused()
    expect(few).to_have_value("75")
    expect(page.locator(".meanwhile")).to_have_count(0)
    changed(served, extract_min_turn_chars=90)
    note = page.locator(f'form[data-key="{SMALL}"] .meanwhile')
    expect(note).to_have_text("90 was set elsewhere meanwhile. What you typed is not saved.")
    expect(page.locator("#spoken")).to_have_text(re.compile("^90 was set elsewhere"))
    expect(few).to_have_value("75")
    changed(served, inject_min_score=0.3, extract_min_turn_chars=95)
    expect(gate).to_have_value("0.3")
    expect(note).to_have_text(re.compile("^95 was set"))
    changed(served, inject_min_score=0.4)
    expect(gate).to_have_value("0.4")
    expect(note).to_have_text(re.compile("^95 was set"))
    form = page.locator(f'form[data-key="{SMALL}"]')
    form.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("95 → 75")
    dialog.get_by_label("The reason").fill("As before.")
    dialog.get_by_role("button", name="Change it").click()
    expect(form.get_by_role("status")).to_have_text("Saved")
    expect(note).to_have_count(0)
    expect(few).to_have_value("75")
    changed(served, extract_min_turn_chars=60)
    expect(few).to_have_value("60")  # what was saved is nobody's unsaved words
    gate.fill("0,25")
    page.locator(f'form[data-key="{GATE}"]').get_by_role("button").click()
    dialog.get_by_label("The reason").fill("A comma.")
    dialog.get_by_role("button", name="Change it").click()
    expect(gate).to_have_value("0.25")  # as the server writes it, which is not something else
    expect(page.locator(".meanwhile")).to_have_count(0)


def test_an_error_after_the_reason_is_read_though_the_page_was_made_anew_meanwhile(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/thresholds")
    form = page.locator(f'form[data-key="{SMALL}"]')
    form.get_by_label("Value").fill("80")
    form.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("The reason").fill("Greetings.")
    changed(served, inject_min_score=0.2, extract_min_turn_chars=90)
    expect(field(page, GATE)).to_have_value("0.2")
    expect(dialog.get_by_label("The reason")).to_have_value("Greetings.")
    expect(dialog.get_by_label("The reason")).to_be_focused()
    served.kernel.fail["admin.threshold_set"] = InvalidInput("No more than 70.")
    dialog.get_by_role("button", name="Change it").click()
    expect(form.get_by_role("status")).to_have_text("No more than 70.")
    expect(form.get_by_role("button")).to_be_focused()  # where the dialog gives it back to
    changed(served, inject_min_score=0.3)
    expect(field(page, GATE)).to_have_value("0.3")
    expect(form.get_by_role("status")).to_have_text("No more than 70.")
    expect(form.get_by_label("Value")).to_have_value("80")


def test_what_is_open_marked_scrolled_and_has_the_keyboard_stays_as_it_is(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/injections")
    last = page.locator("details.told").last
    last.locator("summary").click()
    link = last.get_by_role("link", name="Why this answer")
    link.focus()
    page.evaluate("document.getSelection().selectAllChildren(document.querySelector('details[open] .asked'))")
    marked = page.evaluate("String(document.getSelection())")
    one = link.element_handle()
    page.locator("#memory").evaluate("home => { home.style.height = '20em'; home.scrollTop = home.scrollHeight; }")

    def more() -> None:
        kernel = served.kernel
        kernel.injected.append({**kernel.injected[-1], "seq": 9, "turn": "td", "query": "and one more"})
        kernel.post("memory", "", "", what="injection")

    served.do(more)
    expect(page.locator("details.told")).to_have_count(4)
    expect(page.locator("details.told").first).to_contain_text("and one more")
    expect(page.locator("details.told[open]")).to_have_count(1)
    expect(last).to_have_attribute("open", "")
    assert one.evaluate("one => one.isConnected && one === document.activeElement")
    assert marked
    assert page.evaluate("String(document.getSelection())") == marked
    assert page.locator("#memory").evaluate("home => home.scrollTop + home.clientHeight > home.scrollHeight - 4")
    times = page.locator("details.told time").all_text_contents()
    assert not [text for text in times if "T" in text], "those of what came are in the person's own manner, too"


def test_the_keyboard_goes_to_nothing_that_decides_something_else(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/memory/merges")
    first = page.locator(".merges > li").first
    first.get_by_role("button", name="They are two").focus()

    def decided() -> None:
        del served.kernel.proposed[0]
        served.kernel.post("memory", "", "", what="merges")

    served.do(decided)
    expect(page.locator(".merges > li")).to_have_count(1)
    expect(page.locator("#memory")).to_be_focused()


FIELDS = """<form><label>A<textarea name="a">{0}</textarea></label><label>B<select name="b">{1}</select></label>
<label>C<input type="checkbox" name="c"{2}></label><p>{3}</p></form>"""


def fields(words: str, chosen: str, ticked: bool, told: str) -> str:
    choices = "".join(f'<option value="{one}"{" selected" * (one == chosen)}>{one}</option>' for one in "xyz")
    return FIELDS.format(words, choices, " checked" * ticked, told)


@pytest.mark.parametrize("typed", [True, False])
def test_it_is_so_for_fields_of_every_kind(visitor: Visitor, typed: bool) -> None:
    """Words, a choice and a tick: theirs until saved where somebody changed them, else what the server says."""
    said = [fields("one", "x", False, "before")]

    def answer(route: Route) -> None:
        page_as_served = route.fetch()
        text = re.sub(
            r'(<div id="thresholds" data-fresh>).*(</div>\s*</div>)',
            rf"\1{said[-1]}\2",
            page_as_served.text(),
            flags=re.S,
        )
        route.fulfill(response=page_as_served, body=text)

    visitor.context.route("**/memory/thresholds", answer)
    page = visitor.open("/memory/thresholds")
    words, choice, tick = (page.locator(f"#thresholds [name={name}]") for name in "abc")
    if typed:
        words.fill("mine")
        choice.select_option("z")
        tick.check()
    said.append(fields("one", "x", False, "other"))
    assert page.evaluate(LOOK)
    expect(page.locator("#thresholds form > p")).to_have_text(["other"])
    now = ("mine", "z", True) if typed else ("one", "x", False)
    assert (words.input_value(), choice.input_value(), tick.is_checked()) == now
    said.append(fields("two", "y", True, "third"))
    page.evaluate(LOOK)
    now = ("mine", "z", True) if typed else ("two", "y", True)
    assert (words.input_value(), choice.input_value(), tick.is_checked()) == now
    notes = [text.split(" was", 1)[0] for text in page.locator(".meanwhile").all_text_contents()]
    assert notes == (["two", "y"] if typed else []), "what is ticked is what the server says by now"
    said.append(fields("mine", "z", True, "fourth"))
    page.evaluate(LOOK)
    assert (words.input_value(), choice.input_value(), tick.is_checked()) == ("mine", "z", True)
    expect(page.locator(".meanwhile")).to_have_count(0)


def test_a_slow_server_is_asked_once_more_however_much_comes_and_each_answer_is_shown(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/thresholds")
    held: list[Route] = []
    page.route("**/memory/thresholds", lambda route: held.append(route))
    page.evaluate(f"() => {{ window.looks = Promise.all([1, 2, 3].map(() => {LOOK})); }}")
    first = caught(page, held)
    served.kernel.thresholds[0]["value"] = 0.2
    first.continue_()
    expect(field(page, GATE)).to_have_value("0.2")  # and not thrown away for the one that is asked for by now
    served.kernel.thresholds[0]["value"] = 0.3
    caught(page, held[1:]).continue_()
    assert page.evaluate("window.looks") == [True] * 3
    expect(field(page, GATE)).to_have_value("0.3")
    assert len(held) == 2


def test_the_page_stays_as_it_is_where_the_server_cannot_be_reached(visitor: Visitor) -> None:
    page = visitor.open("/memory/thresholds")
    field(page, SMALL).fill("75")
    page.route("**/memory/thresholds", lambda route: route.abort())
    assert page.evaluate(LOOK) is False
    expect(field(page, SMALL)).to_have_value("75")


def test_the_page_of_plugins_keeps_address_log_and_keyboard_when_its_stream_must_begin_anew(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/plugins")
    page.locator("[name=url]").fill("https://half.typed/")
    card = page.locator("#plugin-shell")
    card.locator("details.logs summary").click()
    expect(card.locator("details.logs pre")).to_contain_text("shell")
    log = card.locator("details.logs pre").element_handle()
    card.get_by_role("button", name="Stop").focus()
    page.keyboard.press("Enter")
    expect(card).to_have_attribute("data-state", "stopped")
    expect(card.get_by_role("button", name="Start")).to_be_focused()

    def lost() -> None:
        served.kernel.admin_plugin_start("", "timer")
        served.kernel.hub.lost(1)

    served.do(lost)
    expect(page.locator("#plugin-timer")).not_to_have_attribute("data-state", "stopped")
    expect(page.locator("[name=url]")).to_have_value("https://half.typed/")
    expect(card.locator("details.logs")).to_have_attribute("open", "")
    assert log.evaluate("one => one.isConnected && one.textContent.length > 0")


def test_another_source_is_used_while_one_is_half_typed(visitor: Visitor, served: Served) -> None:
    page = visitor.open("/models")
    page.get_by_label("API key").fill("sk-half")
    card = page.locator('article[data-name="ollama"]')
    card.get_by_role("button", name="Use").click()
    expect(card.locator("h2")).to_contain_text("in use")
    expect(page.locator("#sources .mark", has_text="in use")).to_have_count(1)
    expect(page.locator("#standing")).to_contain_text("qwen3:8b")
    expect(page.get_by_label("API key")).to_have_value("sk-half")
    assert served.kernel.sources[1]["current"]


def test_the_graph_looks_again_at_what_was_asked_for_and_not_at_what_is_half_typed(
    visitor: Visitor, served: Served
) -> None:
    page = visitor.open("/memory/graph")
    node = page.locator("[data-node]").first
    node.focus()
    name: Any = node.get_attribute("data-node")
    page.locator("[name=center]").evaluate("one => { one.value = 'half'; }")

    def asked(request: Request) -> bool:
        return "/api/v1/memory/graph" in request.url

    with page.expect_response(lambda answer: asked(answer.request)) as found:
        served.do(lambda: served.kernel.post("memory", "", "", what="changed"))
    assert "center" not in found.value.url
    expect(page.locator(f'[data-node="{name}"]')).to_be_focused()
    expect(page.locator("[name=center]")).to_have_value("half")


TAGS = ("div", "p", "section", "span", "ul", "li", "details", "summary", "button", "label", "form", "b")


@dataclass
class Made:
    """An element: its tag with what it has, and what is within it."""

    start: str
    within: list[Made | str]

    def __str__(self) -> str:
        return f"<{self.start}>{''.join(map(str, self.within))}</{self.start.split()[0]}>"


def made_up(chance: random.Random, depth: int = 0) -> Made | str:
    """Some piece of a page; little choice, so that much of it is the same again, elsewhere or with another content."""
    if depth == 4 or chance.random() < 0.25:
        return chance.choice(["a", "b", " ", "", "\n  ", "番茄", "<!-- c -->", "x &amp; y"])
    which = chance.random()
    name = f' data-record="{chance.randrange(4)}"' if chance.random() < 0.3 else ""
    if which < 0.08:
        return f'<input{name} name="f" value="{chance.randrange(3)}">'
    if which < 0.16:
        return f'<input type="checkbox" name="c"{chance.choice(["", " checked"])}>'
    if which < 0.24:
        chosen = chance.randrange(3)
        return Made(
            f"select{name}", [f'<option value="{n}"{" selected" * (n == chosen)}>{n}</option>' for n in range(3)]
        )
    if which < 0.3:
        return Made(f"textarea{name}", [chance.choice(["", "said", "&lt;b>"])])
    kind = f' class="{chance.choice("kl")}"' if chance.random() < 0.4 else ""
    within = [made_up(chance, depth + 1) for _ in range(chance.randrange(5))]
    return Made(f"{chance.choice(TAGS)}{name}{kind}", within)


def altered(chance: random.Random, page: list[Made | str]) -> None:
    """Somewhere in it something comes, goes, or is something else."""
    inner = [one for one in page if isinstance(one, Made) and not one.start.startswith(("select", "textarea"))]
    if inner and chance.random() < 0.7:
        altered(chance, chance.choice(inner).within)
    else:
        at_ = chance.randrange(len(page) + 1)
        page[at_ : at_ + chance.randrange(3)] = [made_up(chance, 3) for _ in range(chance.randrange(3))]


def test_whatever_the_server_says_next_that_is_what_stands_there(visitor: Visitor) -> None:
    """Three hundred pages of anything, one merged into the other: each is as if it had been loaded."""
    chance = random.Random(11)
    said: list[Made | str] = []

    def answer(route: Route) -> None:
        told = f'<!doctype html><main id="home" data-fresh>{"".join(map(str, said))}</main>'
        script = "<script type=module>import { fresh } from '/static/js/fresh.js'; window.look = fresh;</script>"
        route.fulfill(content_type="text/html", body=told + script)

    page = visitor.open("/memory")
    page.route("**/made-up", answer)
    page.goto(f"{visitor.url}/made-up")
    page.wait_for_function("() => window.look")
    for number in range(300):
        if number % 5:
            altered(chance, said)
        else:
            said[:] = [made_up(chance) for _ in range(chance.randrange(1, 5))]
        stands, told = page.evaluate(
            """async (html) => {
                const box = document.createElement("template");
                box.innerHTML = `<main>${html}</main>`;
                return [await window.look() && document.getElementById("home").innerHTML,
                        box.content.firstChild.innerHTML];
            }""",
            "".join(map(str, said)),
        )
        assert stands == re.sub("<!--.*?-->", "", told, flags=re.DOTALL), (number, told)
