"""kill -9 anywhere in a conversation that looks things up and sinks: nothing is lost or doubled (C8, E9)."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed.failpoints import NAMES
from tests.kit.turn_child import REMEMBERED, Order, Zygote, zygote

SEED = int(os.environ.get("HOMED_TEST_SEED", "8"))

POINTS = [name for name in NAMES if name.startswith(("memory.", "turn.", "store.", "output.", "accept."))]


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    with zygote() as ready:
        yield ready


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(folder / "homed.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def order(folder: Path, kill: str = "", nth: int = 1) -> Order:
    return Order(str(folder), kill, nth, REMEMBERED, memory=True)


def check(folder: Path) -> None:
    """Everything that must hold once all messages have been sent and answered."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    told = rows(folder, "SELECT client_msg_id, state, json_extract(outcome, '$.text') FROM inputs ORDER BY seq")
    assert told == [(m, "answered", f"answer to {m}") for m in REMEMBERED], "each once, in order, none lost"
    talk = rows(
        folder,
        "SELECT kind, text FROM events WHERE kind = 'user' OR json_extract(data, '$.final') = 1 ORDER BY seq",
    )
    assert talk == [pair for m in REMEMBERED for pair in (("user", m), ("assistant", f"answer to {m}"))]
    assert rows(folder, "SELECT count(*) FROM events WHERE layer = 'cold'") != [(0,)], "the window was sunk"
    indexed = "SELECT coalesce(sum(documents), 0) FROM word_counts"
    remembered = "SELECT count(*) FROM events WHERE no_memory = 0 AND kind <> 'note'"
    assert rows(folder, indexed) == rows(folder, remembered), "what is stored can be found, once"
    alone = "NOT EXISTS (SELECT 1 FROM events e WHERE e.turn = i.turn AND e.kind <> 'user')"
    assert rows(folder, f"SELECT i.turn FROM injections i WHERE {alone}") == [], "none without what its turn stored"
    words = "SELECT group_concat(l.id || l.revision) AS told FROM injected l WHERE l.injection = i.seq"
    twice = f"SELECT i.turn, ({words}) FROM injections i GROUP BY 1, 2 HAVING count(*) > 1"
    assert rows(folder, twice) == [], "what a turn was told when it was taken up again is no second row"


def test_the_conversation_without_a_kill_sinks_looks_up_and_confirms(tmp_path: Path, children: Zygote) -> None:
    assert children.run(order(tmp_path)) == 0
    check(tmp_path)
    kinds = {kind for (kind,) in rows(tmp_path, "SELECT DISTINCT kind FROM ledger")}
    assert kinds >= {"select", "recall", "peek", "sink", "confirm"}
    told = "SELECT count(*) FROM injected l JOIN records r ON r.id = l.id WHERE r.text LIKE ?"
    assert all(rows(tmp_path, told.replace("?", f"'{text}%'")) != [(0,)] for text in ("Answers", "The cello"))


@pytest.mark.kill
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["memory.peeked", "memory.before_sink"])
def test_killed_between_looking_and_confirming_or_while_sinking(
    tmp_path: Path, children: Zygote, name: str, nth: int
) -> None:
    """E9"""
    ended = children.run(order(tmp_path, name, nth))
    assert ended == Zygote.KILLED or nth > 1
    assert children.run(order(tmp_path)) == 0
    check(tmp_path)


@pytest.mark.kill
def test_killed_at_random_points_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, children: Zygote, kill_rounds: int
) -> None:
    """C8: at twenty random points of a turn at least, each on a folder that others were killed on before."""
    chance = random.Random(SEED)
    killed = 0
    folder = tmp_path_factory.mktemp("home")
    for n in range(max(20, kill_rounds // 4)):
        if n % 2 == 0:  # two deaths, then it lives: an input is given up after three
            folder = tmp_path_factory.mktemp("home")
        name, nth = chance.choice(POINTS), chance.randint(1, 8)
        killed += children.run(order(folder, name, nth)) == Zygote.KILLED
        if n % 2:
            assert children.run(order(folder)) == 0, (name, nth)
            check(folder)
    assert killed >= 10
