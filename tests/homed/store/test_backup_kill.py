"""C10, C12: kill -9 in the middle of a backup and of a restore, again and again."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from homed.failpoints import Failpoints
from homed.store.backup import backup, backups, look
from homed.store.db import open_store
from homed.store.files import MediaFiles
from homed.store.restore import restore
from tests.homed.store.test_backup import HASH, filled, rows
from tests.kit.failpoints import KillAt

BACKUP = ("backup.copied", "backup.listed", "backup.settled")
RESTORE = ("restore.checked", "restore.copied", "restore.placed", "restore.announced", "restore.swapped")

pytestmark = [pytest.mark.kill, pytest.mark.slow]


def killed(work: Callable[[Failpoints], object], point: str) -> bool:
    """Run it in a child that dies there; whether it did."""
    child = os.fork()
    if child == 0:
        work(KillAt(point))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def events(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return int(db.execute("SELECT count(*) FROM events").fetchone()[0])


async def _backup(folder: Path, points: Failpoints | None = None) -> None:
    async with open_store(folder / "homed.db") as store:
        await backup(store, MediaFiles(folder / "media"), folder / "backups", keep=100, failpoints=points)


def test_a_backup_is_whole_or_not_there(tmp_path: Path, kill_rounds: int) -> None:
    trio.run(filled, tmp_path)
    chance, whole = random.Random(5), 0
    for number in range(max(12, kill_rounds // 10)):
        point = chance.choice(BACKUP)
        assert killed(lambda points: trio.run(_backup, tmp_path, points), point)
        whole += point == "backup.settled"
        made = backups(tmp_path / "backups")
        assert len(made) == whole, (number, point)
        assert {path.name for path in (tmp_path / "backups").glob("homed-*")} == {info.path.name for info in made}
    trio.run(_backup, tmp_path)
    assert not list((tmp_path / "backups").glob(".making-*")), "what was cut off is cleared away"
    for info in backups(tmp_path / "backups"):
        assert events(info.path / "homed.db") == 2000


async def _write(folder: Path, number: int) -> None:
    async with open_store(folder / "homed.db") as store:
        await store.write(lambda tx: rows(tx, 10_000 + number, 1))


def test_a_restore_leaves_the_old_one_or_the_new_one_and_both_can_be_had(tmp_path: Path, kill_rounds: int) -> None:
    trio.run(filled, tmp_path)
    trio.run(_backup, tmp_path)
    source = backups(tmp_path / "backups")[0].path
    path, media = tmp_path / "homed.db", tmp_path / "media"
    chance = random.Random(6)
    for number in range(max(20, kill_rounds // 8)):
        trio.run(_write, tmp_path, number)  # what the backup does not have
        point = chance.choice(RESTORE)
        at = 1e9 + number * 10
        assert killed(lambda points, at=at: restore(path, media, source, wall=lambda: at, failpoints=points), point)  # type: ignore[misc]
        trio.run(_write, tmp_path, 5000 + number)  # a start finishes what was announced
        done = point in ("restore.announced", "restore.swapped")
        assert events(path) == (2001 if done else 2002), point
        if done:
            assert events(sorted((tmp_path / "replaced").glob("*/homed.db"))[-1]) == 2001
        assert (media / HASH[:2] / HASH).exists()
        assert restore(path, media, source, wall=lambda at=at: at + 5).missing == []  # type: ignore[misc]
        assert events(path) == 2000
    assert look(source).counts["events"] == 2000
