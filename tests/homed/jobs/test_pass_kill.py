"""kill -9 anywhere while turns end and passes are made: each turn has one, whole, and nothing is counted twice."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.kit.memory_check import faults
from tests.kit.pass_child import SMALL, TURNS, said
from tests.kit.turn_child import Order, Zygote, zygote

SEED = int(os.environ.get("HOMED_TEST_SEED", "5"))

POINTS = {
    "pass.asked": TURNS + 1, "pass.writing": TURNS + 1, "pass.done": TURNS + 1, "pass.told": 1,
    "store.before_commit": 25, "store.after_commit": 25,
}  # fmt: skip
"""Where, and how often each is reached at the most."""


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.pass_child") as ready:
        yield ready


def rows(db: apsw.Connection, sql: str) -> list[tuple[object, ...]]:
    return list(db.execute(sql))


def opened(folder: Path) -> apsw.Connection:
    return apsw.Connection(str(folder / "homed.db"))


def sound(folder: Path) -> None:
    """What holds at any moment, also right after a kill."""
    db = opened(folder)
    try:
        if not rows(db, "SELECT 1 FROM sqlite_schema WHERE name = 'passes'"):
            return
        assert faults(db) == []
        texts = rows(db, "SELECT text FROM events WHERE kind = 'user' ORDER BY seq")
        assert texts in ([], [(said(n),) for n in range(TURNS + SMALL)])
        either = (
            "SELECT e.id FROM events e LEFT JOIN passes p ON p.turn = e.turn WHERE (e.pass = '') <> (p.turn NOT NULL)"
        )
        assert rows(db, either) == [], "a turn is owed a pass, or covered by one"
        twice = (
            "SELECT e.turn FROM evidence v JOIN events e ON e.id = v.event JOIN records r ON r.id = v.record"
            " WHERE r.record = 'summary' GROUP BY e.turn HAVING count(DISTINCT r.id) > 1"
        )
        assert rows(db, twice) == [], "a turn has one summary"
        assert rows(db, "SELECT text FROM records GROUP BY record, text HAVING count(*) > 1") == []
        assert rows(db, "SELECT 1 FROM records WHERE times > 1") == [], "derived once"
        ((read,),) = rows(
            db,
            "SELECT count(DISTINCT CASE WHEN length(text) > 40 THEN turn END) + (sum(length(text) <= 40) > 0)"
            " FROM events WHERE kind = 'user' AND pass = 'model'",
        )
        ((counted,),) = rows(db, "SELECT coalesce(sum(count), 0) FROM gates WHERE gate = 'unsupported'")
        assert counted == (read or 0), "each lie is counted with what was stored beside it"
    finally:
        db.close()


def whole(folder: Path) -> None:
    """What holds once nothing is owed."""
    sound(folder)
    db = opened(folder)
    try:
        assert rows(db, "SELECT count(*) FROM passes") == [(0,)]
        assert rows(db, "SELECT text FROM records WHERE record = 'fact' ORDER BY seq") == [
            (said(n),) for n in range(TURNS + SMALL)
        ]
        made = rows(db, "SELECT extractor, revision > 1, count(*) FROM records WHERE record = 'summary' GROUP BY 1, 2")
        assert made == [("model", 0, 1), ("model", 1, TURNS)], "what an exit recorded is better now, and one"
        assert rows(db, "SELECT 1 FROM job_runs WHERE state = 'running'") == []
    finally:
        db.close()


def order(folder: Path, kill: str = "", nth: int = 1) -> Order:
    return Order(str(folder), kill, nth)


def test_without_a_kill_every_turn_is_asked_about_once(tmp_path: Path, children: Zygote) -> None:
    assert children.run(order(tmp_path)) == 0
    whole(tmp_path)
    assert len((tmp_path / "asked.log").read_text().split()) == TURNS + 1


@pytest.mark.kill
@pytest.mark.parametrize(
    ("name", "nth"),
    [
        ("pass.told", 1),
        ("pass.asked", 1),
        ("pass.asked", TURNS + 1),
        ("pass.writing", 1),
        ("pass.writing", 4),
        ("pass.done", 1),
        ("pass.done", TURNS + 1),
    ],
)
def test_killed_at_each_point_it_goes_on(tmp_path: Path, children: Zygote, name: str, nth: int) -> None:
    assert children.run(order(tmp_path, name, nth)) == Zygote.KILLED
    sound(tmp_path)
    assert children.run(order(tmp_path)) == 0
    whole(tmp_path)


@pytest.mark.kill
def test_killed_at_random_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, children: Zygote, kill_rounds: int
) -> None:
    chance, killed, folder, deaths = random.Random(SEED), 0, tmp_path_factory.mktemp("home"), 0
    for _ in range(max(8, kill_rounds // 4)):
        name = chance.choice(list(POINTS))
        ended = children.run(order(folder, name, chance.randint(1, POINTS[name])))
        sound(folder)
        if ended == Zygote.KILLED:
            killed, deaths = killed + 1, deaths + 1
        if ended == 0 or deaths == 2:  # a unit that three deaths were met in is left alone
            assert children.run(order(folder)) == 0, name
            whole(folder)
            folder, deaths = tmp_path_factory.mktemp("home"), 0
    assert killed >= 3
