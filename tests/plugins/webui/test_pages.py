"""The pages as the server renders them."""

from __future__ import annotations

import re

import pytest

from homed.errors import Unavailable
from plugins.webui.pages import daemon_of

from .client import browsing
from .standin import StandIn, furnished


async def test_without_a_model_the_page_says_what_to_do() -> None:
    async with browsing() as browser:
        body = (await browser.get("/")).body
        assert "One thing is missing: a model" in body
        assert 'name="api_key"' in body
        assert "DeepSeek" in body


async def test_it_has_one_name_and_suggests_what_its_plugins_can_do() -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get("/")).body
        assert body.count("Hologram") == body.count("HologramAgent") >= 2
        assert "Start a file of notes" in body
        assert "home folder" not in body, "files reads its own folders only"


async def test_with_a_model_it_says_which() -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get("/")).body
        assert "What shall we do?" in body
        assert "deepseek · deepseek-chat" in body


@pytest.mark.parametrize("path", ["/", "/plugins", "/models", "/settings", "/health", "/login", "/t/none"])
@pytest.mark.parametrize(("accept", "lang"), [("zh-CN,en;q=0.5", "zh-Hans"), ("en", "en")])
async def test_every_page_speaks_the_persons_language(path: str, accept: str, lang: str) -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get(path, Accept_Language=accept)).body
        assert f'<html lang="{lang}"' in body


async def test_a_chosen_theme_is_there_from_the_first_paint_and_nothing_else_is_taken() -> None:
    async with browsing() as browser:
        assert '<html lang="en" data-theme="dark">' in (await browser.get("/", Cookie="theme=dark")).body
        assert "data-theme" not in (await browser.get("/", Cookie='theme="><script>')).body


async def test_a_conversation_that_is_not_theirs_is_a_page_that_says_so() -> None:
    async with browsing() as browser:
        answer = await browser.get("/t/none")
        assert answer.status == 404
        assert "not yours to see" in answer.body


async def test_plugins_show_state_reason_and_crashes() -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get("/plugins")).body
        assert "4 crashes in 5 minutes" in body
        assert "Crash reports (4)" in body
        assert "signal 9" in body
        assert "KeyError: &#39;x&#39;" in body


async def test_a_duration_is_text_that_takes_5m_and_a_choice_offers_its_options() -> None:
    async with browsing(furnished(StandIn())) as browser:
        body = (await browser.get("/settings")).body
        assert re.search(r'<input type="text" id="core.agent.tool_timeout"[^>]* value="1m"', body)
        assert "<option selected>info</option>" in body


async def test_what_others_named_is_text_on_every_page() -> None:
    """XSS: titles, plugins and their reports, sources, settings."""
    bad = "<img src=x onerror=alert(1)>"
    kernel = furnished(StandIn())
    kernel.open_talk(bad)
    for plugin in kernel.plugins:
        plugin |= {"description": bad, "reason": bad, "tools": [bad], "version": bad, "state": bad}
    kernel.sources[0] |= {"name": bad, "model": bad, "base_url": bad, "current": True}
    async with browsing(kernel) as browser:
        for path in ("/", "/plugins", "/models", "/settings"):
            body = (await browser.get(path)).body
            assert "&lt;img src=x" in body
            assert "<img src=x" not in body


async def test_the_chat_is_shown_though_the_daemons_status_is_not_to_be_had() -> None:
    async with browsing(furnished(StandIn())) as browser:
        browser.kernel.fail["admin.status"] = Unavailable("Not now.")
        assert (await browser.get("/")).status == 200


async def test_without_a_model_the_page_of_models_says_so_and_what_to_do() -> None:
    async with browsing() as browser:
        body = (await browser.get("/models")).body
        assert "No model yet, so nothing can be answered." in body
        assert "no key is needed" in body
        await browser.post("/api/v1/models", {"name": "a", "base_url": "http://x/v1", "model": "m", "tools": False})
        body = (await browser.get("/models")).body
        assert "No model yet" not in body.partition("<main")[2]
        assert "without tools" in body


async def test_a_plugin_that_was_stopped_on_purpose_is_no_alarm() -> None:
    async with browsing(furnished(StandIn())) as browser:
        (timer,) = (one for one in browser.kernel.plugins if one["name"] == "timer")
        timer["reason"] = "needs attention: 4 crashes"
        assert "state-attention" in (await browser.get("/plugins")).body
        timer["reason"] = "stopped by a person"
        body = (await browser.get("/plugins")).body
        assert "You stopped it." in body
        assert "state-attention" not in body
        assert "state-stopped" not in body


async def test_the_model_is_named_for_what_it_is() -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert "Built-in model" not in (await browser.get("/")).body
        source = next(one for one in browser.kernel.sources if one["current"])
        source |= {"kind": "embedded", "model": "SmolLM2-135M", "state": "loading"}
        body = (await browser.get("/")).body
        for said in (
            "Built-in model · SmolLM2-135M",
            "small and slow",
            "loading…",
            "paste a key",
            "Hello! Who are you",
        ):
            assert said in body
        source |= {"kind": "gguf", "state": "failed"}
        body = (await browser.get("/")).body
        assert "On this machine · SmolLM2-135M" in body
        assert "does not work" in body
        assert "small and slow" not in body


async def test_a_store_that_is_read_only_is_said_on_every_page() -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert "read-only" not in (await browser.get("/")).body
        browser.kernel.storage |= {"state": "read_only", "reason": "No <b>room</b>.", "kept": "/kept/a.db"}
        for path in ("/", "/plugins", "/models", "/settings", "/health"):
            body = (await browser.get(path)).body
            assert "homed is read-only" in body
            assert "No &lt;b&gt;room&lt;/b&gt;." in body
            assert "/kept/a.db" in body


def test_a_status_without_the_newer_fields_is_shown_all_the_same() -> None:
    shown = daemon_of({"model": {"configured": False}, "storage": None})
    assert shown["model"]["kind"] == shown["model"]["note"] == ""
    assert shown["model"]["configured"] is False
    assert shown["storage"]["state"] == "ok"
