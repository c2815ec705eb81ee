"""What is stored when a database begins (E37): a fresh one, one that was in use before, one that was half begun."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from homed.config.definitions import PERSONA_ASKED, WEB_PASSWORD
from homed.config.secrets import Secrets
from homed.memory import inputs, threads
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store, open_store
from homed.store.examine import LookingStore
from homed.store.rows import ReadOnly, Tx
from tests.homed.memory.build import new_input


def talked(tx: Tx) -> None:
    """Somebody said something here."""
    thread = threads.create(tx, scope="owner", channel="cli", title="first", at=1.0)
    inputs.accept(tx, new_input(thread), at=1.0)


def before_there_was_such_a_setting(tx: Tx) -> None:
    tx.execute("DELETE FROM seeds")
    tx.execute("DELETE FROM settings WHERE key = ?", (PERSONA_ASKED,))


async def asked(store: Store, folder: Path) -> bool:
    async with open_settings(store, {}, Secrets(folder / "secrets.json")) as settings:
        return settings.bool(PERSONA_ASKED)


async def test_in_a_fresh_one_nobody_has_been_asked(tmp_path: Path) -> None:
    async with open_store(tmp_path / "d.db") as store:
        assert not await asked(store, tmp_path)
        stored = "SELECT value FROM settings WHERE key = ?"
        assert await store.read(lambda tx: tx.value(stored, (PERSONA_ASKED,))) == "false"


async def test_whoever_has_used_it_before_is_not_asked_after_an_update(tmp_path: Path) -> None:
    async with open_store(tmp_path / "d.db") as store:
        await store.write(talked)
        await store.write(before_there_was_such_a_setting)
        assert await asked(store, tmp_path)


async def test_an_installers_row_does_not_make_it_old(tmp_path: Path) -> None:
    async with open_store(tmp_path / "d.db") as store:
        await store.write(lambda tx: tx.execute("INSERT INTO settings VALUES (?, ?, ?)", (WEB_PASSWORD, '"x"', 1.0)))
        assert not await asked(store, tmp_path)


async def test_what_was_seeded_once_is_a_persons_own_matter_from_then_on(tmp_path: Path) -> None:
    async with open_store(tmp_path / "d.db") as store:
        async with open_settings(store, {}, Secrets(tmp_path / "secrets.json")) as settings:
            await settings.set(PERSONA_ASKED, True)
        assert await asked(store, tmp_path)
        async with open_settings(store, {}, Secrets(tmp_path / "secrets.json")) as settings:
            await settings.unset(PERSONA_ASKED)
        await store.write(talked)
        assert not await asked(store, tmp_path), "re-seeding an old one is as wrong"


async def test_a_database_that_takes_nothing_does_not_keep_homed_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(*_: object) -> None:
        raise ReadOnly("The database is damaged.")

    monkeypatch.setattr(Settings, "seed", refused)
    async with open_store(tmp_path / "d.db") as store:
        with caplog.at_level(logging.WARNING):
            assert not await asked(store, tmp_path)
    assert "not stored" in caplog.text


async def test_who_only_looks_is_told_of_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_settings(LookingStore(tmp_path / "d.db"), {}, Secrets(tmp_path / "secrets.json")):
        assert caplog.messages == []
