"""The persona's file: taken on, read again when it changed, and never a reason to fail."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from homed.config.definitions import PERSONA
from homed.config.secrets import Secrets
from homed.settings.registry import open_settings
from homed.store.db import open_store


async def test_it_decides_while_it_is_there_and_what_is_stored_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "persona.md"
    file.write_text("\ufeffA pirate.\n")
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets, persona=file) as settings:
        assert settings.str(PERSONA) == "A pirate."
        assert settings.view(PERSONA).place == str(file)
        file.write_text("A parrot with {version}.")
        await settings.refresh()
        assert settings.str(PERSONA) == "A parrot with {version}."
        file.write_text(" \n")
        await settings.refresh()
        assert (settings.str(PERSONA), settings.view(PERSONA).source) == ("", "default")
        await settings.set(PERSONA, "mine")
        file.write_text("Again.")
        await settings.refresh()
        assert settings.str(PERSONA) == "Again."
        file.unlink()
        await settings.refresh()
        assert (settings.str(PERSONA), settings.view(PERSONA).source) == ("mine", "stored")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 300_000, b"a\x00b"])
async def test_what_cannot_be_used_is_logged_once_and_the_last_good_text_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    file = tmp_path / "persona.md"
    file.write_text("Good.")
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets, persona=file) as settings:
        file.write_bytes(content)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                await settings.refresh()
        assert settings.str(PERSONA) == "Good."
        assert len([one for one in caplog.records if "is not used" in one.message]) == 1


async def test_of_one_that_is_too_long_that_is_said_wherever_it_is_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (file := tmp_path / "persona.md").write_text("你好" * 100_000)
    secrets = Secrets(tmp_path / "secrets.json")
    async with open_store(tmp_path / "d.db") as store, open_settings(store, {}, secrets, persona=file):
        assert f"{file} is not used: it is too long" in caplog.text


async def test_a_folder_or_a_pipe_is_no_persona_and_nothing_waits_on_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe", "not there"):
        secrets = Secrets(tmp_path / "secrets.json")
        async with (
            open_store(tmp_path / f"{name}.db") as store,
            open_settings(store, {}, secrets, persona=tmp_path / name) as settings,
        ):
            assert settings.str(PERSONA) == ""
