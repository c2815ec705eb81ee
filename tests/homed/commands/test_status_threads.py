"""`homed status --threads`: what runs, what it stands on, what waits."""

from __future__ import annotations

from typing import Any

import pytest

from homed.commands.status import _show, _threads

FRAME = {
    "input": "in_1",
    "turn": "turn_1",
    "level": 0,
    "counts": 1,
    "preempted": 1,
    "phase": "critical",
    "step": 0,
    "mark": "",
}


def dumped(**more: Any) -> dict[str, Any]:
    running = {**FRAME, "turn": "turn_2", "level": 3, "counts": 3, "phase": "model", "mark": "child:c1"}
    thread = {
        "thread": "th_1", "held": False, "running": running, "suspended": [FRAME],
        "queued": {"0": 2, "1": 0, "2": 1, "3": 0, "4": 0}, **more,
    }  # fmt: skip
    return {"threads": [thread], "counters": {"started": 3, "suspended": 1}}


def test_the_one_that_runs_stands_on_those_that_are_suspended(capsys: pytest.CaptureFixture[str]) -> None:
    assert _threads(dumped(), json=False) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["th_1", "model", "3", "turn_2", "child:c1"]
    assert lines[2] == ["suspended", "0", "(as", "1)", "turn_1"]
    assert " ".join(lines[3]) == "waiting 2 of level 0, 1 of level 2"
    assert " ".join(lines[-1]) == "Since the start: 3 started, 1 suspended"


def test_where_nothing_runs_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert _threads({"threads": [], "counters": {"started": 0}}, json=False) == 0
    assert capsys.readouterr().out.startswith("Nothing runs.")


@pytest.mark.parametrize("configured", [True, False])
def test_what_a_server_calls_its_model_or_says_of_its_trouble_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], *, configured: bool
) -> None:
    owned = "\x1b]0;owned\x07"
    model = {"configured": configured, "source": "a", "model": owned, "hint": owned, "state": "failed", "note": owned}
    counts = {"busy": 0, "suspended": 0, "queued": 0}
    answer = {"version": "0", "pid": 1, "started_at": 0, "data_dir": "/d", "model": model, "threads": counts}
    _show({**answer, "storage": {"state": "ok", "journal": "wal"}, "plugins": []})
    said = capsys.readouterr().out
    assert said.count("\\x1b]0;owned\\x07") == 2
    assert "\x1b" not in said
