"""E9, B11: killed anywhere while vectors are made and indexes swapped, nothing is lost and every search is exact."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np
import pytest
import trio

from homed.failpoints import NoFailpoints
from homed.retrieval.vectors import Vectors, rows
from homed.retrieval.vectors.rows import Part
from homed.store.db import open_store
from homed.store.rows import Tx
from tests.kit.dense import directions
from tests.kit.vector_child import DIMS, REACHED, SCOPES, keeper

REPOSITORY = Path(__file__).parents[4]
QUERIES = directions(3, 5, DIMS)
MEANT = "e.no_memory = 0 AND e.kind <> 'note' AND e.layer <> 'archived'"


@contextmanager
def children() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.kit.vector_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    ) as server:
        yield server
        assert server.stdin is not None
        server.stdin.close()
    assert server.returncode == 0


def round_(server: subprocess.Popen[str], folder: Path, failpoint: str, nth: int, space: str) -> int:
    """One child to its end; its exit code (negative: the signal)."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{folder} {failpoint} {nth} {space} 15\n")
    server.stdin.flush()
    line = server.stdout.readline()
    assert line.startswith("end "), "the fork server died"
    return int(line.split()[1])


def check_rows(folder: Path) -> None:
    """What must be true of the tables after any kill."""
    db = apsw.Connection(str(folder / "homed.db"))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    assert db.execute("PRAGMA foreign_key_check").get is None
    current = db.execute("SELECT id FROM vector_spaces ORDER BY at = 0 DESC, at DESC LIMIT 1").get
    entering = db.execute("SELECT count(*) FROM vector_spaces WHERE at = 0").get
    lost = db.execute(
        f"SELECT count(*) FROM events e WHERE {MEANT} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.kind = 'event'"
        " AND v.item = e.seq AND v.space = ?) AND NOT EXISTS (SELECT 1 FROM vector_todo t WHERE t.kind = 'event'"
        " AND t.item = e.seq)",
        (current,),
    ).get
    assert entering or lost == 0, "neither has a vector nor waits for one"
    stray = db.execute(
        f"SELECT count(*) FROM vectors v WHERE v.kind = 'event' AND NOT EXISTS (SELECT 1 FROM events e"
        f" WHERE e.seq = v.item AND e.scope = v.scope AND {MEANT})"
    ).get
    assert stray == 0, "a vector of what has none"
    db.close()


async def check_searches(folder: Path) -> None:
    """Whatever the files of the index are, each search finds what looking at all rows finds."""
    async with open_store(folder / "homed.db") as store:
        vectors = Vectors()
        await keeper(store, vectors, folder, NoFailpoints()).open()
        await store.read(lambda tx: _compare(tx, vectors))


def _compare(tx: Tx, vectors: Vectors) -> None:
    for (space, fingerprint), scope in (
        (s, c) for s in tx.all("SELECT id, fingerprint FROM vector_spaces") for c in SCOPES
    ):
        truth = rows.after(tx, Part(space, DIMS, scope, "event"), 0, 100_000)
        for query in QUERIES:
            found = vectors.nearest(tx, scope=scope, vector=query, space=fingerprint, kinds=["event"], limit=10)
            best = sorted((truth.vectors @ query).tolist(), reverse=True)[:10]
            assert np.allclose([near.cosine for near in found], best, atol=1e-5)
            assert {near.item for near in found} <= set(truth.items.tolist())


def check_complete(folder: Path, space: str) -> None:
    """After an undisturbed run everything has its vector, of this space, and there are indexes."""
    db = apsw.Connection(str(folder / "homed.db"))
    assert list(db.execute("SELECT fingerprint FROM vector_spaces")) == [(space,)]
    assert db.execute("SELECT count(*) FROM vector_todo").get == 0
    assert db.execute("SELECT count(*) FROM vectors WHERE kind = 'record'").get > 0
    assert len(list((folder / "vectors").iterdir())) == 2
    db.close()


@pytest.mark.kill
@pytest.mark.slow
def test_e9_wherever_it_is_killed_nothing_is_lost_and_every_search_is_exact(tmp_path: Path, kill_rounds: int) -> None:
    chance = random.Random(5)
    killed = dict.fromkeys(REACHED, 0)
    with children() as server:
        for number in range(max(3, kill_rounds // 20)):
            folder = tmp_path / str(number)
            folder.mkdir()
            for failpoint in chance.sample(REACHED, len(REACHED)):
                space = chance.choice(["one", "one", "two"])
                code = round_(server, folder, failpoint, chance.randint(1, 4), space)
                assert code in (0, -signal.SIGKILL)
                killed[failpoint] += code == -signal.SIGKILL
                check_rows(folder)
                trio.run(check_searches, folder)
            assert round_(server, folder, "none", 1, "two") == 0
            check_rows(folder)
            trio.run(check_searches, folder)
            check_complete(folder, "two")
    assert min(killed.values()) > 0, killed
    assert sum(killed.values()) > 0.7 * len(REACHED) * max(3, kill_rounds // 20), killed
