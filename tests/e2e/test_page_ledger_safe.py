"""The ledger's pages can be used by everybody, and nothing that anybody fills in is run there: in real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Served, at
from tests.e2e.test_page_safe import BAD, INTRUDERS, LOOKS, OUTSIDE, faults
from tests.plugins.webui.standin import StandIn
from tests.plugins.webui.standin_ledger import edge, furnish_ledger, injection, line
from tests.plugins.webui.standin_records import record, said
from tests.plugins.webui.standin_rich import remembering, rich, small

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

PAGES = (
    "/memory/injections", "/turns/ta/why", "/memory/graph", "/memory/health", "/memory/embedding", "/memory/thresholds",
)  # fmt: skip
BEYOND = OUTSIDE.replace(".scrolls'", ".scrolls, .parts, .graph'")
OURS = INTRUDERS.replace("form[action]", "form[action]:not([action='/memory/injections'])")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    kernel = remembering(StandIn(small))
    talk = next(talk for talk in kernel.talks.values() if talk.title.startswith("Garden plan for"))
    talk.written.append({"turn": "ta", "state": "told", "records": {"summary": ["summary_00000000bbbb0001"]}})
    talk.recalls[0] |= {"facts": ["fact_000000009f3c1a7b"], "counts": {"fact": 1}}
    with Served(kernel) as running:
        yield running


def opened(page: Page, path: str) -> Page:
    """With everything that opens, and a check made."""
    if path == "/memory/health":
        page.locator('[data-check="fast"]').click()
        expect(page.locator("#checks > li").last).to_be_visible()
    for details in page.locator("main details").all():
        details.evaluate("one => { one.open = true }")
    return page


@pytest.mark.parametrize("look", LOOKS[1:])  # the other is that of the next test: pages share their style
def test_everybody_can_use_them(browser: Browser, served: Served, look: dict[str, Any]) -> None:
    with at(browser, served, **look, reduced_motion="reduce") as visitor:
        for path in PAGES:
            page = opened(visitor.open(path), path)
            assert faults(page) == [], path
            page.close()
        page = visitor.open("/memory/injections")
        page.locator("details.told summary").last.click()
        page.locator("[data-open-record]").last.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert faults(page) == [], "evidence"
        page = visitor.open("/memory/graph")
        page.locator("[data-node]").first.click()
        expect(page.locator("#graph-about")).to_be_visible()
        assert faults(page) == [], "what is chosen"


@pytest.mark.parametrize("look", LOOKS[:1])
def test_they_fit_360_pixels(browser: Browser, served: Served, look: dict[str, Any]) -> None:
    with at(browser, served, viewport={"width": 360, "height": 740}, **look) as visitor:
        talk = next(talk for talk in served.kernel.talks.values() if talk.title.startswith("Garden plan for"))
        for path in (*PAGES, f"/t/{talk.id}"):
            page = opened(visitor.open(path), path)
            assert page.evaluate(BEYOND) == [], path
            page.close()
        page = visitor.open("/memory/graph")
        page.locator("[data-node]").first.click()
        expect(page.locator("#graph-about")).to_be_visible()
        assert page.evaluate(BEYOND) == []
        text = page.locator("#graph text").first.bounding_box()
        assert text is not None
        assert text["height"] > 9, "names are readable however small the picture is"


def hostile() -> StandIn:
    """Every field that a model, a person or a file's name can fill."""
    kernel = rich(StandIn(small))
    furnish_ledger(kernel)
    id_ = "fact_00000000bad00001"
    kernel.keep(
        record(id_, BAD, kind=BAD, title=BAD, tags=[BAD], status=BAD, mark=BAD, untrusted=True),
        said("bad", BAD, title=BAD, speaker=BAD, before=BAD, after=BAD, state=BAD),
    )
    told = line(id_, BAD, kind=BAD, why=BAD, evidence="source", status=BAD, now=2)
    kernel.injected = [injection(1, "ta", BAD, told, title=BAD, late=[BAD], counts={BAD: 1})]
    for node in kernel.nodes:
        node |= {"name": BAD, "type": BAD}
    kernel.edges = [edge(n, kernel.nodes[n]["id"], kernel.nodes[0]["id"], BAD) for n in range(3)]
    kernel.edges += [{**edge(9, kernel.nodes[0]["id"], None, BAD), "value": BAD}]
    for one in kernel.thresholds:
        changes = [{"was": BAD, "now": BAD, "reason": BAD, "peer": BAD, "at": 1.0}]
        one |= {"name": BAD, "description": BAD, "prevents": BAD, "changes": changes, "place": BAD, "source": BAD}
    for one in kernel.memory_checks:
        one |= {"name": BAD, "evidence": BAD, "fix": BAD, "ids": [BAD], "mended": BAD, "status": BAD}
    kernel.embedding |= {"base_url": BAD, "model": BAD, "trouble": BAD, "fingerprint": BAD, "places": {BAD: BAD}}
    kernel.embedding["embedder"] |= {"used": BAD, "state": BAD, "reason": BAD}
    talk = kernel.open_talk(BAD)
    kernel.store(talk, "ta", "user", BAD)
    talk.recalls.append({"turn": "ta", "shown": [], "cold": [], "facts": [id_, f"fact_{BAD}"], "chars": 1, "kept": 1})
    talk.written.append({"turn": "ta", "state": "done", "records": {"fact": [id_, f"fact_{BAD}"], BAD: [BAD]}})
    return kernel


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_that_anybody_fills_in_is_run(browser: Browser, width: int) -> None:
    with Served(hostile()) as served, at(browser, served, viewport={"width": width, "height": 800}) as visitor:
        talk = next(talk for talk in served.kernel.talks.values() if talk.title == BAD)
        for path in (*PAGES, f"/t/{talk.id}"):
            page = opened(visitor.open(path), path)
            if path.startswith("/t/"):
                expect(page.locator(".recalled .told-lines .text").first).to_contain_text("onerror")
                expect(page.locator("details.written .text").first).to_contain_text("onerror")
            expect(page.locator("main")).to_contain_text("onerror")
            sound(page, path)
            if path in ("/turns/ta/why", "/memory/injections"):
                page.locator("[data-open-record]").first.click()
                expect(page.get_by_role("dialog")).to_contain_text("onerror")
                sound(page, f"{path}, evidence")
            if path == "/memory/graph":
                page.locator("[data-node]").first.dispatch_event("click")
                expect(page.locator("#graph-about")).to_contain_text("onerror")
                sound(page, "what is chosen")
            page.close()


def sound(page: Page, where: str) -> None:
    """Nothing was run, nothing came in as markup, nothing leaves its box."""
    assert page.evaluate("window.pwned") is None, where
    assert page.evaluate(OURS) == 0, where
    protocols = set(page.evaluate("[...document.querySelectorAll('a[href]')].map(one => one.protocol)"))
    assert protocols <= {"http:", "https:"}, where
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
    assert sorted(set(page.evaluate(BEYOND))) == [], where
