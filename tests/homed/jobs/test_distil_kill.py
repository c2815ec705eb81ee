"""kill -9 anywhere while memories sink, are looked at, come back and are distilled: nothing is lost, doubled or without
its evidence."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.kit.distil_child import TURNS, said
from tests.kit.memory_check import faults
from tests.kit.turn_child import Order, Zygote, zygote

SEED = int(os.environ.get("HOMED_TEST_SEED", "5"))

POINTS = {
    "memory.before_sink": 2, "memory.peeked": 1, "distil.asked": TURNS, "distil.writing": TURNS + 2,
    "distil.done": TURNS + 2, "merge.writing": 1, "store.before_commit": 30, "store.after_commit": 30,
}  # fmt: skip
"""Where, and how often each is reached at the most."""


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote("tests.kit.distil_child") as ready:
        yield ready


def rows(db: apsw.Connection, sql: str) -> list[tuple[object, ...]]:
    return list(db.execute(sql))


def sound(folder: Path) -> None:
    """What holds at any moment, also right after a kill."""
    db = apsw.Connection(str(folder / "homed.db"))
    try:
        assert rows(db, "PRAGMA integrity_check") == [("ok",)]
        if not rows(db, "SELECT 1 FROM sqlite_schema WHERE name = 'job_runs'"):
            return
        assert faults(db) == [], "one layer each, one holder a block, calls with their results, the index right"
        texts = rows(db, "SELECT text FROM events WHERE kind = 'user' AND turn <> 'turn_look' ORDER BY seq")
        assert texts in ([], [(said(n),) for n in range(TURNS)]), "no event is lost or doubled"
        bare = "SELECT r.text FROM records r WHERE NOT EXISTS (SELECT 1 FROM evidence v WHERE v.record = r.id)"
        assert rows(db, bare) == [], "nothing without evidence"
        assert rows(db, "SELECT text FROM records GROUP BY record, text HAVING count(*) > 1") == [], "nothing twice"
        assert rows(db, "SELECT 1 FROM records WHERE times > 1") == [], "derived once"
        lost = (
            "SELECT e.id FROM events e WHERE e.kind = 'user' AND e.layer = 'archived' AND e.turn <> 'turn_look'"
            " AND NOT EXISTS (SELECT 1 FROM evidence v JOIN records r ON r.id = v.record"
            " WHERE v.event = e.id AND r.record = 'fact')"
        )
        assert rows(db, lost) == [], "nothing is archived before its fact is there"
        assert rows(db, "PRAGMA foreign_key_check") == [], "no fact of somebody who is not there"
    finally:
        db.close()


def whole(folder: Path) -> None:
    """What holds once everything has been distilled."""
    sound(folder)
    db = apsw.Connection(str(folder / "homed.db"))
    try:
        assert rows(db, "SELECT DISTINCT layer FROM events") == [("archived",)]
        facts = "SELECT text FROM records WHERE record = 'fact' AND text LIKE 'In the year%' ORDER BY text"
        assert rows(db, facts) == [(said(n),) for n in range(TURNS)]
        summaries = rows(db, "SELECT count(*) FROM records WHERE record = 'summary' AND title LIKE 'In the year%'")
        assert summaries == [(TURNS,)]
        assert rows(db, "SELECT 1 FROM job_runs WHERE state = 'running'") == []
        assert rows(db, "SELECT DISTINCT holder_layer FROM blocks") == [("stable",)]
        of_each = "SELECT count(r.id) FROM entities e LEFT JOIN records r ON r.subject = e.id GROUP BY e.id"
        assert rows(db, f"{of_each} HAVING e.name LIKE 'Alex%'") == [(TURNS,)], "two are one, with the facts of both"
        assert rows(db, "SELECT count(*) FROM merged") == [(1,)], "merged once"
    finally:
        db.close()


def order(folder: Path, kill: str = "", nth: int = 1) -> Order:
    return Order(str(folder), kill, nth)


def test_without_a_kill_every_turn_is_asked_about_once(tmp_path: Path, children: Zygote) -> None:
    assert children.run(order(tmp_path)) == 0
    whole(tmp_path)
    asked = (tmp_path / "asked.log").read_text().split()
    assert len(asked) == len(set(asked)) == TURNS


@pytest.mark.kill
@pytest.mark.parametrize(
    ("name", "nth"),
    [
        ("memory.before_sink", 1),
        ("memory.peeked", 1),
        ("distil.asked", 1),
        ("distil.writing", 1),
        ("distil.writing", 3),
        ("distil.done", 3),
        ("merge.writing", 1),
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
    for _ in range(max(20, kill_rounds * 4 // 5)):
        name = chance.choice(list(POINTS))
        ended = children.run(order(folder, name, chance.randint(1, POINTS[name])))
        sound(folder)
        if ended == Zygote.KILLED:
            killed, deaths = killed + 1, deaths + 1
        if ended == 0 or deaths == 2:  # a unit that three deaths were met in is left alone
            assert children.run(order(folder)) == 0, name
            whole(folder)
            folder, deaths = tmp_path_factory.mktemp("home"), 0
    assert killed >= kill_rounds // 3
