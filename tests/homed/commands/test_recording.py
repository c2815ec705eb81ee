"""`homed models record` as it is typed: begin, list, show, end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.homed.commands.test_models import OWNED, data, models

__all__ = ["data"]  # the fixture

SAID = {
    "v": 1, "source": f"mine{OWNED}", "adapter": "openai", "url": "https://api.example/v1/chat/completions",
    "request": {}, "status": 200, "headers": {}, "chunks": ["a", "b"], "ended": "whole",
}  # fmt: skip


def test_a_recording_begins_is_listed_shown_and_ends(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert models(data, "record") == 0
    assert "There are no recordings" in capsys.readouterr().out
    assert models(data, "record", "trip") == 0
    capsys.readouterr()
    assert models(data, "record") == 0
    assert "trip begins with the next question" in capsys.readouterr().out
    folder = Path(data) / "cassettes"
    folder.mkdir()
    (folder / "trip.jsonl").write_text(json.dumps(SAID) + "\n")
    (folder / "broken.jsonl").write_text("{\n")
    assert models(data, "record", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recording"] == "trip"
    assert [(one["name"], one["exchanges"]) for one in told["recordings"]][1] == ("trip", 1)
    assert "unreadable" in told["recordings"][0]["exchanges"]
    assert models(data, "record", "trip", "--show") == 0
    shown = capsys.readouterr().out
    assert "api.example/v1/chat/completions" in shown
    assert "\x1b" not in shown
    assert models(data, "record", "--off") == 0
    capsys.readouterr()
    assert models(data, "record", "--json") == 0
    assert json.loads(capsys.readouterr().out)["recording"] == ""


@pytest.mark.parametrize("words", [["../x"], ["none", "--show"], ["--show"], [".hidden"]])
def test_what_is_none_is_refused(data: str, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert models(data, "record", *words) == 1
    assert capsys.readouterr().err
