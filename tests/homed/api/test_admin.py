"""admin.*: status, plugins, settings, links; never a secret."""

from __future__ import annotations

from typing import Any

import pytest

from homed.config.definitions import (
    LLM_CURRENT,
    LLM_SOURCES,
    MAX_TOOL_TURNS,
    SPEND_PRICES,
    SPEND_RATES,
    WEB_PASSWORD,
)
from homed.errors import ConfigError, Denied, InvalidInput, NotFound, Unavailable
from tests.homed.api.fakes import FakeCaller, House


async def admin(house: House, method: str, **params: object) -> Any:
    return await house.api.dispatch(FakeCaller(), f"admin.{method}", {"peer": "webui:owner", **params})


async def test_status_is_the_status_providers(house: House) -> None:
    assert await admin(house, "status") == {"version": "0"}


async def test_plugins_are_shown_started_and_stopped(house: House) -> None:
    (shown,) = (await admin(house, "plugins"))["plugins"]
    assert (shown["name"], shown["state"], shown["tools"]) == ("shell", "ready", ["cmd_run"])
    assert (await admin(house, "plugin_stop", name="shell"))["state"] == "stopped"
    assert (await admin(house, "plugin_start", name="shell"))["state"] == "ready"
    with pytest.raises(NotFound):
        await admin(house, "plugin_start", name="shall")


async def test_logs_are_the_last_lines(house: House) -> None:
    assert await admin(house, "plugin_logs", name="shell", limit=1) == {"lines": ["two"]}


async def test_a_setting_is_shown_and_set(house: House) -> None:
    assert await admin(house, "config_set", key=MAX_TOOL_TURNS, value="6") == {
        "key": MAX_TOOL_TURNS, "applied": "now", "note": "",
    }  # fmt: skip
    shown = await admin(house, "config_get", key=MAX_TOOL_TURNS)
    assert (shown["value"], shown["source"], shown["default"], shown["masked"]) == (6, "stored", 10, False)
    with pytest.raises(ConfigError):
        await admin(house, "config_set", key=MAX_TOOL_TURNS, value=0)


async def test_headers_of_model_sources_are_masked_since_they_may_hold_keys(house: House) -> None:
    source = {"name": "a", "base_url": "https://x/v1", "model": "m"}
    odd = [{**source, "options": {"headers": held}} for held in ({"X-Api-Key": "k3y-in-a-header"}, "k3y-in-a-header")]
    await house.settings.set(LLM_SOURCES, [source, *odd, "no table"])
    shown = await admin(house, "config_get", key=LLM_SOURCES)
    assert "k3y" not in str(shown)
    assert shown["masked"]
    assert shown["value"][0] == source
    assert shown["value"][1]["options"]["headers"].keys() == {"X-Api-Key"}
    assert "k3y" not in str(await admin(house, "config_list", prefix="core.llm"))


async def test_the_sources_are_not_set_as_one_value_which_could_lose_them_all(house: House) -> None:
    with pytest.raises(InvalidInput, match="not set as one value") as caught:
        await admin(house, "config_set", key=LLM_SOURCES, value='[1, {"name": 5}]')
    assert "homed models add" in caught.value.hint
    assert house.settings.get(LLM_SOURCES) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [(SPEND_PRICES, '[{"model": "x"}]'), (SPEND_PRICES, [3]), (SPEND_RATES, [{"currency": "yuan", "is": 1}])],
)
async def test_a_price_that_would_count_for_nothing_is_refused_by_every_way(
    house: House, key: str, value: object
) -> None:
    with pytest.raises(ConfigError, match=r"1 of core\.spend"):
        await admin(house, "config_set", key=key, value=value)
    with pytest.raises(ConfigError, match=r"1 of core\.spend"):
        await admin(house, "config_change", changes={key: value})
    await admin(house, "config_change", changes={key: None})


async def test_lists_of_settings_begin_with_the_prefix(house: House) -> None:
    shown = await admin(house, "config_list", prefix="core.log.")
    found = {one["key"]: one for one in shown["settings"]}
    assert found.keys() == {"core.log.level", "core.log.file_bytes", "core.log.files_kept"}
    assert found["core.log.level"]["options"] == ["debug", "info", "warning", "error"]
    assert (found["core.log.files_kept"]["minimum"], found["core.log.files_kept"]["maximum"]) == (1, 100)


async def test_a_password_is_never_shown_nor_its_hash(house: House) -> None:
    """D6"""
    await admin(house, "config_set", key=WEB_PASSWORD, value="open sesame")
    shown = str(await admin(house, "config_get", key=WEB_PASSWORD)) + str(await admin(house, "config_list"))
    assert "sesame" not in shown
    assert "scrypt" not in shown


async def test_a_new_password_logs_everybody_out_but_the_first_one_does_not(house: House) -> None:
    secret, _ = await house.logins.make_link()
    session = await house.logins.redeem(secret)
    await admin(house, "config_set", key=WEB_PASSWORD, value="open sesame")
    await house.logins.check(session.secret)
    assert "logged out" in (await admin(house, "config_set", key=WEB_PASSWORD, value="open barley"))["note"]
    with pytest.raises(Denied):
        await house.logins.check(session.secret)


async def test_an_empty_password_is_said_to_be_removed(house: House) -> None:
    assert (await admin(house, "config_set", key=WEB_PASSWORD, value="open sesame"))["note"] == ""
    note = (await admin(house, "config_set", key=WEB_PASSWORD, value=""))["note"]
    assert note == "It is removed: there is none now. Everybody was logged out."
    assert not house.logins.password_set


@pytest.mark.parametrize("name", ["b", "a\x1b[2J", ["a"], 5])
async def test_only_a_source_there_is_can_be_the_current_one(house: House, name: object) -> None:
    await admin(house, "models_add", name="a", base_url="http://x/v1", model="m")
    with pytest.raises(NotFound, match="no model source"):
        await admin(house, "config_set", key=LLM_CURRENT, value=name)
    assert house.settings.get(LLM_CURRENT) == ""
    await admin(house, "config_set", key=LLM_CURRENT, value="a")
    await admin(house, "config_set", key=LLM_CURRENT, value="")


async def test_a_link_carries_its_secret_in_the_fragment(house: House) -> None:
    """D5: no secret where a server or a log could see it."""
    link = await admin(house, "link")
    assert link["url"] == f"http://localhost:8080/login#{link['secret']}"
    await house.logins.redeem(link["secret"])


async def test_without_a_page_there_is_no_link(house: House) -> None:
    house.host.addresses.clear()
    with pytest.raises(Unavailable, match="not up") as caught:
        await admin(house, "link")
    assert "homed plugin start webui" in caught.value.hint
