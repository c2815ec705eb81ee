"""C10: other processes at the same file, against all advice, do not damage it."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from tests.homed.store.files import make_store

REPOSITORY = Path(__file__).parents[3]
SECONDS = 1.5

WRITER = """
import sys, time, trio
from pathlib import Path
from homed.store.db import open_store
async def main(path, name, reopen):
    until, n = time.monotonic() + float(sys.argv[4]), 0
    while time.monotonic() < until:
        async with open_store(path) as store:
            while time.monotonic() < until:
                key = f"{name}{n}"
                await store.write(lambda tx: tx.execute("INSERT INTO settings VALUES (?, '1', 0)", (key,)))
                print(key, flush=True)
                n += 1
                if reopen:
                    break
trio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "reopen")
"""


def back_up(source: Path, target: Path) -> None:
    """Copy with SQLite's own backup, while others write."""
    db, copy = apsw.Connection(str(source)), apsw.Connection(str(target))
    with copy.backup("main", db, "main") as backup:
        backup.step(-1)
    assert copy.execute("PRAGMA integrity_check").get == "ok"
    copy.close()
    db.close()


@pytest.mark.slow
def test_c10_three_writing_processes_one_opening_and_closing_and_a_backup_leave_it_sound(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    trio.run(partial(make_store, path, rows=0))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, how, str(SECONDS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
        )
        for name, how in (("a", "stay"), ("b", "stay"), ("c", "reopen"))
    ]  # fmt: skip
    for number in range(5):
        back_up(path, tmp_path / f"backup{number}.db")
    reported: list[str] = []
    for writer in writers:
        out, err = writer.communicate(timeout=60)
        assert writer.returncode == 0, err
        reported += out.split()
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    stored = {row[0] for row in db.execute("SELECT key FROM settings")}
    db.close()
    assert {key[0] for key in reported} == {"a", "b", "c"}
    assert set(reported) <= stored
