"""Many turns of every kind side by side on a real daemon: it holds at the end what it held after the first of them,
and a deep look at its memory finds nothing wrong.

500 turns in CI, 10 000 in `make soak`; `docs/benchmarks.md` has the figures.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kit.soak import KINDS, soak

pytestmark = [pytest.mark.slow, pytest.mark.soak]

TURNS = int(os.environ.get("HOMED_TEST_TURNS", "500"))
LONG = 2_000
"""Turns from which on every cache is full, so that memory has to be flat."""

SLACK = 4
"""Tasks, descriptors and threads that come and go: a job of the background, a reader of the database, a worker."""

FILLING, FLAT = 96 * 1024, 16 * 1024
"""Bytes of its own memory for each turn of the second half.  What stays of a turn are its vectors, four of 2 kB, which
are held until there are 20 000 and lie in a mapped file from then on, whose pages are nobody's own; in the first
hundreds page caches fill, too.  A leak of what a turn works with (its window, some hundred kilobytes) is above both."""

OBJECTS = 40
"""Python objects for each turn of the second half: a turn that is kept is some thousand."""

STORE = 64 * 1024
"""Bytes of the database for each turn: its events with their indexes, records and vectors."""


def test_very_many_turns_leave_nothing_behind(tmp_path: Path) -> None:
    run = soak(tmp_path, TURNS, samples=4)
    first, last = run.held[0], run.held[-1]
    assert last.turns == sum(run.ends.values()) == TURNS
    assert {kind for kind, _ in run.ends} == set(KINDS), "every kind of turn was there"
    for what in ("tasks", "fds", "threads", "children", "plugins_fds"):
        before, after = getattr(first, what), getattr(last, what)
        assert after <= before + SLACK, f"{what}: {before} after {first.turns} turns, {after} after {last.turns}"
    assert run.per_turn("objects") < OBJECTS, run.held
    own = run.per_turn("rss") - run.per_turn("mapped")
    assert own < (FLAT if TURNS >= LONG else FILLING), run.held
    assert run.per_turn("plugins_rss") < FLAT, run.held
    assert run.per_turn("store") < STORE, run.held
    wrong = [check for check in run.doctor["checks"] if check["status"] != "pass"]
    assert (run.doctor["deep"], run.doctor["clean"], wrong) == (True, True, [])
    assert run.doctor["read"] > 10 * TURNS
