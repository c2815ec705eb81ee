"""One life: the first cause counts, and a doomed plugin never becomes ready."""

from __future__ import annotations

from pathlib import Path

from homed.host.life import Cause, Fate, Life, Plan
from homed.host.states import Trust
from homed.wire.manifest import Manifest
from tests.kit.fake_child import FakeRunning

PLAN = Plan(Manifest("p", "1", "x"), Path("/"), Trust.PACKAGED, frozenset())


async def test_the_first_cause_counts() -> None:
    changes: list[None] = []
    life = Life(PLAN, lambda: changes.append(None))
    life.ready(FakeRunning())
    life.doom(Cause.HUNG, "it hung")
    life.doom(Cause.EXITED, "killed by SIGKILL")
    assert await life.doomed() == Fate(Cause.HUNG, "it hung")
    assert life.running is None
    assert life.was_ready
    assert len(changes) == 2


def test_what_is_doomed_or_silent_takes_no_calls() -> None:
    life = Life(PLAN, lambda: None)
    life.doom(Cause.ASKED, "stopped by a person")
    life.ready(FakeRunning())
    assert life.running is None
    assert not life.was_ready
    life = Life(PLAN, lambda: None)
    life.ready(FakeRunning())
    life.fell_silent()
    assert life.running is None
    assert life.fate is None


def test_one_that_falls_silent_as_its_start_is_answered_never_becomes_ready() -> None:
    life = Life(PLAN, lambda: None)
    life.fell_silent()
    life.ready(FakeRunning())
    assert life.running is None
    assert not life.was_ready
