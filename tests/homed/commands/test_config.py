"""`homed config` as it is typed, without a daemon."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from homed.__main__ import main
from homed.paths import Paths


@pytest.fixture
def data(tmp_path: Path) -> str:
    paths = Paths(tmp_path / "data")
    paths.create()
    return str(paths.data)


def config(data: str, *words: str) -> int:
    return main(["config", *words, "--data", data])


def test_a_value_cannot_steer_the_terminal(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = "I am \x1b]0;owned\x07 and \x9b31m red,\nin two lines"
    assert config(data, "set", "core.agent.persona", value) == 0
    capsys.readouterr()
    assert config(data, "get", "core.agent.persona") == 0
    assert capsys.readouterr().out == "I am \\x1b]0;owned\\x07 and \\x9b31m red,\nin two lines\n"


def test_an_empty_password_is_said_to_be_removed(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(data, "set", "core.web.password", "open sesame") == 0
    assert capsys.readouterr().out == "core.web.password is set.\n"
    assert config(data, "set", "core.web.password", "") == 0
    out = capsys.readouterr().out
    assert out.startswith("core.web.password is removed.\n")
    assert "set" not in out


def test_a_model_source_that_is_not_there_cannot_be_chosen(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(data, "set", "core.llm.current", "no\x1b[2Jne") != 0
    assert "There is no model source" in capsys.readouterr().err


def test_a_threshold_is_moved_with_a_reason_and_it_is_kept_who_did(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "core.memory.inject_min_score"
    for words in (["set", key, "0.2"], ["unset", key]):
        assert config(data, "set", key, "0.3", "--reason", "to begin with") == 0
        assert config(data, *words) == 1
        assert "needs a reason" in capsys.readouterr().err
        assert config(data, *words, "--reason", f"because of {words[0]}") == 0
    with closing(sqlite3.connect(Paths(Path(data)).db)) as db:
        kept = db.execute("SELECT key, reason, peer FROM threshold_changes ORDER BY seq").fetchall()
    reasons = ["to begin with", "because of set", "to begin with", "because of unset"]
    assert kept == [(key, reason, "cli:owner") for reason in reasons]


def test_a_key_in_a_text_is_not_written_down(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-" + "proj-A1b2C3d4E5f6G7h8I9j0"
    assert config(data, "set", "core.agent.persona", "Kind.") == 0
    with closing(sqlite3.connect(Paths(Path(data)).db)) as db, db:  # as an earlier homed took it
        value = json.dumps(f"Kind. The key is {key}.")
        db.execute("UPDATE settings SET value = ? WHERE key = 'core.agent.persona'", (value,))
    for words in (["dump"], ["dump", "--json"]):
        capsys.readouterr()
        assert config(data, *words) == 0
        out = capsys.readouterr().out
        assert "Kind. The key is [secret:key]." in out
        assert key not in out
    assert config(data, "dump", "core.agent") == 0
    assert '# persona = "Kind.' in capsys.readouterr().out, "so that it is not taken in as it stands"


def test_a_key_is_not_put_into_a_setting_that_is_shown(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-proj-canary7ABCDEFGHIJ4567890"
    assert config(data, "set", "core.agent.persona", f"You are kind. {key}") == 1
    told = capsys.readouterr()
    assert "core.agent.persona would hold what looks like a secret" in told.err
    assert "homed models add" in told.err
    assert key not in told.err + told.out
    assert not any(key.encode() in path.read_bytes() for path in Path(data).rglob("*") if path.is_file())
