"""The timers on disk."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from plugins.timer.book import BadBook, Timer, load, save

TIMER = Timer("t1", "茶 🍵", 1.5, "", "Asia/Shanghai", "th", 0.0)


def test_what_is_saved_is_loaded_and_private(tmp_path: Path) -> None:
    path = tmp_path / "timers.json"
    timers = {"t1": TIMER, "t2": replace(TIMER, id="t2", cron="0 9 * * *")}
    save(path, timers)
    assert load(path) == (timers, {})
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["timers.json"]


def test_no_file_means_no_timers(tmp_path: Path) -> None:
    assert load(tmp_path / "timers.json") == ({}, {})


def test_a_failed_save_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "timers.json"
    save(path, {"t1": TIMER})

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(path, {})
    assert load(path) == ({"t1": TIMER}, {})
    assert os.listdir(tmp_path) == ["timers.json"]


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", '{"version": 2, "timers": []}', '{"version": 1}', '{"version": 1, "timers": [1]}',
        json.dumps({"version": 1, "timers": [{**asdict(TIMER), "next_at": "soon"}]}),
        json.dumps({"version": 1, "timers": [{**asdict(TIMER), "next_at": True}]}),
        json.dumps({"version": 1, "timers": [{**asdict(TIMER), "more": 1}]}),
        json.dumps({"version": 1, "timers": [{"id": "t1"}]}),
        "\ufffd\0",
    ],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_an_error_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "timers.json"
    path.write_text(content)
    with pytest.raises(BadBook):
        load(path)
    assert path.read_text() == content


def test_bytes_that_are_no_text_are_an_error_too(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\xff")
    with pytest.raises(BadBook):
        load(tmp_path / "t")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"zone": "US/Obsolete"}, "no time zone"), ({"zone": ""}, "no time zone"), ({"zone": "a\0b"}, "no time zone"),
        ({"cron": "often"}, "five fields"), ({"next_at": 1e300}, ""), ({"next_at": float("nan")}, ""),
        ({"next_at": 10**400}, ""),
    ],
)  # fmt: skip
def test_one_that_cannot_be_told_is_named_with_the_reason_and_the_others_are_read(
    tmp_path: Path, wrong: dict[str, Any], why: str
) -> None:
    path = tmp_path / "timers.json"
    timers = {"t1": TIMER, "t2": replace(TIMER, id="t2", **wrong), "t3": replace(TIMER, id="t3", cron="0 9 * * *")}
    save(path, timers)
    read, aside = load(path)
    assert list(read) == list(timers)
    assert list(aside) == ["t2"]
    assert why in aside["t2"]
