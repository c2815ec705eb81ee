"""Several settings at once: all or none; a value taken out; values given while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.config.definitions import LOG_LEVEL, MAX_TOOL_TURNS, PERSONA, TOOL_TIMEOUT, Definition
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import ConfigError, Conflict, NotFound, StorageError
from homed.settings.registry import open_settings
from homed.settings.views import Applied
from homed.store.db import open_store
from tests.homed.settings.conftest import Opener

SECRET = Definition("plugin.mail.password", "password", "", "The mailbox's.")
LISTEN = Definition("plugin.webui.listen", "string", "here", "Where.", restart=True)


async def test_several_change_together_and_it_lasts(opened: Opener) -> None:
    async with opened() as settings:
        assert await settings.change({MAX_TOOL_TURNS: "6", TOOL_TIMEOUT: "5m", PERSONA: "kind"}) is Applied.NOW
    async with opened() as settings:
        assert (settings.int(MAX_TOOL_TURNS), settings.float(TOOL_TIMEOUT)) == (6, 300)
        assert settings.str(PERSONA) == "kind"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({MAX_TOOL_TURNS: 6, TOOL_TIMEOUT: 0}, ConfigError),
        ({MAX_TOOL_TURNS: 6, "core.nothing": 1}, NotFound),
        ({MAX_TOOL_TURNS: 6, LOG_LEVEL: "debug"}, Conflict),
        ({SECRET.key: "hunter2hunter2", MAX_TOOL_TURNS: 0}, ConfigError),
    ],
)
async def test_if_one_does_not_fit_none_is_changed(
    opened: Opener, changes: dict[str, object], error: type[Exception]
) -> None:
    async with opened(Override(LOG_LEVEL, "error", "env", "HOMED__CORE__LOG__LEVEL")) as settings:
        settings.define([SECRET])
        with settings.watch() as changed, pytest.raises(error):
            await settings.change(changes)
        assert settings.int(MAX_TOOL_TURNS) == 10
        assert settings.str(SECRET.key) == ""
        assert changed._changed == {}


async def test_a_password_does_not_stay_where_the_rest_cannot_be_stored(tmp_path: Path) -> None:
    """All or none, over two files."""
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        settings.define([SECRET])
        await settings.change({SECRET.key: "the-old-one-1"})

        async def full(_: object) -> None:
            raise StorageError("No space is left.")

        settings._change._store = type("Full", (), {"write": staticmethod(full), "read": store.read})()
        with pytest.raises(StorageError):
            await settings.change({SECRET.key: "the-new-one-1", MAX_TOOL_TURNS: 6})
        assert settings.str(SECRET.key) == "the-old-one-1"
        assert settings.int(MAX_TOOL_TURNS) == 10
    assert "the-new-one" not in (tmp_path / "secrets.json").read_text()


async def test_what_is_taken_out_is_at_its_default_again_also_after_a_restart(opened: Opener) -> None:
    async with opened() as settings:
        settings.define([SECRET])
        await settings.change({MAX_TOOL_TURNS: 6, SECRET.key: "hunter2hunter2"})
        with settings.watch(MAX_TOOL_TURNS) as changed:
            assert await settings.unset(MAX_TOOL_TURNS) is Applied.NOW
            assert await changed.__anext__() == (MAX_TOOL_TURNS, 10)
        await settings.unset(SECRET.key)
        assert settings.view(SECRET.key).source == "default"
        await settings.unset(MAX_TOOL_TURNS)  # nothing there: no error
    async with opened() as settings:
        assert (settings.int(MAX_TOOL_TURNS), settings.view(MAX_TOOL_TURNS).source) == (10, "default")


async def test_one_that_waits_for_a_restart_makes_the_change_wait(opened: Opener) -> None:
    async with opened() as settings:
        settings.define([LISTEN])
        assert await settings.change({MAX_TOOL_TURNS: 6, LISTEN.key: "there"}) is Applied.RESTART
        assert settings.int(MAX_TOOL_TURNS) == 6


class TestGiven:
    """A value from outside that comes and goes while it runs."""

    GIVEN = Override(PERSONA, "a pirate", "file", "/data/persona.md")

    async def test_it_is_stronger_than_what_is_stored_and_shown_as_such(self, opened: Opener) -> None:
        async with opened() as settings:
            await settings.set(PERSONA, "stored")
            with settings.watch(PERSONA) as changed:
                assert settings.give(self.GIVEN)
                assert await changed.__anext__() == (PERSONA, "a pirate")
            view = settings.view(PERSONA)
            assert (view.value, view.source, view.place) == ("a pirate", "file", "/data/persona.md")
            with pytest.raises(Conflict, match=r"/data/persona\.md"):
                await settings.set(PERSONA, "x")
            settings.withdraw(PERSONA)
            assert (settings.str(PERSONA), settings.view(PERSONA).place) == ("stored", "")
            await settings.set(PERSONA, "x")

    async def test_what_was_given_at_start_is_stronger(self, opened: Opener) -> None:
        async with opened(Override(PERSONA, "from toml", "file", "homed.toml line 2")) as settings:
            assert not settings.give(self.GIVEN)
            settings.withdraw(PERSONA)
            assert settings.str(PERSONA) == "from toml"

    async def test_one_that_does_not_fit_changes_nothing(self, opened: Opener) -> None:
        async with opened() as settings:
            settings.give(self.GIVEN)
            with pytest.raises(ConfigError):
                settings.give(Override(PERSONA, "x" * 70_000, "file", "/data/persona.md"))
            assert settings.str(PERSONA) == "a pirate"


async def test_a_change_of_other_things_writes_no_secrets(opened: Opener, tmp_path: Path) -> None:
    async with opened() as settings:
        await settings.change({MAX_TOOL_TURNS: 6})
        await settings.snapshots()
    assert not (tmp_path / "secrets.json").exists()
