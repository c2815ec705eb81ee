"""kill -9 with suspended turns and messages that joined one: each has one outcome, and nothing runs twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.failpoints import NAMES
from tests.kit.killing import Killing, killed_twice, rows
from tests.kit.turn_child import Order, Zygote, zygote

SEED = int(os.environ.get("HOMED_TEST_SEED", "9"))

POINTS = [name for name in NAMES if name.startswith(("turn.", "store.", "output.", "accept."))]

HERE = ("turn.cancelled", "turn.suspended", "turn.resumed", "turn.joined")


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.interrupt_child") as ready:
        yield ready


def check(folder: Path, *, kills: int = 1) -> None:
    """Everything that must hold once all have their outcome."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    told = rows(folder, "SELECT client_msg_id, level, state, json_extract(outcome, '$.text') FROM inputs ORDER BY seq")
    assert told == [
        ("one", 0, "answered", "answer to one"), ("two", 2, "answered", "answer to two"),
        ("three", 2, "answered", "answer to two"),
    ]  # fmt: skip
    said = rows(folder, "SELECT text FROM events WHERE kind = 'user' ORDER BY text")
    assert said == [("one",), ("three",), ("two",)], "each message stands in the history once"
    assert rows(folder, "SELECT count(*) FROM turns WHERE ended_at IS NULL OR state <> 'answered'") == [(0,)]
    results = "SELECT count(*), count(DISTINCT json_extract(data, '$.call_id') || turn) FROM events WHERE kind = 'tool'"
    ((count, distinct),) = rows(folder, results)
    assert count == distinct, "each call has its one result"
    ran = Counter((folder / "tools.log").read_text().split())
    calls = Counter(turn for (turn,) in rows(folder, "SELECT turn FROM events WHERE kind = 'tool'"))
    assert all(times <= calls[turn] for turn, times in ran.items()), "no call ran twice"
    assert sum(calls.values()) - sum(ran.values()) <= kills, "and but for the one that was killed, each ran"


def test_without_a_kill_two_suspends_one_and_three_joins_two(tmp_path: Path, children: Zygote) -> None:
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path, kills=0)
    ((turns,),) = rows(tmp_path, "SELECT count(*) FROM turns")
    ((joined,),) = rows(tmp_path, "SELECT count(*) FROM events WHERE json_extract(data, '$.inserted')")
    assert (turns, joined) == (2, 1)


@pytest.mark.kill
@pytest.mark.parametrize("name", HERE)
def test_killed_where_one_stands_still_goes_on_or_takes_one_in(tmp_path: Path, children: Zygote, name: str) -> None:
    assert children.run(Order(str(tmp_path), name, 1)) == Zygote.KILLED
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path)


@pytest.mark.kill
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("name", ["turn.begun", "turn.tool_done", "turn.result_stored", "turn.before_finish"])
def test_killed_at_each_step_of_either_turn(tmp_path: Path, children: Zygote, name: str, nth: int) -> None:
    ended = children.run(Order(str(tmp_path), name, nth))
    assert ended == Zygote.KILLED or nth == 3
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path)


@pytest.mark.kill
def test_killed_at_random_points_twice(
    tmp_path_factory: pytest.TempPathFactory, children: Zygote, kill_rounds: int
) -> None:
    rounds = max(8, kill_rounds // 8)
    plan = Killing(POINTS, 6, SEED)
    killed = killed_twice(children, plan, rounds, lambda: tmp_path_factory.mktemp("home"), check)
    assert killed >= rounds // 2
