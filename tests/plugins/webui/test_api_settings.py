"""Settings, the way back and the persona, as REST and as the page shows them."""

from __future__ import annotations

import re

from .client import browsing
from .standin import StandIn, furnished
from .standin_settings import GIVEN

KEY = "core.agent.max_tool_turns"
SECRET = "plugin.mail.password"


def form(body: str, key: str) -> str:
    """The markup of one setting."""
    found = re.search(rf'<form class="setting[^"]*" data-key="{re.escape(key)}".*?</form>', body, re.DOTALL)
    assert found is not None
    return found[0]


async def test_one_is_set_and_its_default_brought_back() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        assert (await browser.post("/api/v1/settings", {"key": KEY, "value": 5})).json["applied"] == "now"
        assert kernel.stored[KEY] == 5
        assert (await browser.ask("DELETE", f"/api/v1/settings/{KEY}")).json["applied"] == "now"
        assert KEY not in kernel.stored
        assert (await browser.ask("DELETE", "/api/v1/settings/core.nothing")).status == 404
        assert (await browser.ask("DELETE", f"/api/v1/settings/{GIVEN}")).status == 409


async def test_several_are_set_together_or_not_at_all() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        changes: dict[str, object] = {KEY: 7, "core.agent.tool_timeout": "5m"}
        assert (await browser.post("/api/v1/settings/change", {"changes": changes})).status == 200
        refused = await browser.post("/api/v1/settings/change", {"changes": {KEY: 8, "core.agent.tool_timeout": 0}})
        assert refused.status == 400
        assert kernel.stored[KEY] == 7
        assert (await browser.post("/api/v1/settings/change", {"changes": {KEY: None}})).status == 200
        assert KEY not in kernel.stored
        assert (await browser.post("/api/v1/settings/change", {"changes": {}})).status == 400


async def test_what_needs_a_restart_says_so_in_the_persons_language() -> None:
    async with browsing(furnished(StandIn())) as browser:
        given = {"key": "plugin.webui.listen", "value": "127.0.0.1:9000"}
        assert (await browser.post("/api/v1/settings", given)).json["note"] == "Takes effect at the next start."
        said = (await browser.post("/api/v1/settings", given, Accept_Language="zh")).json["note"]
        assert said == "下次启动时生效。"
        assert "needs a restart" in form((await browser.get("/settings")).body, "plugin.webui.listen")


async def test_the_field_has_the_bounds_of_its_definition() -> None:
    async with browsing(furnished(StandIn())) as browser:
        shown = form((await browser.get("/settings")).body, KEY)
    assert re.search(r'<input type="number"[^>]* min="1" max="100"', shown)
    assert "1 to 100" in shown


async def test_what_was_changed_is_marked_and_has_a_way_back_to_the_default() -> None:
    kernel = furnished(StandIn())
    kernel.stored[KEY] = 5
    async with browsing(kernel) as browser:
        body = (await browser.get("/settings")).body
    assert re.search(r'<button type="button" class="quiet reset">Default: 10</button>', form(body, KEY))
    assert re.search(r'class="quiet reset" hidden', form(body, "core.agent.protected_events"))


async def test_what_is_given_from_outside_cannot_be_changed_and_says_where_it_stands() -> None:
    async with browsing(furnished(StandIn())) as browser:
        shown = form((await browser.get("/settings")).body, GIVEN)
    assert "given by /data/homed.toml line 3" in shown
    assert shown.count(" disabled") == 2, "the field and its button"


async def test_a_password_goes_in_and_only_that_it_is_set_comes_out() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        assert 'placeholder="not set"' in form((await browser.get("/settings")).body, SECRET)
        await browser.post("/api/v1/settings", {"key": SECRET, "value": "hunter2hunter2"})
        body = (await browser.get("/settings")).body
        assert "hunter2" not in body + (await browser.get("/api/v1/settings")).body
        assert 'placeholder="set"' in form(body, SECRET)
        assert "Remove</button>" in form(body, SECRET)
        assert " value=" not in form(body, SECRET)


async def test_search_finds_by_key_name_and_description_in_every_language() -> None:
    async with browsing(furnished(StandIn())) as browser:
        for language in ("en", "zh"):
            shown = form((await browser.get("/settings", Accept_Language=language)).body, KEY)
            found = re.search(r'data-find="([^"]*)"', shown)
            assert found is not None
            for word in (KEY, "Steps a turn", "without tools", "每轮步数", "不用工具"):
                assert word in found[1], (language, word)


async def test_the_way_back_is_listed_and_taken() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        (found,) = (await browser.get("/api/v1/settings/snapshots")).json["snapshots"]
        assert found["differences"][0]["what"] == "mine.base_url"
        done = await browser.post(f"/api/v1/settings/snapshots/{found['id']}", {})
        assert done.json["notes"] == ["The key of mine is gone: give it again."]
        assert kernel.rolled == [4]
        for wrong in ("5", "x", "0", "-1", "1" * 40):
            assert (await browser.post(f"/api/v1/settings/snapshots/{wrong}", {})).status in (400, 404)
        assert kernel.rolled == [4]


async def test_who_it_is_is_asked_once_and_can_be_put_off() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        assert 'id="first-persona"' in (await browser.get("/")).body
        assert "我该是谁" in (await browser.get("/", Accept_Language="zh")).body
        assert (await browser.post("/api/v1/persona", {"later": True})).json["text"] == ""
        assert 'id="first-persona"' not in (await browser.get("/")).body
        assert (await browser.post("/api/v1/persona", {"preset": "brief"})).json["text"] == "Be brief."
        assert "Be brief.</textarea>" in (await browser.get("/settings")).body
        for wrong in ({}, {"text": "x", "later": True}, {"preset": "a", "text": "b"}):
            assert (await browser.post("/api/v1/persona", wrong)).status == 400


async def test_a_key_that_may_only_chat_sees_no_settings() -> None:
    kernel = furnished(StandIn())
    async with browsing(kernel) as browser:
        key = kernel.admin_keys_add("webui:owner", "phone", ["chat"])["key"]
        for path in ("/api/v1/settings", "/api/v1/settings/snapshots", "/api/v1/persona"):
            assert (await browser.get(path, Authorization=f"Bearer {key}", Cookie="")).status == 403
