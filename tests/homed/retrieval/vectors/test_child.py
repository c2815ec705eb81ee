"""The process that builds the trees: what it measures, and that it does not outlive who asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from homed.retrieval.vectors import child
from homed.retrieval.vectors.flat import best
from homed.retrieval.vectors.indexed import About, Draft, Indexed
from homed.retrieval.vectors.rows import Block, Part
from tests.homed.retrieval.vectors.indexes import clustered

DIMS = 32


def drafted(folder: Path, vectors: NDArray[np.float32]) -> Block:
    """The files a child finds."""
    ids = np.arange(10, 10 + len(vectors), dtype=np.int64)
    block = Block(ids, 2 * ids, vectors)
    draft = Draft(folder)
    draft.add(block)
    assert (draft.close(), draft.mark) == (len(vectors), int(ids[-1]))
    return block


def test_the_width_it_measures_finds_enough_and_looks_at_far_from_all(tmp_path: Path) -> None:
    block = drafted(tmp_path, clustered(1, 8000, DIMS))
    made = child.build(tmp_path, DIMS, 8000)
    about = About("x", DIMS, 8000, 8009, **made)  # type: ignore[arg-type]
    assert 0 < about.width < 0.75 * 8000
    index = Indexed(Part(1, DIMS, "owner", "event"), about, tmp_path, tree=True)
    shares = []
    for query in clustered(2, 100, DIMS):
        true, found = best(block, query, 10), index.best(query, 10)
        shares.append(len(set(true.ids.tolist()) & set(found.ids.tolist())) / 10)
        assert (found.items == 2 * found.ids).all()
        assert np.allclose(found.cosines, block.vectors[found.ids - 10] @ query, atol=1e-6)
    assert np.mean(shares) >= 0.95


def test_the_same_vectors_make_the_same_trees(tmp_path: Path) -> None:
    sums = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        drafted(tmp_path / name, clustered(1, 3000, DIMS))
        sums.append(child.build(tmp_path / name, DIMS, 3000))
    assert sums[0] == sums[1]


def test_who_asks_for_many_looks_wider(tmp_path: Path) -> None:
    block = drafted(tmp_path, clustered(1, 8000, DIMS))
    about = About("x", DIMS, 8000, 8009, **child.build(tmp_path, DIMS, 8000))  # type: ignore[arg-type]
    index = Indexed(Part(1, DIMS, "owner", "event"), about, tmp_path, tree=True)
    query = clustered(2, 1, DIMS)[0]
    assert len(index.best(query, 1500)) == 1500
    assert index.best(query, 9000).ids.tolist() == best(block, query, 9000).ids.tolist(), "all of them, exactly"


@pytest.mark.slow
def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    drafted(tmp_path, clustered(1, 8000, DIMS))
    command = [sys.executable, "-m", "homed.retrieval.vectors.child", str(tmp_path), str(DIMS), "8000"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, b"")
    (tmp_path / "tree").unlink(missing_ok=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["width"] > 0
