"""`homed memory jobs` in words."""

from __future__ import annotations

from typing import Any

import pytest

from homed.commands import memory_jobs
from homed.commands.parser import build

RUN = {
    "run": 7, "started_at": 1_750_000_000.0, "ended_at": 1_750_000_002.5, "state": "done", "seen": 5, "made": 2,
    "drops": {"quote": 3, "known": 1}, "errors": 1, "error": "turn_1: timeout\x1b[2J",
}  # fmt: skip
JOB = {
    "job": "distil",
    "due_at": 1_750_003_600.0,
    "paused": False,
    "running": False,
    "failures": 0,
    "held": 1,
    "last": RUN,
}
ANSWERS: dict[str, Any] = {
    "admin.jobs_list": {
        "jobs": [
            JOB,
            {**JOB, "job": "see", "running": True, "last": None},
            {**JOB, "job": "merge", "paused": True},
            {**JOB, "job": "backup", "due_at": None},
        ],
        "held": [{"job": "distil", "unit": "turn_1", "failures": 3, "error": "timeout", "at": 1.0}],
    },
    "admin.jobs_runs": {"runs": [RUN, {**RUN, "state": "cut", "ended_at": None}]},
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []

    def ask(args: object, method: str, **params: Any) -> Any:
        found.append((method, params))
        return ANSWERS.get(method, {})

    monkeypatch.setattr(memory_jobs, "ask", ask)
    return found


def run(*argv: str) -> int:
    args = build().parse_args(["memory", "jobs", *argv])
    code: int = args.handler(args)
    return code


def test_the_list_says_when_how_it_went_and_what_is_left_alone(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    for words in (
        "distil",
        "done",
        "known 1, quote 3",
        "running",
        "paused",
        "when asked for",
        "never",
        "turn_1",
        "release JOB UNIT",
    ):
        assert words in out, words
    assert "\x1b" not in out


def test_runs_tell_each_with_how_long_it_took(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("runs", "distil", "--limit", "2") == 0
    assert asked == [("admin.jobs_runs", {"job": "distil", "limit": 2})]
    out = capsys.readouterr().out
    assert "2.5 s" in out
    assert "cut" in out


@pytest.mark.parametrize("action", ["run", "pause", "resume"])
def test_an_action_is_sent_on_and_said(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str], action: str
) -> None:
    assert run(action, "distil") == 0
    assert asked == [(f"admin.jobs_{action}", {"job": "distil"})]
    assert "distil" in capsys.readouterr().out


def test_release_needs_a_unit_and_every_action_a_job(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("release", "distil", "turn_1") == 0
    assert asked == [("admin.jobs_release", {"job": "distil", "unit": "turn_1"})]
    assert run("release", "distil") == 2
    assert "needs a UNIT" in capsys.readouterr().err
    assert run("run") == 2
    assert "needs a JOB" in capsys.readouterr().err


def test_json_is_the_answer(asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    assert '"held"' in capsys.readouterr().out
