"""A key in a setting that is shown: refused on every path, told where it stands already, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homed.config.definitions import EMBEDDING_BASE_URL, LLM_SOURCES, PERSONA, TOOLS_ALWAYS, TRACKER_IGNORE, Definition
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import ConfigError
from homed.redact import certain, redact
from homed.settings import rows
from homed.settings.exposed import everywhere, exposed
from homed.settings.registry import Settings, open_settings
from homed.store.db import open_store
from tests.homed.settings.conftest import Opener

KEY = "sk-proj-" + "canary7ABCDEFGHIJ4567890"
ANOTHER = "ghp_" + "canary7abcdefghij0123456789"
OWN = [
    Definition("plugin.mail.greeting", "text", "", "What it says."),
    Definition("plugin.mail.folder", "string", "", "Where."),
    Definition("plugin.mail.servers", "list", [], "Child servers and their environment."),
    Definition("plugin.mail.password", "password", "", "The mailbox's."),
]
SOURCE: dict[str, Any] = {"name": "a", "base_url": "http://x.example/v1", "model": "m"}


def found(settings: Settings) -> list[str]:
    return exposed(settings.definitions(), settings.get)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (PERSONA, f"You are kind.\nYour key is {KEY}, use it."),
        (TOOLS_ALWAYS, KEY),
        (TRACKER_IGNORE, ["*.o", f"{KEY}/"]),
        ("plugin.mail.greeting", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"),
        ("plugin.mail.folder", f"/srv/{ANOTHER}"),
        ("plugin.mail.servers", [{"command": "mcp", "env": {"TOKEN": KEY}}]),
        ("plugin.mail.servers", [{KEY: 1}]),
        ("plugin.mail.servers", [{"base_url": ["http://x.example", KEY]}]),
        ("plugin.mail.greeting", f"nvapi-{'a1' * 32}"),
        ("plugin.mail.greeting", "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
        (LLM_SOURCES, [{**SOURCE, "options": {"extra_body": {"key": KEY}}}]),
        (LLM_SOURCES, [{**SOURCE, "base_url": KEY}]),
        (EMBEDDING_BASE_URL, KEY),
    ],
)
async def test_a_key_is_stored_in_none(opened: Opener, tmp_path: Path, key: str, value: object) -> None:
    async with opened() as settings:
        settings.define(OWN)
        for change in (settings.set(key, value), settings.change({"plugin.mail.password": "x", key: value})):
            with pytest.raises(ConfigError) as failed:
                await change
            told = f"{failed.value.message} {failed.value.hint} {failed.value.detail}"
            assert key in told
            assert "keys belong" in told
            assert redact(told) == told
        assert settings.view(key).source == "default"
        assert found(settings) == []
    for text in (KEY, ANOTHER, "b3BlbnNzaC1rZXk"):
        assert text.encode() not in bytes_of(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (PERSONA, "Who tells a password: hunter2, an api_key=abcdefgh or a token is to change it. 密码是hunter22"),
        (PERSONA, "Keys begin with sk-, like sk-your-key-goes-here-1 or sk-proj-..., and with ghp_ or AKIA."),
        ("plugin.mail.folder", "/home/me/sk-learn-based-pipeline-v2-of-2024"),
        (PERSONA, "Sign with xoxo-your-best-friend. Keys look like github_pat_your_token_goes_here or xoxb-bot-token."),
        ("plugin.mail.folder", "/srv/pypi-mirror-of-the-packages-that-the-team-builds-with"),
        ("plugin.mail.folder", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("plugin.mail.greeting", "c29tZXRoaW5nIHRoYXQgaXMgbm8gc2VjcmV0IGF0IGFsbA=="),
        ("plugin.mail.password", KEY),
        (EMBEDDING_BASE_URL, f"http://proxy.example/{KEY}/v1"),
        (LLM_SOURCES, [{**SOURCE, "base_url": f"http://proxy.example/{KEY}/v1"}]),
        (LLM_SOURCES, [{**SOURCE, "options": {"headers": {"X-Key": KEY}}}]),
    ],
)  # fmt: skip
async def test_what_is_none_or_may_stand_there_is_taken(opened: Opener, key: str, value: object) -> None:
    """What only speaks of keys, names and sums; passwords and headers, which go to the secrets; and addresses."""
    async with opened() as settings:
        settings.define(OWN)
        await settings.set(key, value)
        in_address = key == EMBEDDING_BASE_URL or (key == LLM_SOURCES and "proxy" in str(value))
        assert found(settings) == ([key] if in_address else [])


async def test_one_of_an_earlier_homed_is_told_and_keeps_nobody_from_changing_the_rest(
    tmp_path: Path, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: rows.store(tx, {PERSONA: f"Use {KEY}."}, 1.0))
    async with opened() as settings:
        assert found(settings) == [PERSONA]
        assert f"{PERSONA} holds what looks like a key" in caplog.text
        assert KEY not in caplog.text
        await settings.set(PERSONA, f"Use {KEY}, and be kind.")
        with pytest.raises(ConfigError):
            await settings.set(PERSONA, f"Use {KEY} and {ANOTHER}.")
        await settings.set(PERSONA, "Be kind.")
        assert found(settings) == []
        with pytest.raises(ConfigError):
            await settings.set(PERSONA, f"Use {KEY} again.")


@pytest.mark.parametrize("source", ["file", "env", "flag"])
async def test_one_from_outside_is_told_and_homed_starts(
    opened: Opener, caplog: pytest.LogCaptureFixture, source: str
) -> None:
    async with opened(Override(PERSONA, KEY, source, "there", text=True)) as settings:
        assert settings.str(PERSONA) == KEY
        assert found(settings) == [PERSONA]
    assert PERSONA in caplog.text
    assert KEY not in caplog.text


async def test_one_in_the_file_of_the_persona_is_told(tmp_path: Path) -> None:
    (tmp_path / "persona.md").write_text(f"I am {KEY}")
    secrets = Secrets(tmp_path / "secrets.json")
    async with (
        open_store(tmp_path / "homed.db") as store,
        open_settings(store, {}, secrets, persona=tmp_path / "persona.md") as settings,
    ):
        assert found(settings) == [PERSONA]


async def test_a_roll_back_brings_none_back(tmp_path: Path, opened: Opener) -> None:
    kept = [{**SOURCE, "options": {"extra_body": {"key": KEY}}}]
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: rows.store(tx, {LLM_SOURCES: kept}, 1.0))
    async with opened() as settings:
        await settings.set(LLM_SOURCES, [SOURCE])
        (snapshot,) = await settings.snapshots()
        assert await everywhere(settings) == [f"{LLM_SOURCES} (snapshot {snapshot.snapshot.id})"]
        (note,) = await settings.rollback(snapshot.snapshot.id)
        assert note.startswith(f"{LLM_SOURCES} stays as it is: ")
        assert KEY not in note
        assert settings.get(LLM_SOURCES) == [SOURCE]


def test_certain_are_keys_alone() -> None:
    for text in (KEY, "sk-" + "0123456789abcdef" * 2, "sk-ant-api03-" + "Zx9" * 12 + "-AA", ANOTHER):
        assert list(certain(f"a {text} b")) == [text]
        assert redact(text) != text
    assert certain("password: hunter2, bearer abcdefgh12345678ijkl") == {}
