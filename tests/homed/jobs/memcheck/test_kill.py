"""kill -9 in the middle of a repair, and two repairs at once: nothing is half done, the next repair does the rest."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy  # noqa: F401 - once, and not in each fork
import pytest
import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.memcheck import doctor
from homed.jobs.memcheck.findings import Report
from homed.jobs.memcheck.registry import CHECKS
from homed.store.db import open_store
from tests.homed.jobs.memcheck.ailing import SAID, build, room
from tests.homed.jobs.memcheck.plants import PLANTS, Ids
from tests.kit.failpoints import KillAt

pytestmark = [pytest.mark.kill, pytest.mark.slow]

LEFT = {plant.check for plant in PLANTS if plant.left}
POINTS = ("doctor.mending", "doctor.mended", "store.before_commit", "store.after_commit")


@pytest.fixture(scope="module")
def ill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ill") / "data"
    folder.mkdir()
    ids: Ids = trio.run(build, folder)
    for plant in PLANTS:
        if not plant.alone:
            plant.do(folder, ids)
    return folder


async def repair(folder: Path, points: Failpoints | None = None, *, twice: bool = False) -> list[Report]:
    found: list[Report] = []
    async with open_store(folder / "homed.db", failpoints=points) as store, trio.open_nursery() as nursery:
        looked = room(store, folder, failpoints=points or NoFailpoints())

        async def once() -> None:
            found.append(await doctor.examine(looked, CHECKS, repair=True))

        for _ in range(1 + twice):
            nursery.start_soon(once)
    return found


def killed(folder: Path, point: KillAt) -> bool:
    child = os.fork()
    if child == 0:
        trio.run(repair, folder, point)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def whole(folder: Path) -> None:
    """What holds at any moment: the file is sound, what was said is there, what rests on nothing is not told."""
    with closing(sqlite3.connect(folder / "homed.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        said = {row[0] for row in db.execute("SELECT CAST(text AS BLOB) FROM events WHERE kind = 'user'")}
        assert {text.encode() for text, _ in SAID} <= said
        torn = "SELECT count(*) FROM evidence WHERE (first IS NULL) <> (excerpt = '')"
        assert db.execute(torn).fetchone()[0] <= 1, "the one that was planted, or none"


def test_wherever_it_is_killed_the_next_repair_does_the_rest(ill: Path, tmp_path: Path, kill_rounds: int) -> None:
    rounds, cut = max(8, kill_rounds // 8), Counter[str]()
    for number in range(rounds):
        folder = Path(shutil.copytree(ill, tmp_path / str(number)))
        point = POINTS[number % len(POINTS)]
        cut[point] += killed(folder, KillAt(point, 1 + number * 37 % 40))
        whole(folder)
        trio.run(repair, folder)
        whole(folder)
        [report] = trio.run(repair, folder)
        assert {one.id for one in report.wrong()} <= LEFT, number
        assert not any(one.mends for one in report.findings if one.id not in LEFT), number
    assert all(cut[point] >= rounds // len(POINTS) // 2 for point in POINTS), cut


async def test_two_repairs_at_once_do_each_thing_once(ill: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ill, tmp_path / "data"))
    reports = await repair(folder, twice=True)
    whole(folder)
    assert all(one.status.value != "error" for report in reports for one in report.findings)
    [last] = await repair(folder)
    assert {one.id for one in last.wrong()} <= LEFT
    for id_ in ("holders", "accesses", "ledger_turns", "superseded_gone", "names_of_nothing"):
        assert sum(one.mends for report in reports for one in report.findings if one.id == id_) == 1, id_
