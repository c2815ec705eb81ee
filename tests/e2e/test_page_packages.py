"""Installing a plugin on the page, in real Chromium, on a real daemon; and a package that attacks the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from homed.sdk.packing import pack
from homed.sdk.scaffold import new
from tests.e2e.conftest import Served, Visitor, at, ready
from tests.homed.wire.zips import manifest, packed
from tests.kit.daemon import Daemon, until
from tests.plugins.webui.standin import StandIn, furnished

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin as `homed plugin new` writes it, that asks for two capabilities and one it can never have."""
    folder = tmp_path_factory.mktemp("package")
    source = trio.run(new, "hello", folder) / "plugin.json"
    about = json.loads(source.read_text())
    source.write_text(json.dumps({**about, "capabilities": ["io", "events.notices", "admin"]}))
    out = folder / "hello.hmap"
    trio.run(pack, folder / "hello", out)
    return out


def choose(page: Page, package: Path) -> Locator:
    """Choose the file; the dialog that shows what it is."""
    page.set_input_files("#install [name=package]", package)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def told(visitor: Visitor, path: str) -> Any:
    """What the REST interface says: a command for each look would be a process for each."""
    answer = visitor.context.request.get(f"{visitor.url}/api/v1{path}")
    assert answer.ok, answer
    return answer.json()


def names(visitor: Visitor) -> list[str]:
    return [plugin["name"] for plugin in told(visitor, "/plugins")["plugins"]]


def held(daemon: Daemon) -> list[Path]:
    return list((daemon.data / "plugin-data" / "webui" / "packages").glob("*.hmap"))


def test_a_plugin_is_looked_at_installed_used_changed_and_removed(
    visitor: Visitor, daemon: Daemon, package: Path
) -> None:
    page = visitor.open("/plugins")
    dialog = choose(page, package)
    expect(dialog).to_contain_text("Install hello 0.1.0?")
    expect(dialog).to_contain_text("Put messages into your conversations")
    expect(dialog).to_contain_text("Only what comes with homed can have this.")
    expect(dialog.locator("[value=admin]")).to_be_disabled()
    expect(dialog.locator("[name=grant]:checked")).to_have_count(0)  # nothing is given that nobody ticked
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    until(lambda: not held(daemon), what="what was not wanted deleted")
    assert "hello" not in names(visitor)

    dialog = choose(page, package)
    expect(dialog.locator(".mark.warn")).to_have_count(0)  # all of it is new, and none of it worth a mark
    dialog.locator("[value=io]").check()
    dialog.get_by_role("button", name="Install", exact=True).click()
    expect(page.locator("#install [role=status]")).to_have_text(
        "hello 0.1.0 runs. What it offers can be used from now on."
    )
    card = page.locator("#plugin-hello")
    expect(card).to_contain_text("hello_greet")
    info = told(visitor, "/plugins/hello")
    assert {one["name"]: one["granted"] for one in info["capabilities"]} == {
        "io": True, "events.notices": False, "admin": False,
    }  # fmt: skip
    until(lambda: not held(daemon), what="the file deleted")
    dialog = choose(page, package)  # again: what it has is ticked, what is beyond it is marked
    expect(dialog.locator("[name=grant]:checked")).to_have_count(1)
    expect(dialog.locator("label", has=page.locator("[value='events.notices']")).locator(".mark.warn")).to_be_visible()
    expect(dialog.locator(".mark.warn")).to_have_count(1)
    page.keyboard.press("Escape")

    card.get_by_role("link", name="hello").click()
    ready(page)
    page.locator("[name=grant][value='events.notices']").check()
    page.locator("#grants button").click()
    expect(page.locator("#grants [role=status]")).to_contain_text("hello 0.1.0 runs")
    page.locator("form.setting [name=value]").fill("Salve")
    page.locator("form.setting button:not(.reset)").click()
    expect(page.locator("form.setting [role=status]")).to_have_text("Saved")
    (setting,) = told(visitor, "/settings?prefix=plugin.hello.greeting")["settings"]
    assert setting["value"] == "Salve"
    page.locator("[data-do=disable]").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(page.locator("[data-do=enable]")).to_be_visible()
    assert told(visitor, "/plugins/hello")["state"] == "disabled"
    ready(page)
    page.locator("[data-do=enable]").click()
    expect(page.locator("[data-do=disable]")).to_be_visible()
    ready(page)
    page.locator("[data-remove]").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("[name=keep]").uncheck()
    dialog.get_by_role("button", name="Remove").click()
    page.wait_for_url("**/plugins")
    expect(ready(page).locator("#plugin-hello")).to_have_count(0)
    assert "hello" not in names(visitor)
    assert not (daemon.data / "plugin-data" / "hello").exists()


def test_what_is_no_package_is_said_and_an_address_must_be_https(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open("/plugins")
    bad = tmp_path / "bad.hmap"
    bad.write_bytes(b"rubbish")
    page.set_input_files("#install [name=package]", bad)
    expect(page.locator("#install [role=status].bad")).to_contain_text("is no package")
    page.fill("#install [name=url]", "http://example.org/a.hmap")
    page.locator("#install form button").click()
    assert page.locator("#install [name=url]").evaluate("field => field.validity.patternMismatch")
    page.fill("#install [name=url]", "https://127.0.0.1:9/a.hmap")
    page.locator("#install form button").click()
    expect(page.locator("#install [role=status].bad")).to_contain_text("cannot be fetched")
    expect(page.locator("#install [name=url]")).to_be_enabled()


EVIL = "</title><script>window.pwned=1</script><img src=x onerror=window.pwned=2>\"'><svg onload=window.pwned=3>{{7*7}}"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markup in every field of a manifest that can hold it."""
    fields: dict[str, object] = dict.fromkeys(
        ("description", "author", "license", "name_zh", "name_en", "version"), EVIL
    )
    fields |= {"homepage": "javascript:window.pwned=4", "repository": f"https://example.org/{EVIL}", "tags": [EVIL]}
    fields |= {"capabilities": ["io", "admin"], "inputs": [EVIL], "platforms": []}
    fields["tools"] = [{"name": "evil_tool", "description": EVIL, "class": "read"}]
    fields["outputs"] = [{"name": "evil_out", "description": EVIL}]
    setting = {"key": "a", "type": "string", "default": EVIL, "name": EVIL, "description": EVIL, "category": EVIL}
    fields["settings"] = [setting, {**setting, "key": "b", "type": "select", "options": [EVIL]}]
    fields[EVIL] = EVIL  # an unknown key comes back as a warning
    out = tmp_path_factory.mktemp("evil") / "evil.hmap"
    return packed(out, {"plugin.json": manifest(name="evil", **fields)})


def harmless(page: Page) -> None:
    """Nothing of it ran, was made an element, or was computed."""
    assert page.evaluate("window.pwned") is None
    assert page.locator("svg[onload], img[src=x], a[href^='javascript']").count() == 0
    assert "49" not in page.title()


def test_no_field_of_a_manifest_is_markup(visitor: Visitor, attacked: Path) -> None:
    page = visitor.open("/plugins")
    dialog = choose(page, attacked)
    expect(dialog).to_contain_text("window.pwned=1")
    harmless(page)
    dialog.locator("button.primary").click()
    expect(page.locator("#install [role=status]")).to_contain_text("evil")
    expect(page.locator("#plugin-evil")).to_contain_text("window.pwned=1")
    harmless(page)
    for path in ("/plugins/evil", "/settings", "/"):
        page.goto(visitor.url + path)
        ready(page)
        harmless(page)
    page.context.add_cookies([{"name": "lang", "value": "zh", "url": visitor.url}])
    page.goto(visitor.url + "/plugins/evil")
    expect(ready(page).locator("h1")).to_contain_text("window.pwned=1")  # its Chinese name
    harmless(page)
    answer = visitor.context.request.post(
        f"{visitor.url}/api/v1/plugins/evil/remove", data={"keep_data": False}, headers={"Origin": visitor.url}
    )
    assert answer.ok, answer
    assert "evil" not in names(visitor)


@pytest.mark.parametrize(("lang", "theme", "axe_at"), [("en", "light", 360), ("zh", "dark", 1280)])
def test_it_is_usable_by_everybody_on_every_screen(
    browser: Browser, package: Path, tmp_path: Path, lang: str, theme: str, axe_at: int
) -> None:
    """No sideways scrolling and nothing that axe calls serious: the list, the dialog, a plugin's own page."""
    kernel = furnished(StandIn())
    kernel.folder = tmp_path / "held"
    look = {"color_scheme": theme, "locale": lang, "reduced_motion": "reduce"}
    with Served(kernel) as served, at(browser, served, **look) as visitor:
        page = visitor.open("/plugins")
        looked_at(page, f"plugins-{lang}-{theme}", axe_at)
        dialog = choose(page, package)
        looked_at(page, f"review-{lang}-{theme}", axe_at)
        dialog.locator("[value=io]").check()
        dialog.locator("button.primary").click()
        expect(page.locator("#plugin-hello")).to_be_visible()
        looked_at(page, f"installed-{lang}-{theme}", axe_at)
        for name in ("hello", "timer"):
            page.goto(f"{visitor.url}/plugins/{name}")
            ready(page)
            looked_at(page, f"{name}-{lang}-{theme}", axe_at)


def looked_at(page: Page, name: str, axe_at: int) -> None:
    """No wider than a telephone's screen, nor than a big one; and on one of them no serious fault.

    Colours are those of a theme and places those of a width: each of both is looked at once.
    """
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        if SHOTS.is_dir():
            page.screenshot(path=SHOTS / f"{name}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
        if width != axe_at:
            continue
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        grave = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert grave == [], (name, width)


SHOTS = Path("/tmp/homed-shots")
"""If this folder is there, pictures go into it."""
