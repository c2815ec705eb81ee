"""kill -9 while agents work for an agent: no orphan, no task without its end, nothing told or done twice."""

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

POINTS = [name for name in NAMES if name.startswith(("turn.", "store.", "child.", "accept."))]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.agents_child") as ready:
        yield ready


def check(folder: Path, *, kills: int = 1) -> None:
    """Everything that must hold once all is quiet."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert rows(folder, "SELECT count(*) FROM inputs WHERE outcome IS NULL") == [(0,)]
    assert rows(folder, "SELECT state FROM inputs WHERE mark = ''") == [("answered",)]
    assert rows(folder, "SELECT count(*) FROM child_tasks WHERE told = 0") == [(0,)]
    temporary = "SELECT count(*) FROM {} WHERE scope LIKE 'temp:%' AND scope NOT IN (SELECT scope FROM children)"
    for table in ("threads", "events", "inputs", "records"):
        assert rows(folder, temporary.format(table)) == [(0,)], table
    ((stay,),) = rows(folder, "SELECT count(*) FROM children WHERE name = 'stays'")
    assert stay == 1 or (stay == 0 and kills), "a call that a kill cut short is not made again"
    of_residents = (
        "SELECT DISTINCT i.state FROM inputs i JOIN children c ON c.thread = i.thread AND c.kind = 'resident'"
        " WHERE i.mark LIKE 'parent:%'"
    )
    assert rows(folder, of_residents) in ([("answered",)], []), "what a resident was given, it did"
    states = {str(s) for (s,) in rows(folder, "SELECT state FROM inputs WHERE mark LIKE 'parent:%'")}
    assert states <= {"answered", "reported"}
    assert kills or states == {"answered"}
    told = Counter(rows(folder, "SELECT client_msg_id FROM inputs WHERE mark LIKE 'child:%'"))
    assert all(times == 1 for times in told.values()), "told once"
    tasks = {str(task) for (task,) in rows(folder, "SELECT id FROM child_tasks")}
    assert {str(key).rpartition(":")[2] for (key,) in told} == tasks, "and every one"
    path = folder / "tools.log"
    ran = Counter(path.read_text().split()) if path.exists() else Counter[str]()
    assert all(times == 1 for times in ran.values()), "no tool ran twice in a turn"


def test_without_a_kill_both_report(tmp_path: Path, children: Zygote) -> None:
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path, kills=0)
    assert rows(tmp_path, "SELECT name, kind FROM children ORDER BY name") == [("once", "once"), ("stays", "resident")]


@pytest.mark.kill
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("name", ["child.made", "child.given", "child.reported"])
def test_killed_where_one_is_made_given_something_and_told_of(
    tmp_path: Path, children: Zygote, name: str, nth: int
) -> None:
    assert children.run(Order(str(tmp_path), name, nth)) == Zygote.KILLED
    assert children.run(Order(str(tmp_path))) == 0
    check(tmp_path)


@pytest.mark.kill
def test_killed_at_random_points_twice(
    tmp_path_factory: pytest.TempPathFactory, children: Zygote, kill_rounds: int
) -> None:
    rounds = max(8, kill_rounds // 8)
    plan = Killing(POINTS, 8, SEED)
    killed = killed_twice(children, plan, rounds, lambda: tmp_path_factory.mktemp("home"), check)
    assert killed >= rounds // 2
