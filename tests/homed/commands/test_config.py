"""`homed config` as it is typed, without a daemon."""

from __future__ import annotations

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
