"""C10: other processes at the same file, against all advice, neither damage it nor lose anything."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from tests.homed.store.files import make_store

REPOSITORY = Path(__file__).parents[3]
SECONDS = float(os.environ.get("HOMED_TEST_SECONDS", "2"))
"""How long the processes work; `make soak` gives them longer."""

STORE = """
import sys, time, trio
from pathlib import Path
from homed.store.db import open_store
async def main(path, name, reopen, until, n=0):
    while time.monotonic() < until:
        async with open_store(path) as store:
            while time.monotonic() < until:
                key = f"{name}{n}"
                await store.write(lambda tx: tx.execute("INSERT INTO settings VALUES (?, '1', 0)", (key,)))
                print(key, flush=True)
                n += 1
                if reopen:
                    break
trio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "reopen", time.monotonic() + float(sys.argv[4]))
"""

SHELL = """
import sys, time, apsw
until, n = time.monotonic() + float(sys.argv[4]), 0
while time.monotonic() < until:  # as somebody who looks with sqlite3 and leaves: the last one out empties the log
    db = apsw.Connection(sys.argv[1])
    db.set_busy_timeout(5000)
    assert db.execute("SELECT count(*) FROM settings").get >= n
    n = db.execute("SELECT count(*) FROM settings").get
    db.close()
"""

BACKUP = """
import sys, time, apsw
until = time.monotonic() + float(sys.argv[4])
while time.monotonic() < until:
    db, copy = apsw.Connection(sys.argv[1]), apsw.Connection(sys.argv[1] + ".copy")
    db.set_busy_timeout(5000)
    with copy.backup("main", db, "main") as backup:
        while not backup.done:
            backup.step(7)
    assert copy.execute("PRAGMA integrity_check").get == "ok"
    copy.close()
    db.close()
"""


def run_all(path: Path, *programs: tuple[str, str, str]) -> set[str]:
    """Run ``(program, name, how)`` at once, each to its end without a fault, and return every key they reported."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), name, how, str(SECONDS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
        )
        for program, name, how in programs
    ]  # fmt: skip
    reported: list[str] = []
    for process in running:
        out, err = process.communicate(timeout=SECONDS + 300)
        assert process.returncode == 0, err
        reported += out.split()
    return set(reported)


def check(path: Path, reported: set[str]) -> None:
    """Whole, and with everything that was reported."""
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    stored = {row[0] for row in db.execute("SELECT key FROM settings")}
    db.close()
    assert len(reported) > 5
    assert reported == stored


@pytest.mark.slow
@pytest.mark.kill
def test_c10_a_daemon_s_store_a_shell_that_comes_and_goes_and_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    trio.run(partial(make_store, path, rows=0))
    check(path, run_all(path, (STORE, "a", "stay"), (SHELL, "", ""), (BACKUP, "", "")))


@pytest.mark.slow
@pytest.mark.kill
def test_c10_three_writing_processes_one_opening_and_closing_and_a_backup_leave_it_sound(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    trio.run(partial(make_store, path, rows=0))
    check(path, run_all(path, (STORE, "a", "stay"), (STORE, "b", "stay"), (STORE, "c", "reopen"), (BACKUP, "", "")))
