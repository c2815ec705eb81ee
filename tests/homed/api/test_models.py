"""admin.models_*: sources by what a person says of them, the presets, the lists; never a key."""

from __future__ import annotations

from typing import Any

import pytest

from homed.errors import InvalidInput
from homed.providers.checking import checked
from tests.homed.api.fakes import FakeCaller, House


async def admin(house: House, method: str, **params: object) -> Any:
    return await house.api.dispatch(FakeCaller(), f"admin.{method}", {"peer": "webui:owner", **params})


async def test_models_are_added_used_tested_and_removed_without_showing_the_key(house: House) -> None:
    added = await admin(
        house, "models_add", name="a", base_url="http://x/v1", model="m", api_key="sk-1", context_window=8192
    )
    assert added == {
        "name": "a", "base_url": "http://x/v1", "model": "m", "adapter": "openai", "context_window": 8192,
        "learnt_window": 0, "max_concurrent": 8, "priority": 0, "tools": True, "vision": False, "audio": False,
        "options": {}, "kind": "remote", "has_key": True, "current": False,
    }  # fmt: skip
    await admin(house, "models_use", name="a")
    (listed,) = (await admin(house, "models_list"))["sources"]
    assert listed == {**added, "current": True}
    await admin(house, "models_add", name="a", base_url="http://y/v1", model="m")
    assert house.sources.keys == {"a": "sk-1"}
    assert (await admin(house, "models_test", name="a"))["ok"] is True
    await admin(house, "models_remove", name="a")
    assert await admin(house, "models_list") == {"sources": []}


async def test_a_file_is_a_source_of_its_own_kind_with_a_smaller_window(house: House) -> None:
    added = await admin(house, "models_add", name="mine", gguf="/models/small one.gguf", tools=False)
    assert added == {
        "name": "mine", "base_url": "", "model": "small one", "adapter": "local", "context_window": 4096,
        "learnt_window": 0, "max_concurrent": 1, "priority": 0, "tools": False, "vision": False, "audio": False,
        "options": {}, "kind": "gguf", "path": "/models/small one.gguf", "has_key": False, "current": False,
    }  # fmt: skip


async def test_eyes_and_the_usual_window_of_a_remote_source(house: House) -> None:
    added = await admin(house, "models_add", name="a", base_url="http://x/v1", model="m", vision=True)
    assert (added["vision"], added["context_window"]) == (True, 32_768)


async def test_a_well_known_name_and_a_key_are_enough(house: House) -> None:
    presets = {one["name"]: one for one in (await admin(house, "models_presets"))["presets"]}
    assert set(presets) == {"deepseek", "openai", "anthropic", "gemini", "mistral", "groq", "github", "ollama"}
    for name, preset in presets.items():
        added = await admin(house, "models_add", name=name, api_key=f"key-of-{name}")
        same = ("base_url", "model", "adapter", "context_window", "vision", "audio", "options")
        assert {key: added[key] for key in same} == {key: preset[key] for key in same}
        assert checked(house.sources.sources[name]) == house.sources.sources[name]
        assert "key-of" not in str(added)


async def test_a_preset_under_another_name_with_another_model_and_quirk(house: House) -> None:
    added = await admin(
        house, "models_add", name="work", preset="mistral", model="codestral-latest", options={"stream_usage": None,
                                                                                                "result_names": True},
    )  # fmt: skip
    assert (added["name"], added["model"], added["base_url"]) == (
        "work",
        "codestral-latest",
        "https://api.mistral.ai/v1",
    )
    assert added["options"]["call_ids"] == "nine"
    assert added["options"]["result_names"] is True
    assert "stream_usage" not in added["options"]
    with pytest.raises(InvalidInput, match="no preset 'nowhere'") as caught:
        await admin(house, "models_add", name="x", preset="nowhere")
    assert "deepseek" in caught.value.hint


async def test_what_is_not_said_of_a_source_there_is_stays_as_it_was(house: House) -> None:
    await admin(house, "models_add", name="deepseek", context_window=9000, priority=3, options={"reasoning": "strip"})
    added = await admin(house, "models_add", name="deepseek", model="deepseek-reasoner")
    assert (added["context_window"], added["priority"], added["options"]["reasoning"]) == (9000, 3, "strip")
    moved = await admin(house, "models_add", name="deepseek", base_url="http://mine/v1", model="m")
    assert (moved["context_window"], moved["priority"], moved["options"]) == (32_768, 0, {})


async def test_a_preset_by_another_wire_or_address_has_none_of_its_quirks(house: House) -> None:
    compatible = await admin(house, "models_add", name="a", preset="deepseek", adapter="anthropic")
    assert compatible["options"] == {}
    script = await admin(house, "models_add", name="b", preset="mistral", adapter="lua:openai")
    assert script["options"]["call_ids"] == "nine"
    mirror = await admin(house, "models_add", name="c", preset="groq", base_url="http://mirror/v1")
    assert (mirror["base_url"], mirror["options"]) == ("http://mirror/v1", {})


async def test_headers_in_options_are_shown_as_masks(house: House) -> None:
    added = await admin(
        house, "models_add", name="a", base_url="http://x/v1", model="m", options={"headers": {"X-Key": "k3y-in-there"}}
    )
    assert "k3y" not in str(added) + str(await admin(house, "models_list"))


async def test_the_window_that_was_learnt_is_told(house: House) -> None:
    await admin(house, "models_add", name="a", base_url="http://x/v1", model="m")
    house.sources.windows["a"] = 8192
    assert (await admin(house, "models_list"))["sources"][0]["learnt_window"] == 8192


async def test_the_models_of_a_source_there_is_and_of_one_to_come(house: House) -> None:
    await admin(house, "models_add", name="a", base_url="http://x/v1", model="m", adapter="ollama")
    listed = await admin(house, "models_available", name="a")
    assert listed == {"models": [{"id": "m", "title": "Model", "context_window": 8192, "vision": True, "tools": None}]}
    await admin(house, "models_available", name="anthropic", api_key="k")
    await admin(house, "models_available", name="new", base_url="http://y/v1", adapter="ollama")
    asked = [(source.base_url, source.adapter, key) for source, key in house.sources.asked]
    assert asked == [
        ("http://x/v1", "ollama", None), ("https://api.anthropic.com", "anthropic", "k"),
        ("http://y/v1", "ollama", None),
    ]  # fmt: skip
