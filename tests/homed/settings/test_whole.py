"""A change of settings in the secrets' file and the database is whole or not there, whenever it is cut off."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.config.definitions import MAX_TOOL_TURNS, SNAPSHOTS_KEPT, Definition
from homed.config.secrets import Secrets
from homed.errors import StorageError, TimedOut
from homed.settings.apart import live
from homed.settings.commit import COMMIT_LIMIT
from homed.settings.registry import open_settings
from homed.store.db import Store, open_store
from tests.homed.settings.test_history import BROKEN, GOOD, KEY, OTHER, House, house

SECRET = Definition("plugin.x.password", "password", "", "Password.")

Change = Callable[[House], Awaitable[object]]


class Moments:
    """Keeps a copy of the folder before and after everything that is written: what a kill -9 there would leave."""

    def __init__(self, at: House, keep: Path) -> None:
        self.folders: list[Path] = []
        self._from, self._keep = at.folder, keep
        secrets, store = at.secrets, at.settings._change._store
        for name in ("stage", "tidy"):
            setattr(secrets, name, self._copying(getattr(secrets, name)))
        self._write = store.write
        at.settings._change._store = type("Store", (), {"write": self.write, "read": store.read})()

    def copy(self) -> None:
        folder = self._keep / str(len(self.folders))
        shutil.copytree(self._from, folder)
        self.folders.append(folder)

    def _copying(self, do: Callable[..., None]) -> Callable[..., None]:
        def copied(*args: object) -> None:
            self.copy()
            do(*args)
            self.copy()

        return copied

    async def write(self, fn: Any) -> object:
        self.copy()
        made = await self._write(fn)
        self.copy()
        return made


async def standing(at: House) -> tuple[str, str | None, int]:
    """The model, the key and the number of ways back."""
    return " ".join(at.models), at.secrets.get(live("mine")), len(await at.settings.snapshots())


@pytest.mark.parametrize(
    "change",
    [
        lambda at: at.sources.add(BROKEN, OTHER),
        lambda at: at.sources.add(GOOD, OTHER),
        lambda at: at.sources.remove("mine"),
        lambda at: at.settings.rollback(1),
    ],
    ids=["another server", "another key", "removed", "rolled back"],
)
async def test_a_key_and_its_source_change_together_or_not_at_all(tmp_path: Path, change: Change) -> None:
    (folder := tmp_path / "house").mkdir()
    async with house(folder) as at:
        await at.sources.add(GOOD, KEY)
        before = await standing(at)
        moments = Moments(at, tmp_path)
        await change(at)
        after = await standing(at)
    assert after != before
    assert len(moments.folders) == 6, "the secrets are staged, the database is written, the file is tidied"
    found = []
    for cut in moments.folders:
        async with house(cut) as at:
            found.append(await standing(at))
            await at.settings.tidy()
            assert at.secrets.staged() == ""
            held = json.loads((cut / "secrets.json").read_text())
            assert ".staged" not in held
            assert held.get(live("mine")) == found[-1][1]
        async with house(cut) as at:
            assert await standing(at) == found[-1], "and again after the next start"
    assert found == [before] * 3 + [after] * 3


async def test_what_a_plugin_had_is_discarded_whole(tmp_path: Path) -> None:
    (folder := tmp_path / "house").mkdir()
    async with house(folder) as at:
        at.settings.define([SECRET])
        await at.settings.set(SECRET.key, "hunter2hunter2")
        moments = Moments(at, tmp_path)
        await at.settings.discard("plugin.x.")
    for cut, there in zip(moments.folders, [True] * 3 + [False] * 3, strict=True):
        async with house(cut) as at:
            assert ("setting.plugin.x.password" in at.secrets.names()) is there


async def test_a_change_without_secrets_writes_no_secrets_file(tmp_path: Path) -> None:
    (folder := tmp_path / "house").mkdir()
    async with house(folder) as at:
        await at.sources.add(GOOD, KEY)
        written = (folder / "secrets.json").stat()
        await at.settings.set(MAX_TOOL_TURNS, 6)
        assert (folder / "secrets.json").stat() == written


async def test_nobody_sees_a_source_with_the_key_of_another(tmp_path: Path) -> None:
    pairs: set[tuple[str, str | None]] = set()
    async with house(tmp_path) as at, trio.open_nursery() as nursery:
        await at.sources.add(GOOD, KEY)

        async def look() -> None:
            while True:
                pairs.add((at.models[0], at.secrets.get(live("mine"))))
                await trio.lowlevel.checkpoint()

        nursery.start_soon(look)
        for source, key in ((BROKEN, OTHER), (GOOD, KEY)) * 3:
            await at.sources.add(source, key)
        nursery.cancel_scope.cancel()
    assert pairs == {("good-model", KEY), ("broken-model", OTHER)}


def slow(store: Store, clock: trio.testing.MockClock, *, stored: bool) -> Any:
    """A store whose write does not come back in time; ``stored``: though it was made."""

    async def hangs(fn: Any) -> None:
        if stored:
            await store.write(fn)
        clock.jump(COMMIT_LIMIT + 1)
        await trio.sleep_forever()

    return type("Slow", (), {"write": staticmethod(hangs), "read": store.read})()


@pytest.mark.parametrize("stored", [False, True])
async def test_what_came_of_a_change_that_took_too_long_is_found_out_before_the_next(
    tmp_path: Path, mock_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, *, stored: bool
) -> None:
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        settings.define([SECRET])
        await settings.change({SECRET.key: "the-old-one-1", MAX_TOOL_TURNS: 5})
        with monkeypatch.context() as patched:
            patched.setattr(settings._change, "_store", slow(store, mock_clock, stored=stored))
            with pytest.raises(TimedOut):
                await settings.change({SECRET.key: "the-new-one-1", MAX_TOOL_TURNS: 6})
        assert (settings.str(SECRET.key), settings.int(MAX_TOOL_TURNS)) == ("the-old-one-1", 5)
        with settings.watch(MAX_TOOL_TURNS) as seen:
            await settings.set(SNAPSHOTS_KEPT, 19)
            expected = ("the-new-one-1", 6) if stored else ("the-old-one-1", 5)
            assert (settings.str(SECRET.key), settings.int(MAX_TOOL_TURNS)) == expected
            assert seen._changed == ({MAX_TOOL_TURNS: 6} if stored else {})
        await settings.set(MAX_TOOL_TURNS, 7)
        assert settings.int(MAX_TOOL_TURNS) == 7


async def test_also_of_one_that_had_no_secret_in_it(
    tmp_path: Path, mock_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is stored holds from the next start on, without a word, and another value until then."""
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets) as settings:
        with monkeypatch.context() as patched:
            patched.setattr(settings._change, "_store", slow(store, mock_clock, stored=True))
            with pytest.raises(TimedOut):
                await settings.set(MAX_TOOL_TURNS, 6)
        with settings.watch(MAX_TOOL_TURNS) as seen:
            await settings.set(SNAPSHOTS_KEPT, 19)
            assert settings.int(MAX_TOOL_TURNS) == 6
            assert seen._changed == {MAX_TOOL_TURNS: 6}


async def test_what_cannot_be_tidied_says_the_same_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> None:
        raise StorageError("No space is left.")

    async with house(tmp_path) as at:
        await at.sources.add(GOOD, KEY)
        with monkeypatch.context() as patched:
            patched.setattr(at.secrets, "tidy", full)
            await at.sources.add(BROKEN, OTHER)
        assert "No space is left" in caplog.text
        assert (at.models, at.secrets.get(live("mine"))) == (["broken-model"], OTHER)
    async with house(tmp_path) as at:
        assert (at.models, at.secrets.get(live("mine"))) == (["broken-model"], OTHER)
        await at.settings.set(MAX_TOOL_TURNS, 6)
        assert (".staged" in json.loads((tmp_path / "secrets.json").read_text())) is False
