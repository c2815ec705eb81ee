"""Settings that a manifest declares."""

from __future__ import annotations

import pytest

from homed.config.definitions import TYPES
from homed.config.values import check
from homed.settings.plugin import definitions_of, full_key, plugin_settings, split_key
from homed.wire.manifest import SETTING_TYPES, Manifest, SettingSpec
from tests.homed.settings.conftest import Opener

MANIFEST = Manifest(
    "weather", "1.0.0", "python -m x",
    settings=(
        SettingSpec("city", "string", "Paris", "Where."),
        SettingSpec("days", "int"),
        SettingSpec("alerts.on", "bool", True),
        SettingSpec("key", "password"),
        SettingSpec("places", "list"),
    ),
)  # fmt: skip


async def test_a_plugin_gets_its_own_values_without_the_prefix(opened: Opener) -> None:
    async with opened() as settings:
        settings.define(definitions_of(MANIFEST))
        await settings.set("plugin.weather.city", "Rome")
        await settings.set("plugin.weather.key", "sk-1")
        assert plugin_settings(settings, MANIFEST) == {
            "city": "Rome", "days": 0, "alerts.on": True, "key": "sk-1", "places": [],
        }  # fmt: skip


def test_a_definition_has_a_name_and_category_for_the_form() -> None:
    city, days, *_ = definitions_of(MANIFEST)
    assert (city.key, city.name, city.category) == ("plugin.weather.city", "city", "weather")
    assert days.default == 0


def test_a_full_key_splits_into_plugin_and_key() -> None:
    assert split_key(full_key("weather", "alerts.on")) == ("weather", "alerts.on")
    assert split_key("core.agent.persona") is None
    assert split_key("plugin.weather") is None


def test_a_manifest_knows_the_types_that_the_registry_knows() -> None:
    assert set(SETTING_TYPES) == set(TYPES)


@pytest.mark.parametrize("type_", SETTING_TYPES)
def test_a_setting_without_a_default_gets_one_that_fits(type_: str) -> None:
    spec = SettingSpec("x", type_, options=("a", "b") if type_ == "select" else ())
    (definition,) = definitions_of(Manifest("weather", "1.0.0", "python -m x", settings=(spec,)))
    assert check(definition, definition.default) == definition.default


def test_a_default_is_kept_in_the_form_of_its_type(caplog: pytest.LogCaptureFixture) -> None:
    """C1: a plugin's mistake in its manifest keeps nothing else from starting."""
    settings = (SettingSpec("every", "duration", "5m"), SettingSpec("until", "duration", "late"))
    every, until = definitions_of(Manifest("weather", "1.0.0", "python -m x", settings=settings))
    assert (every.default, until.default) == (300, 0)
    assert "plugin.weather.until must be a duration" in caplog.text
