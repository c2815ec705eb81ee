"""The registry: typed, layered, durable; passwords never shown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import pytest
import trio
import trio.testing

from homed.config.definitions import (
    CORE,
    LLM_SOURCES,
    LOG_LEVEL,
    MAX_TOOL_TURNS,
    PERSONA,
    TOOL_TIMEOUT,
    WEB_PASSWORD,
    Definition,
)
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import ConfigError, Conflict, NotFound, TimedOut
from homed.identity.passwords import verify_password
from homed.settings.registry import Settings, open_settings
from homed.settings.views import MASK, Applied
from homed.store.db import open_store
from homed.store.rows import Tx
from tests.homed.settings.conftest import Opener

T = TypeVar("T")

KEY = Definition("plugin.weather.key", "password", "", "The service's key.")
CITY = Definition("plugin.weather.city", "string", "Paris", "Where.", restart=True)


def content(folder: Path) -> bytes:
    """Every byte on disk."""
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def test_the_default_holds_until_something_is_stored_and_that_lasts(opened: Opener) -> None:
    async with opened() as settings:
        assert (settings.int(MAX_TOOL_TURNS), settings.view(MAX_TOOL_TURNS).source) == (10, "default")
        assert await settings.set(MAX_TOOL_TURNS, 5) is Applied.NOW
        assert settings.int(MAX_TOOL_TURNS) == 5
    async with opened() as settings:
        assert (settings.int(MAX_TOOL_TURNS), settings.view(MAX_TOOL_TURNS).source) == (5, "stored")


@pytest.mark.parametrize("source", ["file", "env", "flag"])
async def test_what_is_given_from_outside_beats_what_is_stored(opened: Opener, source: str) -> None:
    async with opened() as settings:
        await settings.set(MAX_TOOL_TURNS, 5)
    async with opened(Override(MAX_TOOL_TURNS, "7", source, "somewhere", text=True)) as settings:
        assert (settings.int(MAX_TOOL_TURNS), settings.view(MAX_TOOL_TURNS).source) == (7, source)
        with pytest.raises(Conflict, match="given by somewhere"):
            await settings.set(MAX_TOOL_TURNS, 6)


async def test_text_is_read_as_the_type_wants(opened: Opener) -> None:
    async with opened() as settings:
        await settings.set(MAX_TOOL_TURNS, "6")
        await settings.set(TOOL_TIMEOUT, "1m30s")
        await settings.set(LLM_SOURCES, '[{"name": "a"}]')
        await settings.set(PERSONA, "12")
        assert settings.int(MAX_TOOL_TURNS) == 6
        assert settings.float(TOOL_TIMEOUT) == 90.0
        assert settings.get(LLM_SOURCES) == [{"name": "a"}]
        assert settings.str(PERSONA) == "12"


async def test_a_wrong_value_is_refused_and_changes_nothing(opened: Opener) -> None:
    async with opened() as settings:
        with pytest.raises(ConfigError, match=MAX_TOOL_TURNS):
            await settings.set(MAX_TOOL_TURNS, "many")
        assert settings.int(MAX_TOOL_TURNS) == 10


async def test_an_unknown_key_is_refused_with_the_nearest(opened: Opener) -> None:
    async with opened() as settings:
        for use in (settings.get, settings.view, settings.int):
            with pytest.raises(NotFound) as caught:
                use("core.agent.max_tool_turn")
            assert MAX_TOOL_TURNS in caught.value.hint
        with pytest.raises(NotFound):
            await settings.set("core.nothing", 1)


async def test_reading_with_the_wrong_type_is_a_defect_that_shows(opened: Opener) -> None:
    async with opened() as settings:
        with pytest.raises(TypeError, match=PERSONA):
            settings.int(PERSONA)
        with pytest.raises(TypeError, match=MAX_TOOL_TURNS):
            settings.bool(MAX_TOOL_TURNS)
        with pytest.raises(TypeError):
            settings.str(MAX_TOOL_TURNS)
        with pytest.raises(TypeError):
            settings.float(PERSONA)


async def test_large_whole_numbers_come_back_as_they_were(opened: Opener, tmp_path: Path) -> None:
    """E40"""
    async with opened() as settings:
        await settings.set(LLM_SOURCES, [{"id": 2190000000.0}])
    async with open_store(tmp_path / "homed.db") as store:
        assert (
            await store.read(lambda tx: tx.value("SELECT value FROM settings WHERE key = ?", (LLM_SOURCES,)))
            == '[{"id":2190000000}]'
        )


async def test_the_web_password_is_stored_as_a_hash_alone(opened: Opener, tmp_path: Path) -> None:
    async with opened() as settings:
        await settings.set(WEB_PASSWORD, "open sesame")
        stored = settings.str(WEB_PASSWORD)
        assert verify_password("open sesame", stored)
        assert settings.view(WEB_PASSWORD).value == MASK
        await settings.set(PERSONA, "x")
    assert b"open sesame" not in content(tmp_path)
    async with opened() as settings:
        assert settings.str(WEB_PASSWORD) == stored
        await settings.set(WEB_PASSWORD, "")
        assert settings.view(WEB_PASSWORD).value == ""


async def test_a_password_from_outside_is_hashed_in_memory(opened: Opener) -> None:
    async with opened(Override(WEB_PASSWORD, "open sesame", "env", "HOMED__…", text=True)) as settings:
        assert verify_password("open sesame", settings.str(WEB_PASSWORD))
        assert settings.view(WEB_PASSWORD).value == MASK


async def test_a_short_password_is_refused_without_repeating_it(opened: Opener) -> None:
    async with opened() as settings:
        with pytest.raises(ConfigError, match="at least 8") as caught:
            await settings.set(WEB_PASSWORD, "pw-1234")
        assert "pw-1234" not in str(caught.value)


async def test_another_password_goes_to_the_secrets_file_and_is_masked(opened: Opener, tmp_path: Path) -> None:
    """D6: no key in the database, none in a view."""
    async with opened() as settings:
        settings.define([KEY])
        await settings.set(KEY.key, "sk-weather")
        assert settings.str(KEY.key) == "sk-weather"
        assert (settings.view(KEY.key).value, settings.view(KEY.key).masked) == (MASK, True)
        assert settings.view(KEY.key).source == "stored"
    async with open_store(tmp_path / "homed.db") as store:
        assert await store.read(lambda tx: tx.all("SELECT * FROM settings WHERE key = ?", (KEY.key,))) == []
    async with opened() as settings:
        settings.define([KEY])
        assert settings.str(KEY.key) == "sk-weather"
        await settings.set(KEY.key, "")
        assert settings.view(KEY.key).source == "default"


async def test_lists_are_by_key_and_leave_out_what_has_an_editor_of_its_own(opened: Opener) -> None:
    async with opened() as settings:
        keys = [view.key for view in settings.list_("core.")]
        assert keys == sorted(keys)
        assert MAX_TOOL_TURNS in keys
        assert not {LLM_SOURCES, WEB_PASSWORD} & set(keys)
        assert WEB_PASSWORD in [view.key for view in settings.list_("core.web", hidden=True)]


async def test_a_change_reaches_watchers_once_it_is_durable(opened: Opener) -> None:
    async with opened() as settings:
        with settings.watch("core.agent.") as watch:
            await settings.set(LOG_LEVEL, "debug")
            await settings.set(MAX_TOOL_TURNS, 3)
            assert await watch.__anext__() == (MAX_TOOL_TURNS, 3)
        await settings.set(MAX_TOOL_TURNS, 4)
        with trio.move_on_after(0.01) as scope:
            await watch.__anext__()
        assert scope.cancelled_caught


class SlowStore:
    """Commits when released, or when the caller gives up, as a real one may."""

    def __init__(self) -> None:
        self.begun, self.release, self.committed = trio.Event(), trio.Event(), False

    async def write(self, fn: Callable[[Tx], T]) -> T:
        self.begun.set()
        try:
            await self.release.wait()
        finally:
            self.committed = True
        return cast(T, None)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        raise AssertionError("nothing is read here")

    async def empty_log(self) -> bool:
        raise AssertionError("nothing is deleted here")


async def test_a_setter_cancelled_once_the_commit_has_begun_is_in_memory_too(tmp_path: Path) -> None:
    store = SlowStore()
    settings = Settings(store, Secrets(tmp_path / "secrets.json"), lambda: 0.0)
    settings.define(CORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(settings.set, MAX_TOOL_TURNS, 3)
        await store.begun.wait()
        nursery.cancel_scope.cancel()
        store.release.set()
    assert store.committed
    assert settings.int(MAX_TOOL_TURNS) == 3


async def test_a_disk_that_hangs_is_told_and_not_waited_for_for_ever(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    settings = Settings(SlowStore(), Secrets(tmp_path / "secrets.json"), lambda: 0.0)
    settings.define(CORE)
    with pytest.raises(TimedOut, match="may still be stored"):
        await settings.set(MAX_TOOL_TURNS, 3)


async def test_a_setter_cancelled_in_the_middle_leaves_memory_and_database_agreeing(opened: Opener) -> None:
    async with opened() as settings:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settings.set, MAX_TOOL_TURNS, 3)
            await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        in_memory = settings.int(MAX_TOOL_TURNS)
    async with opened() as settings:
        assert settings.int(MAX_TOOL_TURNS) == in_memory


async def test_many_setters_of_one_key_end_with_the_last(opened: Opener) -> None:
    async with opened() as settings:
        async with trio.open_nursery() as nursery:
            for number in range(1, 30):
                nursery.start_soon(settings.set, MAX_TOOL_TURNS, number)
        in_memory = settings.int(MAX_TOOL_TURNS)
    async with opened() as settings:
        assert settings.int(MAX_TOOL_TURNS) == in_memory


async def test_a_plugins_value_from_outside_is_checked_when_it_is_defined(opened: Opener) -> None:
    wrong = Override("plugin.weather.city", 5, "file", "homed.toml line 9")
    async with opened(wrong) as settings:
        with pytest.raises(ConfigError, match=r"homed.toml line 9: plugin.weather.city must be text"):
            settings.define([CITY])
        with pytest.raises(NotFound):
            settings.get(CITY.key)


async def test_what_nothing_defines_is_told_with_its_place(opened: Opener) -> None:
    typo = Override("plugin.weather.citty", "Rome", "file", "homed.toml line 2")
    async with opened(typo) as settings:
        settings.define([CITY])
        (told,) = settings.unclaimed()
    assert "homed.toml line 2" in told
    assert "plugin.weather.city?" in told


async def test_a_change_that_waits_for_a_restart_says_so(opened: Opener) -> None:
    async with opened() as settings:
        settings.define([CITY])
        assert await settings.set(CITY.key, "Rome") is Applied.RESTART


async def test_a_stored_value_that_no_longer_fits_is_ignored_and_logged(
    opened: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        rows = [(MAX_TOOL_TURNS, '"many"', 0.0), (TOOL_TIMEOUT, "{broken", 0.0)]
        await store.write(lambda tx: tx.many("INSERT INTO settings VALUES (?, ?, ?)", rows))
    with caplog.at_level(logging.WARNING):
        async with opened() as settings:
            assert settings.int(MAX_TOOL_TURNS) == 10
            assert settings.float(TOOL_TIMEOUT) == 60
    assert MAX_TOOL_TURNS in caplog.text
    assert TOOL_TIMEOUT in caplog.text


class TestSeeding:
    """E37: an explicit marker a key; fresh, old and half-initialised databases."""

    async def test_a_fresh_database_gets_all(self, opened: Opener) -> None:
        async with opened() as settings:
            assert await settings.seed({PERSONA: "kind", MAX_TOOL_TURNS: 6}) == [PERSONA, MAX_TOOL_TURNS]
            assert settings.str(PERSONA) == "kind"

    async def test_an_old_one_keeps_what_it_holds_though_it_has_no_marker(self, opened: Opener) -> None:
        async with opened() as settings:
            await settings.set(PERSONA, "mine")
        async with opened() as settings:
            assert await settings.seed({PERSONA: "kind"}) == []
            assert settings.str(PERSONA) == "mine"

    async def test_a_half_initialised_one_gets_only_what_is_missing(self, opened: Opener) -> None:
        async with opened() as settings:
            await settings.seed({PERSONA: "kind"})
            await settings.set(PERSONA, "")
        async with opened() as settings:
            assert await settings.seed({PERSONA: "kind", MAX_TOOL_TURNS: 6}) == [MAX_TOOL_TURNS]
            assert settings.str(PERSONA) == ""

    async def test_an_installers_single_row_does_not_make_the_database_old(self, opened: Opener) -> None:
        async with opened() as settings:
            await settings.set(WEB_PASSWORD, "open sesame")
        async with opened() as settings:
            assert await settings.seed({PERSONA: "kind", MAX_TOOL_TURNS: 6}) == [PERSONA, MAX_TOOL_TURNS]


async def test_a_plugins_definitions_are_replaced_as_a_whole(tmp_path: Path) -> None:
    old = [Definition("plugin.x.a", "int", 1, "A."), Definition("plugin.x.b", "int", 2, "B.")]
    other = Definition("plugin.xy.a", "int", 3, "Another plugin's.")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, Secrets(tmp_path / "s")) as settings:
        settings.define([*old, other])
        await settings.set("plugin.x.b", 5)
        settings.redefine("plugin.x.", [Definition("plugin.x.a", "int", 9, "A.")])
        assert [view.key for view in settings.list_("plugin.")] == ["plugin.x.a", "plugin.xy.a"]
        assert settings.get("plugin.x.a") == 9
        settings.redefine("plugin.x.", old)
        assert settings.get("plugin.x.b") == 5  # what was stored comes back with its setting


async def test_what_is_discarded_is_gone_from_database_and_secrets(tmp_path: Path) -> None:
    keys = [Definition("plugin.x.a", "int", 1, "A."), Definition("plugin.x.p", "password", "", "P.")]
    other = Definition("plugin.xy.a", "int", 3, "Another plugin's.")
    secrets = Secrets(tmp_path / "s")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        settings.define([*keys, other])
        await settings.set("plugin.x.a", 5)
        await settings.set("plugin.x.p", "a-long-secret")
        await settings.set("plugin.xy.a", 7)
        await settings.discard("plugin.x.")
        assert (settings.get("plugin.x.a"), settings.get("plugin.x.p"), settings.get("plugin.xy.a")) == (1, "", 7)
        assert secrets.names() == []
        assert await store.read(lambda tx: tx.all("SELECT key FROM settings WHERE key LIKE 'plugin.%'")) == [
            ("plugin.xy.a",)
        ]
