"""core.*: a plugin's own log, address and settings."""

from __future__ import annotations

import logging

import pytest

from homed.errors import ConfigError, InvalidInput, NotFound
from tests.homed.api.fakes import FakeCaller, House


async def test_settings_are_the_plugins_own(house: House) -> None:
    caller = FakeCaller()
    assert await house.api.dispatch(caller, "core.settings_get", {"key": "city"}) == {"value": "Paris"}
    assert await house.api.dispatch(caller, "core.settings_set", {"key": "city", "value": "Rome"}) == {}
    assert house.settings.get("plugin.webui.city") == "Rome"


@pytest.mark.parametrize("key", ["plugin.webui.city", "core.web.password", "../webui.city", "webui.city"])
async def test_no_key_reaches_another_namespace(house: House, key: str) -> None:
    with pytest.raises(NotFound, match=rf"plugin\.shell\.{key}"):
        await house.api.dispatch(FakeCaller("shell"), "core.settings_get", {"key": key})
    with pytest.raises(NotFound):
        await house.api.dispatch(FakeCaller("shell"), "core.settings_set", {"key": key, "value": "x"})


async def test_a_wrong_value_is_refused(house: House) -> None:
    with pytest.raises(ConfigError, match=r"plugin\.webui\.city must be text"):
        await house.api.dispatch(FakeCaller(), "core.settings_set", {"key": "city", "value": 5})


async def test_an_address_is_noted(house: House) -> None:
    caller = FakeCaller()
    await house.api.dispatch(caller, "core.announce", {"kind": "url", "address": "http://localhost:1"})
    assert caller.announced == [("url", "http://localhost:1")]


async def test_a_line_goes_to_the_plugins_log_and_a_warning_to_the_daemons_too(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caller = FakeCaller("shell")
    with caplog.at_level(logging.DEBUG):
        await house.api.dispatch(caller, "core.log", {"level": "info", "message": "quiet"})
        await house.api.dispatch(caller, "core.log", {"level": "warning", "message": "100% odd"})
    assert caller.logged == [("info", "quiet"), ("warning", "100% odd")]
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records if r.name.startswith("plugin")] == [
        ("plugin.shell", "WARNING", "100% odd")
    ]


async def test_an_endless_line_is_cut_and_says_so(house: House) -> None:
    caller = FakeCaller()
    await house.api.dispatch(caller, "core.log", {"message": "x" * 100_000})
    ((_, line),) = caller.logged
    assert len(line) < 9000
    assert line.endswith("(100000 characters)")


async def test_room_in_the_arena_is_asked_for_and_given_back(house: House) -> None:
    caller = FakeCaller("shell")
    assert await house.api.dispatch(caller, "core.arena_alloc", {"len": 3}) == {"off": 3 * 4096}
    assert await house.api.dispatch(caller, "core.arena_free", {"off": 4096}) == {}
    assert caller.freed == [4096]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("core.arena_alloc", {}), ("core.arena_alloc", {"len": 0}), ("core.arena_alloc", {"len": -1}),
        ("core.arena_alloc", {"len": 1.5}), ("core.arena_alloc", {"len": "10"}), ("core.arena_alloc", {"len": True}),
        ("core.arena_alloc", {"len": 1 << 60}), ("core.arena_free", {}), ("core.arena_free", {"off": -1}),
        ("core.arena_free", {"off": None}),
    ],
)  # fmt: skip
async def test_a_size_or_place_that_is_none_is_refused(house: House, method: str, params: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        await house.api.dispatch(FakeCaller("shell"), method, params)
