"""Nothing that anybody fills in is run or breaks its box, and everybody can read every page: in real Chromium.

On a stand-in kernel that looks like a year of use, as a real one lets no test fill every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, FilePayload, Page, ViewportSize, expect

from tests.e2e.conftest import Served, Visitor, at, ready
from tests.kit.daemon import until
from tests.plugins.webui.standin import OWNER, StandIn
from tests.plugins.webui.standin_rich import asking, ended, rich, small
from tests.plugins.webui.standin_settings import DEFINITIONS
from tests.plugins.webui.standin_usage import furnished_usage

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

PAGES = ("/", "/t/TALK", "/plugins", "/models", "/settings", "/usage", "/usage?in=money", "/health")
LOOKS = [
    pytest.param({"color_scheme": scheme, "locale": locale}, id=f"{scheme}-{locale[:2]}")
    for scheme, locale in (("light", "zh-CN"), ("dark", "en-GB"))
]
"""Each theme and each language: colours know nothing of words."""
PHONE, DESK = ViewportSize(width=360, height=740), ViewportSize(width=1280, height=800)
OUTSIDE = """[...document.querySelectorAll('main, main *, dialog, dialog *, nav, nav *')].filter(
    one => one.checkVisibility() && !one.closest('pre, .block > div, .scrolls')
        && !(one.closest('nav') && !document.body.matches('.nav-open'))
        && one.getBoundingClientRect().right > innerWidth + 0.5
).map(one => `${one.tagName}.${one.className} in ${one.parentElement.tagName}.${one.parentElement.className}`)"""
"""What sticks out of the window at the right; what scrolls by itself is left out."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    kernel = rich(StandIn(small))
    kernel.usage = furnished_usage()
    with Served(kernel) as running:
        yield running


def path_of(served: Served, path: str) -> str:
    talk = next(talk for talk in served.kernel.talks.values() if talk.title.startswith("Garden plan for"))
    return path.replace("TALK", talk.id)


def faults(page: Page) -> list[str]:
    """What axe calls serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def narrow(page: Page, where: str) -> None:
    """On a telephone nothing sticks out, and the menu comes and goes."""
    expect(page.locator("main h1")).to_be_visible()
    assert page.evaluate(OUTSIDE) == [], where
    page.click("header [data-nav=open]")
    expect(page.locator("nav a.new")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("nav a.new")).not_to_be_in_viewport()


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_fits_360_pixels_and_can_be_used_by_everybody(
    browser: Browser, served: Served, look: dict[str, Any]
) -> None:
    """Every page as a telephone loads it, then wide: axe finds nothing serious, also in what lies over them."""
    with at(browser, served, viewport=PHONE, **look, reduced_motion="reduce") as visitor:
        for path in PAGES:
            page = visitor.open(path_of(served, path))
            if path == "/health":
                expect(page.locator("#checks > li")).to_have_count(4)
            for details in page.locator("main details:not([data-logs])").all():
                details.evaluate("one => { one.open = true }")
            narrow(page, path)
            page.set_viewport_size(DESK)
            assert faults(page) == [], path
            page.close()
        page = visitor.open(path_of(served, "/t/TALK"))
        for summary in page.locator("details.recall summary").all():
            summary.click()
        expect(page.locator(".recalled .event").first).to_be_visible()
        page.locator("[data-why]").first.dispatch_event("click")
        expect(page.locator("dialog .event").first).to_be_visible()
        fits_and_is_for_everybody(page, "why")
        page.locator("dialog .event").first.click()
        expect(page.locator("dialog .verbatim")).to_be_visible()
        fits_and_is_for_everybody(page, "evidence")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.set_viewport_size(DESK)
        page.locator("#about").click()
        assert faults(page) == [], "menu"
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("dialog.ask")).to_be_visible()
        assert faults(page) == [], "delete"


def fits_and_is_for_everybody(page: Page, where: str) -> None:
    page.set_viewport_size(PHONE)
    assert page.evaluate(OUTSIDE) == [], where
    page.set_viewport_size(DESK)
    assert faults(page) == [], where


BAD = (
    '"\'><img src=x onerror="window.pwned=1"><svg/onload=window.pwned=2><script>window.pwned=3</script>'
    "<style>*{display:none}</style><iframe srcdoc='<script>parent.pwned=4</script>'></iframe>{{7*7}}${7*7}"
    '</pre></details><a href="javascript:window.pwned=5">x</a>\u202e' + "W" * 200
)
MARKUP = BAD + (
    "\n\n[a](javascript:window.pwned=6) [b](data:text/html,<script>window.pwned=7</script>) <javascript:window.pwned=8>"
    '\n\n![c](http://evil.example/x.png) ![d](/api/v1/logout "t")\n\n```html"><img src=x onerror=window.pwned=9>\n'
    "<script>window.pwned=10</script>\n```\n\n| a |\n|-|\n| <img src=x onerror=window.pwned=11> |\n"
    "\n[e]: javascript:alert(1)\n"
)
INTRUDERS = (
    "document.querySelectorAll(`:is(main, nav, dialog) :is(script, iframe, object, embed, style, base, form[action],"
    " img[src='x'], [onerror], [onload], [onclick], [srcdoc], svg[onload])`).length"
)


def spoilt(usage: dict[str, Any]) -> dict[str, Any]:
    """Usage in which everything that has a name has a bad one."""
    names = {"source": BAD, "model": BAD, "kind": BAD, "who": BAD, "peer": BAD, "title": BAD}

    def bad(entry: dict[str, Any]) -> dict[str, Any]:
        made = {**entry, **{name: text for name, text in names.items() if name in entry}}
        return {**made, **({"spent": [bad(one) for one in entry["spent"]]} if "spent" in entry else {})}

    lists = {name: [bad(one) for one in usage[name]] for name in ("days", "threads", "peers", "who", "prices")}
    return {**usage, **lists, "peers": lists["peers"] * 2}


def hostile() -> StandIn:
    """Every field that a model, a person, a plugin or a file's name can fill."""
    kernel = rich(StandIn(small))
    for plugin in kernel.plugins:
        plugin |= {"description": BAD, "version": BAD, "tools": [BAD], "name_zh": BAD, "trust": BAD}
        for crash in plugin["crashes"]:
            crash |= {"stderr": BAD, "pending": [BAD]}
    for source in kernel.sources:
        source |= {"name": BAD, "model": BAD, "base_url": f"https://x/{BAD}", "path": BAD}
    kernel.sources[0]["current"] = True
    texts = [key for key, one in DEFINITIONS.items() if one.type in ("string", "text", "select")]
    kernel.stored = {**dict.fromkeys(texts, BAD), "core.tracker.ignore": [BAD], "core.spend.rates": [{BAD: BAD}]}
    kernel.differences = [{"what": BAD, "then": BAD, "now": BAD}]
    kernel.usage = spoilt(furnished_usage())
    kernel.storage |= {"state": "read_only", "reason": BAD, "kept": BAD}
    kernel.api_keys.append({"name": BAD, "peer": BAD, "scopes": [BAD], "created_at": 1.0, "used_at": 2.0})
    kernel.checks = [{"name": BAD, "state": "bad", "what": BAD, "hint": BAD}]
    talk = kernel.open_talk(BAD)
    block = kernel.put(BAD, "image/png", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=20'/>")
    page = kernel.put(f"{BAD}.html", "text/html", b"<script>window.pwned=21</script>")
    kernel.store(talk, "t1", "user", BAD, blocks=[block, page])
    call = {"id": "c1", "name": BAD, "arguments": {BAD: [BAD, {"x": BAD}]}}
    kernel.store(talk, "t1", "assistant", MARKUP, calls=[call], reasoning=BAD)
    kernel.store(talk, "t1", "tool", BAD, call_id="c1", name=BAD, status="error", args=call["arguments"])
    kernel.store(talk, "t1", "note", BAD, code=BAD)
    kernel.store(talk, "t1", "assistant", MARKUP)
    ended(talk, "t1", BAD)
    kernel.remember("bad", BAD * 3, title=BAD, kind=BAD, layer=BAD, thread=BAD, data={"blocks": [{**block, "id": BAD}]})
    talk.recalls.append({"turn": "t1", "shown": ["bad"], "cold": [BAD], "chars": 1, "kept": 1, "late": [BAD]})
    data = {"kept": {BAD: ["bad"]}, "left_out": [BAD], "late": [BAD], "shown": ["bad"], "cold": [BAD], "why": BAD}
    kernel.why["t1"] = [{"kind": kind, "at": 0, "data": data} for kind in ("select", "recall", "guard", BAD)]
    kernel.store(talk, "t2", "user", "x")
    ended(talk, "t2", "failed", error=BAD, hint=f"`{BAD}` Models page")
    asking(kernel, talk)
    assert talk.live is not None
    talk.live |= {"reasoning": BAD, "text": MARKUP}
    for known in (*talk.live["calls"], *(asked.entry for asked in kernel.asked.values())):
        known |= {"tool": BAD, "plugin": BAD, "args": {BAD: BAD}, "class": BAD, "reason": BAD}
    return kernel


def sound(page: Page, where: str) -> None:
    """Nothing was run, nothing came in as markup, nothing leaves its box."""
    assert page.evaluate("window.pwned") is None, where
    assert page.evaluate(INTRUDERS) == 0, where
    protocols = set(page.evaluate("[...document.querySelectorAll('a[href]')].map(one => one.protocol)"))
    assert protocols <= {"http:", "https:", "mailto:"}, where
    width = page.evaluate("innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, where
    outside = page.evaluate(OUTSIDE)
    assert not outside, f"{where}: {sorted(set(outside))}"


def open_all(page: Page) -> None:
    for details in page.locator("main details, dialog details").all():
        details.evaluate("one => { one.open = true }")


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_that_anybody_fills_in_is_run_or_leaves_its_box(browser: Browser, width: int) -> None:
    with Served(hostile()) as served, at(browser, served, viewport={"width": width, "height": 800}) as visitor:
        for path in ("/", "/plugins", "/models", "/settings", "/usage", "/usage?in=money", "/health"):
            page = visitor.open(path)
            open_all(page)
            expect(page.locator("main")).to_contain_text("onerror")
            sound(page, path)
            page.close()
        talk = next(talk for talk in served.kernel.talks.values() if talk.title == BAD)
        page = visitor.open(f"/t/{talk.id}")
        open_all(page)
        expect(page.locator(".recalled .event").first).to_contain_text("onerror")
        sound(page, "talk")
        page.locator("[data-why]").first.dispatch_event("click")
        open_all(page)
        expect(page.locator("dialog")).to_contain_text("onerror")
        sound(page, "why")
        page.locator("dialog .event:not([disabled])").first.dispatch_event("click")
        expect(page.locator("dialog .verbatim")).to_contain_text("onerror")
        sound(page, "evidence")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.locator("#about").click()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("dialog.ask")).to_contain_text("onerror")
        sound(page, "delete")
        page.keyboard.press("Escape")
        lively(page, served, talk.id)
        sound(page, "live")
        fill_in(page, visitor)
        sound(page, "typed")


def lively(page: Page, served: Served, talk: str) -> None:
    """The same through the live stream, and as messages of errors."""

    kernel = served.kernel

    def begin() -> None:
        said = {"input": BAD, "text": BAD, "peer": OWNER, "client_msg_id": BAD}
        blocks = [{"id": BAD, "name": BAD, "media_type": "image/png", "bytes": 1}]
        kernel.post("raw_input", talk, "", **said, blocks=blocks)
        kernel.post("turn", talk, "t9", phase="start", input=BAD, state=BAD)

    def go_on() -> None:
        kernel.post("recall", talk, "t9", input=BAD, shown=["bad"], cold=[BAD], chars=1, kept=1, late=[BAD])
        kernel.post("progress", talk, "t9", what=BAD, done=1, total=2)
        kernel.post("reasoning_delta", talk, "t9", step=0, at=0, text=BAD)
        kernel.post("content_delta", talk, "t9", step=0, at=0, text=MARKUP)
        call = {"call": BAD, "step": 0, "tool": BAD, "plugin": BAD, "class": BAD, "args": {BAD: BAD}, "ms": 1}
        kernel.post("tool_call", talk, "t9", **call, status=BAD, result=BAD)
        kernel.post("approval", talk, "t9", **call, approval=BAD, status="asked", reason=BAD, expires_at=0)
        kernel.post("thread", talk, "", title=BAD, channel="webui", created=False)
        kernel.post("system", talk, "t9", code=BAD, message=BAD)
        kernel.post("turn", talk, "t9", phase="end", input=BAD, state="failed", error=BAD, hint=BAD, usage={}, ms=1)

    turn = page.locator("section.turn[data-turn=t9]")
    served.do(begin)
    expect(turn).to_be_attached()  # its stream stands: who is not there for deltas is told of none
    served.do(go_on)
    expect(turn.locator(".card.bad")).to_contain_text("onerror")
    expect(turn.locator(".answer")).to_contain_text("onerror")
    expect(page.locator(".toast").first).to_contain_text("onerror")


def fill_in(page: Page, visitor: Visitor) -> None:
    """What a person types, drops and asks for comes back as text too."""
    name = '"><img src=x onerror=window.pwned=30>.png'
    broken: FilePayload = {"name": name, "mimeType": "image/png", "buffer": b"no picture"}
    page.set_input_files("#files", [broken])
    expect(page.locator("li.attachment[data-ready]")).to_contain_text("onerror")
    empty: FilePayload = {"name": f"{BAD[:150]}.bin", "mimeType": "a/b", "buffer": b""}
    page.set_input_files("#files", [empty])
    expect(page.locator(".toast.bad").last).to_contain_text("onerror")
    if page.viewport_size and page.viewport_size["width"] > 760:
        page.fill("#find", BAD[:200])
        expect(page.locator("#threads")).to_contain_text("onerror")
        page.fill("#find", "")
        expect(page.locator("#threads li").nth(2)).to_be_visible()
    before = page.locator("section.turn").count()
    page.fill("#text", BAD)
    page.keyboard.press("Enter")
    expect(page.locator("section.turn")).to_have_count(before + 1)
    expect(page.locator("section.turn .said").last).to_contain_text("onerror")
    keys = visitor.open("/settings")
    keys.evaluate("document.querySelector('#new-key [name=name]').removeAttribute('pattern')")
    keys.fill("#new-key [name=name]", BAD[:60])
    keys.click("#new-key button")
    expect(keys.locator("#new-key [role=status]")).not_to_be_empty()
    sound(keys, "key")


def test_a_file_that_is_a_page_is_saved_and_a_picture_that_is_none_runs_nothing(browser: Browser) -> None:
    with Served(hostile()) as served, at(browser, served) as visitor:
        page = visitor.open("/")
        for block, name in served.kernel.blocks.items():
            answer = page.request.get(f"{served.url}/api/v1/blocks/{block}")
            assert answer.status == 200
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
            shown = name["media_type"] == "image/png"
            assert answer.headers["content-disposition"].startswith("inline" if shown else "attachment")
            assert answer.headers["content-type"] == ("image/png" if shown else "application/octet-stream")


def test_the_theme_is_kept_and_the_other_tabs_follow(browser: Browser, served: Served) -> None:
    with at(browser, served, color_scheme="light") as visitor:
        page, other = visitor.open("/"), visitor.open("/health")
        page.click("#theme")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(other.locator("html")).to_have_attribute("data-theme", "dark")
        page.reload()
        expect(ready(page).locator("html")).to_have_attribute("data-theme", "dark")
        assert page.evaluate("localStorage.getItem('theme')") == "dark"


def test_who_wants_no_motion_sees_none(browser: Browser, served: Served) -> None:
    with at(browser, served, reduced_motion="reduce") as visitor:
        page = visitor.open(path_of(served, "/t/TALK"))
        page.locator("#about").click()
        until(lambda: page.locator("section.turn.live").count() == 1)
        assert page.evaluate("document.getAnimations().length") == 0
