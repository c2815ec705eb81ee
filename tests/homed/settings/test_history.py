"""The way back over a real store and a real secrets file: with the sources as they are changed in truth."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from homed.config.definitions import LLM_CURRENT, LLM_SOURCES, MAX_TOOL_TURNS, SNAPSHOTS_KEPT
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import NotFound
from homed.providers.base import Source
from homed.providers.registry import Sources, open_sources
from homed.settings.apart import live
from homed.settings.registry import Settings, open_settings
from homed.settings.snapshots import PEPPER
from homed.store.db import open_store

GOOD = Source("mine", "https://good.example/v1", "good-model")
BROKEN = Source("mine", "https://broken.example/v1", "broken-model")
KEY, OTHER = "sk-the-good-key-1", "sk-the-other-key-2"


@dataclass(frozen=True, slots=True)
class House:
    settings: Settings
    sources: Sources
    secrets: Secrets
    folder: Path

    @property
    def models(self) -> list[str]:
        return [one.model for one in self.sources.list()]

    async def newest(self) -> int:
        return (await self.settings.snapshots())[0].snapshot.id


def content(folder: Path) -> bytes:
    """Every byte of the database."""
    return b"".join(path.read_bytes() for path in folder.glob("d.db*"))


@asynccontextmanager
async def house(folder: Path, *overrides: Override, env: dict[str, str] | None = None) -> AsyncIterator[House]:
    secrets = Secrets(folder / "secrets.json", env or {})
    given = {override.key: override for override in overrides}
    async with (
        open_store(folder / "d.db") as store,
        open_settings(store, given, secrets) as settings,
        open_sources(settings, secrets) as sources,
    ):
        yield House(settings, sources, secrets, folder)


async def test_a_broken_source_comes_back_with_its_key_and_that_can_be_undone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.add(BROKEN, OTHER)
        assert await at.settings.rollback(await at.newest()) == ()
        assert (at.models, at.secrets.get(live("mine"))) == (["good-model"], KEY)
    async with house(tmp_path) as at:  # after a restart, too
        assert (at.models, at.secrets.get(live("mine"))) == (["good-model"], KEY)
        assert await at.settings.rollback(await at.newest()) == ()
        assert (at.models, at.secrets.get(live("mine"))) == (["broken-model"], OTHER)


async def test_a_removed_source_comes_back_without_the_key_that_is_gone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.add(GOOD, OTHER)
        await at.sources.remove("mine")
        assert KEY not in (stored := (tmp_path / "secrets.json").read_text())
        assert OTHER not in stored
        assert await at.settings.rollback(await at.newest()) == ("The key of mine is gone: give it again.",)
        assert (at.models, at.sources.has_key("mine")) == (["good-model"], False)


async def test_a_source_added_since_goes_and_can_be_brought_back_whole(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.add(Source("more", "https://more.example/v1", "m"), OTHER)
        await at.sources.use("more")
        await at.settings.rollback((await at.settings.snapshots())[1].snapshot.id)
        assert at.models == ["good-model"]
        assert at.settings.str(LLM_CURRENT) == ""
        await at.settings.rollback(await at.newest())
        assert at.models == ["good-model", "m"]
        assert (at.settings.str(LLM_CURRENT), at.secrets.get(live("more"))) == ("more", OTHER)


async def test_no_key_is_in_the_database_and_every_change_of_other_settings_is_none_of_its(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.add(GOOD, OTHER)
        await at.sources.add(GOOD, OTHER)  # nothing new
        await at.settings.set(MAX_TOOL_TURNS, 6)
        found = await at.settings.snapshots()
        assert [one.snapshot.changed for one in found] == [
            (LLM_SOURCES, "mine.api_key"), (LLM_SOURCES, "mine.api_key"),
        ]  # fmt: skip
        assert KEY not in repr(found)
    written = content(tmp_path)
    assert KEY.encode() not in written
    assert OTHER.encode() not in written


async def test_the_newest_are_kept_and_old_keys_go_with_their_snapshots(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.settings.set(SNAPSHOTS_KEPT, 3)
        for number in range(8):
            await at.sources.add(GOOD, f"sk-key-number-{number}")
        assert len(await at.settings.snapshots()) == 3
        stored = json.loads((tmp_path / "secrets.json").read_text())
        keys = {value for name, value in stored.items() if name != PEPPER}
        assert keys == {f"sk-key-number-{number}" for number in (4, 5, 6, 7)}


async def test_what_is_given_from_outside_stays_and_is_said(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.use("mine")
        await at.sources.add(Source("b", "https://b.example", "m"))
        await at.settings.set(LLM_CURRENT, "b")
    async with house(tmp_path, Override(LLM_CURRENT, "b", "env", "HOMED__CORE__LLM__CURRENT")) as at:
        notes = await at.settings.rollback((await at.settings.snapshots())[-2].snapshot.id)
        assert any(LLM_CURRENT in note and "HOMED__CORE__LLM__CURRENT" in note for note in notes)
        assert at.models == ["good-model"]
    env = {live("mine"): "sk-from-environment"}
    async with house(tmp_path, env=env) as at:
        await at.settings.rollback(await at.newest())
        assert at.secrets.get(live("mine")) == "sk-from-environment"


async def test_keys_stay_where_sources_given_from_outside_are_on_another_server(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        await at.sources.add(GOOD, OTHER)
    elsewhere = {"name": "mine", "base_url": "https://elsewhere.example/v1", "model": "m"}
    async with house(tmp_path, Override(LLM_SOURCES, [elsewhere], "file", "homed.toml line 1")) as at:
        notes = await at.settings.rollback(await at.newest())
        assert "The keys stay as they are, since the sources do." in notes
        assert at.secrets.get(live("mine")) == OTHER


async def test_one_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        assert await at.settings.snapshots() == []
        with pytest.raises(NotFound, match="no snapshot 7"):
            await at.settings.rollback(7)
