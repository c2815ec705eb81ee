"""kill -9 at points drawn by chance, and a look into what is left."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.kit.turn_child import Order, Zygote


class Check(Protocol):
    """Asserts what must hold in a folder in which a child was killed so many times."""

    def __call__(self, folder: Path, *, kills: int) -> None: ...


@dataclass(frozen=True)
class Killing:
    """``points``: failpoints to draw from, each met up to ``most`` times before the kill."""

    points: Sequence[str]
    most: int
    seed: int


def killed_twice(children: Zygote, plan: Killing, rounds: int, new: Callable[[], Path], check: Check) -> int:
    """In each round a folder, in which two children in a row may be killed and a third must come to its end; how many
    kills there were."""
    chance, killed = random.Random(plan.seed), 0
    for _ in range(rounds):
        folder = new()
        kills = 0
        for _ in range(2):
            name, nth = chance.choice(plan.points), chance.randint(1, plan.most)
            kills += children.run(Order(str(folder), name, nth)) == Zygote.KILLED
        assert children.run(Order(str(folder))) == 0, (name, nth)
        check(folder, kills=kills)
        killed += kills
    return killed


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """What stands in the database of a folder at rest."""
    connection = sqlite3.connect(folder / "homed.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
