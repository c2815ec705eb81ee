"""Plugins, models and settings as REST."""

from __future__ import annotations

import pytest

from .client import browsing
from .standin import StandIn, furnished

SOURCE = {"name": "mine", "base_url": "https://a.example/v1", "model": "m"}


async def test_a_key_goes_in_and_never_comes_out() -> None:
    """D5, D6"""
    async with browsing() as browser:
        answer = await browser.post("/api/v1/models", {**SOURCE, "api_key": "sk-very-secret", "context_window": 4096})
        assert answer.status == 200
        assert browser.kernel.keys == {"mine": "sk-very-secret"}
        for path in ("/api/v1/models", "/api/v1/status", "/api/v1/settings", "/models", "/settings", "/"):
            assert "sk-very-secret" not in (await browser.get(path)).body
        assert "sk-very-secret" not in answer.body


async def test_an_empty_key_keeps_the_stored_one() -> None:
    async with browsing() as browser:
        await browser.post("/api/v1/models", {**SOURCE, "api_key": ""})
        assert "api_key" not in next(given for name, given in browser.kernel.calls if name == "admin.models_add")


@pytest.mark.parametrize("given", [{}, {"tools": True}, {"tools": False}])
async def test_whether_tools_are_offered_is_passed_on_as_it_was_said(given: dict[str, object]) -> None:
    async with browsing() as browser:
        assert (await browser.post("/api/v1/models", {**SOURCE, **given})).status == 200
        (added,) = [params for name, params in browser.kernel.calls if name == "admin.models_add"]
        assert {key: value for key, value in added.items() if key == "tools"} == given


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"model": " "},
        {"base_url": "ftp://x"},
        {"base_url": "a.example"},
        {"context_window": "many"},
        {"context_window": 5},
        {"context_window": True},
        {"api_key": 5},
        {"tools": "no"},
        {"tools": 0},
    ],
)
async def test_a_source_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    async with browsing() as browser:
        answer = await browser.post("/api/v1/models", {**SOURCE, **wrong})
        assert answer.status == 400
        assert f"'{next(iter(wrong))}'" in answer.json["error"]["message"]


async def test_a_source_is_used_tested_and_removed() -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert (await browser.post("/api/v1/models/ollama/use")).status == 200
        assert [one["name"] for one in browser.kernel.sources if one["current"]] == ["ollama"]
        assert (await browser.post("/api/v1/models/ollama/test")).json["ok"] is True
        assert (await browser.post("/api/v1/models/ollama/remove")).status == 200
        assert [one["name"] for one in browser.kernel.sources] == ["deepseek"]
        assert (await browser.post("/api/v1/models/none/use")).status == 404
        assert (await browser.post("/api/v1/models/deepseek/explode")).status == 404


async def test_a_plugin_is_started_and_stopped_and_shows_its_log() -> None:
    async with browsing(furnished(StandIn())) as browser:
        assert (await browser.post("/api/v1/plugins/timer/start")).json["state"] == "ready"
        assert (await browser.post("/api/v1/plugins/timer/stop")).json["state"] == "stopped"
        assert "timer: started" in (await browser.get("/api/v1/plugins/timer/logs?limit=10")).json["lines"]
        assert (await browser.post("/api/v1/plugins/none/start")).status == 404
        assert (await browser.post("/api/v1/plugins/timer/explode")).status == 404
        assert (await browser.post("/api/v1/plugins/timer/logs")).status == 405


async def test_settings_are_small_and_set_with_their_reason() -> None:
    """E39: no conversation among the settings."""
    async with browsing(furnished(StandIn())) as browser:
        assert len((await browser.get("/api/v1/settings")).body) < 100_000
        key = "core.agent.max_tool_turns"
        assert (await browser.post("/api/v1/settings", {"key": key, "value": 5})).json["applied"] == "now"
        refused = await browser.post("/api/v1/settings", {"key": key, "value": "x"})
        assert refused.status == 400
        assert key in refused.json["error"]["message"]
        assert (await browser.post("/api/v1/settings", {"key": key})).status == 400
        assert (await browser.post("/api/v1/settings", {"value": 1})).status == 400
