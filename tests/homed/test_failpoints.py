"""Failpoints are named in one place and are nothing in production."""

from __future__ import annotations

import pytest

from homed.failpoints import NAMES, NoFailpoints
from tests.kit.failpoints import KillAt, RaiseAt, Recorder


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_the_production_object_does_nothing() -> None:
    for name in NAMES:
        NoFailpoints().reach(name)


def test_the_recorder_keeps_the_order() -> None:
    recorder = Recorder()
    recorder.reach("turn.begun")
    recorder.reach("turn.finished")
    assert recorder.reached == ["turn.begun", "turn.finished"]


def test_raises_at_the_nth_time_only() -> None:
    failing = RaiseAt("turn.begun", OSError("no"), nth=2)
    failing.reach("turn.begun")
    failing.reach("turn.finished")
    with pytest.raises(OSError, match="no"):
        failing.reach("turn.begun")
    failing.reach("turn.begun")


def test_a_name_that_does_not_exist_is_an_error_in_the_test_not_a_silent_pass() -> None:
    with pytest.raises(ValueError, match="no failpoint"):
        KillAt("turn.nonsense")
    with pytest.raises(ValueError, match="no failpoint"):
        Recorder().reach("turn.nonsense")
