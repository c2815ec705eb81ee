"""Secrets: private from the first byte, whole or unchanged, never shown."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from homed.config.secrets import Secrets, key_of
from homed.errors import ConfigError, Conflict, StorageError


def test_what_is_set_is_there_after_a_restart_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    Secrets(path).set("llm.a.api_key", "sk-你好")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secrets(path).get("llm.a.api_key") == "sk-你好"
    assert Secrets(path).names() == ["llm.a.api_key"]


def test_deleting_says_whether_there_was_one(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets.json")
    secrets.set("a", "1")
    assert secrets.delete("a")
    assert not secrets.delete("a")
    assert Secrets(tmp_path / "secrets.json").get("a") is None


def test_the_environment_wins_and_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    secrets = Secrets(path, {"a": "from-env"})
    secrets.set("b", "2")
    assert secrets.get("a") == "from-env"
    assert "from-env" not in path.read_text()
    with pytest.raises(Conflict, match="environment"):
        secrets.set("a", "other")


def test_a_file_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text('{"a": "1"}')
    path.chmod(0o644)
    Secrets(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', "\xff"])
def test_a_malformed_file_is_named_and_not_quoted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=str(path)) as caught:
        Secrets(path)
    assert caught.value.hint


def test_a_write_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secrets.json"
    secrets = Secrets(path)
    secrets.set("a", "1")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        secrets.set("a", "2")
    monkeypatch.undo()
    assert secrets.get("a") == "1"
    assert Secrets(path).get("a") == "1"


def test_a_repr_shows_no_value(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets.json", {"a": "sk-1"})
    assert "sk-1" not in repr(secrets)
    assert secrets.known() == ["sk-1"]


def test_a_key_file_is_its_first_line_and_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("  sk-first \nsecond\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="can be read by others") as caught:
        key_of(str(file))
    assert f"chmod 600 {file}" in caught.value.hint
    assert "sk-first" not in str(caught.value)
    file.chmod(0o600)
    assert key_of(str(file)) == "sk-first"
    assert key_of("") == ""


def test_a_key_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        key_of(str(tmp_path / "nothing"))
    file = tmp_path / "key"
    file.write_bytes(b"\xff\xfe\x00")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no text"):
        key_of(str(file))
