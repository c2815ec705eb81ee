"""B7: kill -9 in the middle of forgetting, anywhere: the next start goes on, and nothing of it stands in any file."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy  # noqa: F401 - once, and not in each fork
import pytest
import trio

from homed.failpoints import Failpoints
from tests.kit.failpoints import KillAt
from tests.kit.forgetting import World, in_fork, standing, world

POINTS = (
    "forget.asked", "forget.removing", "forget.removed", "forget.wiped", "forget.searched", "store.before_commit",
    "store.after_commit",
)  # fmt: skip
KINDS = ("event", "fact", "entity", "peer", "thread")
PEER = "telegram:zoya_4711"
GONE = ("Ludmilla", "flowerpot", "蓝色花盆", "zoya_4711")
KEPT = "The river is cold in winter, somebody said."

pytestmark = [pytest.mark.kill, pytest.mark.slow]


async def build(folder: Path) -> dict[str, str]:
    """What is to be forgotten, by kind; all of it names Ludmilla or the flowerpot."""
    async with world(folder, run=False) as here:
        await here.say(KEPT)
        first, _ = await here.say("Ludmilla hides the key beneath the blue flowerpot. 蓝色花盆")
        fact = await here.learn("Ludmilla hides a key.", first, subject="Ludmilla", subject_type="person",
                                relation="hides", object="key")  # fmt: skip
        entity = str(await here.value("SELECT id FROM entities WHERE name = 'Ludmilla'"))
        await here.say("In my flat Ludmilla has a flowerpot.", "A flowerpot.", scope=f"guest:{PEER}", peer=PEER)
        await _many(here)
        return {"event": first.id, "fact": fact, "entity": entity, "peer": PEER, "thread": first.thread}


async def _many(here: World) -> None:
    """So many that there are several pieces, and pages that are split."""
    for number in range(30):
        await here.say(f"Number {number}: Ludmilla and her flowerpot, 蓝色花盆 {'x' * (number * 13 % 200)}", "Yes.",
                       scope="group:telegram:7", peer=PEER)  # fmt: skip


async def forget(folder: Path, kind: str, target: str, points: Failpoints | None = None) -> None:
    async with world(folder, failpoints=points, searcher=in_fork(folder)) as here:
        await here.forgetting.forget(kind, target, wide=True)


async def finish(folder: Path) -> None:
    async with world(folder, searcher=in_fork(folder)) as here:
        await here.fulfilled()


def killed(folder: Path, kind: str, target: str, point: KillAt) -> bool:
    child = os.fork()
    if child == 0:
        trio.run(forget, folder, kind, target, point)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def sound(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("PRAGMA foreign_key_check").fetchone() is None
        bare = "origin = 'auto' AND NOT EXISTS (SELECT 1 FROM evidence WHERE record = records.id)"
        assert db.execute(f"SELECT count(*) FROM records WHERE {bare}").fetchone()[0] == 0, "a fact without evidence"
        assert db.execute("SELECT count(*) FROM events WHERE text = ?", (KEPT,)).fetchone()[0] == 1


def test_wherever_it_is_killed_the_next_start_forgets_the_rest(tmp_path: Path, kill_rounds: int) -> None:
    chance, cut = random.Random(9), 0
    rounds, built = max(8, kill_rounds // 6), tmp_path / "built"
    targets = trio.run(build, built)
    for number in range(rounds):
        folder = tmp_path / str(number)
        shutil.copytree(built, folder)
        order = [kind for kind in KINDS if kind != "thread"]
        for kind in chance.sample(order, len(order)):
            with closing(sqlite3.connect(folder / "homed.db")) as db:
                table = {"event": "events", "fact": "records", "entity": "entities", "peer": "inputs"}[kind]
                column = "peer" if kind == "peer" else "id"
                if not db.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (targets[kind],)).fetchone():
                    continue  # it went with another
            point = chance.choice(POINTS)
            cut += killed(folder, kind, targets[kind], KillAt(point, chance.randint(1, 6 if "store" in point else 1)))
            trio.run(finish, folder)
            sound(folder / "homed.db")
            with closing(sqlite3.connect(folder / "homed.db")) as db:
                waits = db.execute("SELECT count(*) FROM forgets WHERE kind = ?", (kind,)).fetchone()[0]
            if not waits:  # killed before the wish was stored: nothing happened
                trio.run(forget, folder, kind, targets[kind])
        assert standing(folder, *GONE) == {}, number
    assert cut > rounds, "otherwise this shows nothing"


SECRET = "Ludmilla hides the key beneath the blue flowerpot. 蓝色花盆底下藏着备用钥匙"
REASON = "INSERT INTO threshold_changes (key, was, now, reason, at) VALUES ('k', '1', '2', ?, 1)"
CRASH = "INSERT INTO crash_reports (id, plugin, at, stderr) VALUES ('crash_1', 'p', 1, ?)"


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("forget.")])
@pytest.mark.parametrize("kind", ["event", "thread"])
def test_what_was_noted_of_it_elsewhere_goes_though_nobody_knows_its_words_any_more(
    tmp_path: Path, kind: str, point: str
) -> None:
    """Logs, reports of crashes, reasons of thresholds: once the rows are gone, nothing says what to look for there."""

    async def furnish() -> dict[str, str]:
        async with world(tmp_path, run=False) as here:
            said, _ = await here.say(SECRET)
            for row in (REASON, CRASH):
                await here.store.write(lambda tx, row=row: tx.execute(row, (f"It came up: {SECRET}",)))  # type: ignore[misc]
            return {"event": said.id, "thread": said.thread}

    target = trio.run(furnish)[kind]
    logs = (tmp_path / "homed.log", tmp_path / "homed.log.1", tmp_path / "logs" / "p.log")
    logs[-1].parent.mkdir()
    for log in logs:
        log.write_text(f"WARNING it broke on {SECRET} somehow\n", "utf-8")
    assert killed(tmp_path, kind, target, KillAt(point))
    trio.run(finish, tmp_path)
    assert standing(tmp_path, "flowerpot", "蓝色花盆") == {}
    assert all(log.read_text().startswith("(forgotten)") for log in logs)
