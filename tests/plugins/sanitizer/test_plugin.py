"""The stage handlers through the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.errors import ConfigError
from homed.sdk.testing import harness
from homed.wire.manifest import load_manifest
from plugins.sanitizer.plugin import plugin

TEXT, CLEAN = "mail a@b.cn, 绝密", "mail [email], [word]"
SETTINGS = {"words": ["绝密"]}


@pytest.mark.parametrize(
    ("stage", "field"),
    [
        ("on_input", "raw_message"), ("post_action", "llm_text"), ("post_action", "reasoning"),
        ("before_output", "final_text"),
    ],
)  # fmt: skip
async def test_each_stage_answers_only_the_fields_it_changed(stage: str, field: str) -> None:
    async with harness(plugin, settings=SETTINGS) as kernel:
        changes = await kernel.stage(stage, {field: TEXT, "user_id": "a@b.cn", "tool_calls": [TEXT], "other": None})
        assert changes == {field: CLEAN}
        assert await kernel.stage(stage, {field: CLEAN}) == {}
        assert await kernel.stage(stage, {field: None}) == {}
        assert await kernel.stage(stage, {}) == {}


async def test_a_changed_setting_holds_for_the_next_message() -> None:
    async with harness(plugin) as kernel:
        assert await kernel.stage("on_input", {"raw_message": "绝密"}) == {}
        await kernel.set("words", ["绝密"])
        assert await kernel.stage("on_input", {"raw_message": "绝密"}) == {"raw_message": "[word]"}


async def test_a_setting_that_turns_wrong_fails_the_stage_which_is_then_closed() -> None:
    async with harness(plugin) as kernel:
        await kernel.set("kinds", ["face"])
        with pytest.raises(ConfigError, match="no kind 'face'"):
            await kernel.stage("on_input", {"raw_message": "x"})


@pytest.mark.parametrize(
    "settings",
    [
        {"kinds": ["face"]},
        {"kinds": "email"},
        {"words": [1]},
        {"words": [""]},
        {"words": ["a]"]},
        {"words": ["x"] * 201},
    ],
)
async def test_wrong_settings_stop_the_plugin_and_say_so(tmp_path: Path, settings: dict[str, object]) -> None:
    async with harness(plugin, start=False) as kernel:
        with pytest.raises(ConfigError, match=r"plugin\.sanitizer\."):
            await kernel.start(settings, tmp_path)


def test_it_is_off_until_started_and_every_stage_fails_closed() -> None:
    manifest = load_manifest(plugin.folder)
    assert manifest.enabled is False
    assert [(stage.stage, stage.on_failure) for stage in manifest.stages] == [
        ("on_input", "closed"), ("post_action", "closed"), ("before_output", "closed"),
    ]  # fmt: skip
