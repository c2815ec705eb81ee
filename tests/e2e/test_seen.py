"""What a person sees, on the page and on the command line, of a plugin that is blocked, refused, kept to its own tools,
or withholds what it could not check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import enter, ready
from tests.e2e.test_blocked import FAILING
from tests.kit.daemon import until
from tests.kit.fake_openai import fake_openai_thread
from tests.kit.house import House, Plan

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

BLOCKED = "blocked on scheduler: The clock of this machine is not to be trusted"
QUIET = '''
"""Asks for what it was not granted, again and again, and says nothing of it."""
from contextlib import suppress
from homed import sdk
from homed.errors import HomedError

plugin = sdk.Plugin("quiet")

@plugin.tool(cls="read")
async def quiet_look(ctx: sdk.Context) -> str:
    """Look."""
    return "a plain view"

@plugin.main
async def ask(kernel: sdk.Kernel) -> None:
    for _ in range(50):
        with suppress(HomedError):
            await kernel.call("llm.list", {})
    await kernel.log("info", "that was all")

if __name__ == "__main__":
    sdk.run(plugin)
'''
GUARD = '''
"""Checks answers, and marks the results of its own tool; both as it can see them."""
from collections.abc import Mapping
from typing import Any
from homed import sdk

plugin = sdk.Plugin("guard")

@plugin.tool(cls="read")
async def guard_look(ctx: sdk.Context) -> str:
    """Look."""
    return "a guarded view"

@plugin.stage("after_toolcall", scope="own-tools")
async def mark(ctx: sdk.Context, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"tool_results": [{**one, "text": one["text"] + " (marked)"} for one in fields["tool_results"]]}

@plugin.stage("before_output", order=5, on_failure="closed")
async def check(ctx: sdk.Context, fields: Mapping[str, Any]) -> None:
    if "unheard" in fields["final_text"]:
        raise ValueError("what is this")

if __name__ == "__main__":
    sdk.run(plugin)
'''
WITHHELD = "The answer was withheld: guard, which must check it first, could not (it failed)."
LOOK = "Its log says more: homed plugin logs guard"
REFUSED = (
    "refused llm.list: The plugin quiet may not call llm.list: it lacks the capability llm (it has core, io). "
    "Grant it if you trust the plugin with it: homed plugin grant quiet io,llm"
)


def _tool(name: str) -> Mapping[str, Any]:
    return {"name": name, "description": "Look.", "class": "read", "parameters": {"type": "object", "properties": {}}}


def _install(data: Path, name: str, program: str, **more: Any) -> None:
    folder = data / "plugins" / name
    folder.mkdir(parents=True)
    manifest = {"name": name, "version": "1", "entry": "python main.py", **more}
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (folder / "main.py").write_text(program, "utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A daemon whose scheduler fails, with the three plugins."""
    data = tmp_path_factory.mktemp("home") / "data"
    looks = {"calls": [{"name": "guard_look", "args": {}}, {"name": "quiet_look", "args": {}}]}
    with fake_openai_thread() as fake:
        fake.when("look around", looks, {"say": "I looked."})
        fake.when("say it", {"say": "Something unheard of."})
        made = House(data, fake, Plan(only=["webui"], grants={"quiet": ["io"]}))
        _install(data, "waker", "raise SystemExit('it must not run')", needs=["scheduler", "tools"])
        _install(data, "quiet", QUIET, capabilities=["io", "llm"], tools=[_tool("quiet_look")])
        stages: list[dict[str, Any]] = [{"stage": "after_toolcall", "scope": "own-tools"}]
        stages += [{"stage": "before_output", "order": 5, "on_failure": "closed"}]
        _install(data, "guard", GUARD, tools=[_tool("guard_look")], stages=stages)
        made.daemon.program = (sys.executable, "-c", FAILING)
        try:
            made.daemon.start()
            states = {"waker": "waiting", "quiet": "ready", "guard": "ready"}
            until(lambda: {name: made.plugin(name)["state"] for name in states} == states, what="the plugins")
            yield made
        finally:
            made.daemon.end()


def cli(home: House, *words: str) -> str:
    ran = home.daemon.run(*words)
    assert ran.code == 0, ran
    return " ".join(ran.out.split())


def test_on_the_command_line(home: House) -> None:
    for words in (("plugin", "list"), ("plugin", "info", "waker"), ("status",)):
        assert BLOCKED in cli(home, *words), words
    assert "needs scheduler, tools" in cli(home, "plugin", "info", "waker")

    lines = until(lambda: asked(home), what="it has asked fifty times")
    assert [line for line in lines if line.startswith("refused")] == [REFUSED]  # fifty times asked, told once
    assert REFUSED in cli(home, "plugin", "logs", "quiet")
    shown = cli(home, "plugin", "info", "quiet")
    assert "may io: " in shown
    assert "may not llm: " in shown

    shown = cli(home, "plugin", "info", "guard")
    assert "after_toolcall (own-tools): calls of its own tools, nothing else; order 0; when it fails, what" in shown
    assert "before_output (global): every turn: it sees and can change what passes; order 5; when it fails," in shown
    assert "what it should have checked is withheld" in shown

    ran = home.waiter("-chat", "say it")
    assert (ran.code, ran.out) == (1, "")
    assert WITHHELD in ran.err
    assert LOOK in ran.err
    assert "unheard" not in ran.err
    told = json.loads(home.waiter("-chat", "say it", "--json").out)
    assert (told["ok"], told["error"], told["hint"]) == (False, WITHHELD, LOOK)
    logged = cli(home, "plugin", "logs", "guard")
    assert "stage.invoke before_output failed: guard: " in logged
    assert "ValueError: what is this" in logged


def asked(home: House) -> list[str] | None:
    """The log of the one that asks, once it has done so."""
    lines: list[str] = home.ask("admin.plugin_logs", name="quiet", limit=100)["lines"]
    return lines if any("that was all" in line for line in lines) else None


def panel(page: Page, heading: str) -> Locator:
    return page.locator("section.panel").filter(has=page.get_by_role("heading", name=heading))


def test_on_the_page(home: House, browser: Browser) -> None:
    context = browser.new_context()
    try:
        page = enter(context.new_page(), home.daemon.link)
        url = home.daemon.url
        for words in ("look around", "say it"):
            page.fill("#text", words)
            page.keyboard.press("Enter")
            if words == "look around":
                expect(page.get_by_role("log")).to_contain_text("I looked.")
        alert = page.get_by_role("alert").filter(has_text="withheld")
        expect(alert).to_contain_text(WITHHELD)
        expect(alert).to_contain_text(LOOK)
        expect(page.locator("main")).not_to_contain_text("unheard")
        results = [e["text"] for e in home.history(page.url.rpartition("/")[2]) if e["kind"] == "tool"]
        assert results == ["a guarded view (marked)", "a plain view"]  # the other's result was not its to see
        expect(page.locator("main")).to_contain_text("a guarded view (marked)")
        expect(page.locator("main")).not_to_contain_text("a plain view (marked)")

        _plugins(page, url)
        _each(page, url)
    finally:
        context.close()


def _at(page: Page, url: str) -> Page:
    page.goto(url)
    return page


def _plugins(page: Page, url: str) -> None:
    """The list of plugins: what one is blocked on, and what stands in the log of another."""
    ready(_at(page, f"{url}/plugins"))
    card = page.locator("#plugin-waker")
    expect(card.locator(".mark")).to_have_text("blocked")
    expect(card.locator(".reason")).to_contain_text(BLOCKED)
    log = page.locator("#plugin-quiet details.logs")
    log.locator("summary").click()
    expect(log.locator("pre")).to_contain_text(REFUSED)


def _each(page: Page, url: str) -> None:
    """The page of each of the three."""
    ready(_at(page, f"{url}/plugins/waker"))
    expect(page.locator(".mark").first).to_have_text("blocked")
    expect(page.locator(".reason.bad")).to_contain_text(BLOCKED)
    expect(page.locator("dl.facts")).to_contain_text("scheduler, tools")

    ready(_at(page, f"{url}/plugins/quiet"))
    may = panel(page, "What it may do")
    expect(may.locator("[value=io]")).to_be_checked()
    expect(may.locator("[value=llm]")).not_to_be_checked()
    expect(page.locator("pre.log")).to_contain_text(REFUSED)

    ready(_at(page, f"{url}/plugins/guard"))
    offers = panel(page, "What it offers")
    own = "A stage for the calls of its own tools: it sees those and their results, nothing else. Order 0."
    expect(offers).to_contain_text(f"{own} When it fails, what it should have seen passes.")
    every = "A stage of every turn: it sees and can change what passes. Order 5."
    expect(offers).to_contain_text(f"{every} When it fails, what it should have checked is held back.")
    page.context.add_cookies([{"name": "lang", "value": "zh", "url": url}])
    ready(_at(page, f"{url}/plugins/guard"))
    expect(page.locator("dl.offers")).to_contain_text("只处理它自己的工具调用")
    expect(page.locator("dl.offers")).to_contain_text("次序 5。 它出错时，本应由它检查的内容会被扣住。")
