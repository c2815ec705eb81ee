"""Builds the trees over a file of vectors: a process of its own, which gives way to everything else.

``python -m homed.retrieval.vectors.child FOLDER DIMS COUNT``: writes ``FOLDER/tree`` and one line on stdout,
``{"width": …, "recall": …, "sums": {…}}``.  It ends when its stdin does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homed.retrieval.vectors.indexed import MEASURED, checksum

if TYPE_CHECKING:
    from numpy.typing import NDArray

TREES = 24
"""More cost time and space, and find no more for the same work (docs/benchmarks.md)."""

SEED = 1
"""The same vectors make the same trees."""

ENOUGH = 0.965
"""The share of the ``MEASURED`` nearest that a search must find, in the mean of the questions it is measured by."""

PAYS = 0.75
"""Of the vectors, as a width: a wider search by the trees takes longer than looking at all of them (measured)."""

QUESTIONS = 100
BLENDED = 4
_NARROWEST = 500


def build(folder: Path, dims: int, count: int) -> dict[str, object]:
    """Build the trees, and measure how wide a search must be to find ``ENOUGH``: that depends on the vectors.

    100 000 of 512 dimensions: 15 s.  Returns what belongs into ``about.json``: the width (0 where only one that does
    not pay would do: then there is no tree), the recall with it, and the sums of the files.
    """
    from annoy import AnnoyIndex

    vectors = np.memmap(folder / "vectors", np.dtype("<f4"), "r", shape=(count, dims))
    path = folder / "tree"
    tree = AnnoyIndex(dims, "angular")
    tree.set_seed(SEED)
    tree.on_disk_build(str(path))
    for place, vector in enumerate(vectors):
        tree.add_item(place, vector)
    tree.build(TREES, 1)
    width, recall = measured(tree, vectors)
    tree.unload()
    if width:
        _on_disk(path)
    else:
        path.unlink()
    names = ("vectors", "ids", "tree") if width else ("vectors", "ids")
    return {"width": width, "recall": recall, "sums": {name: checksum(folder / name) for name in names}}


def measured(tree: Any, vectors: NDArray[np.float32]) -> tuple[int, float]:
    """The narrowest search that surely finds enough, and its recall at the least; (0, 1.0) if none of those pays."""
    count = len(vectors)
    questions = _questions(vectors)
    cosines = np.concatenate([vectors[at : at + 8192] @ questions.T for at in range(0, count, 8192)])
    most = min(MEASURED, count)
    best = np.argpartition(-cosines, most - 1, axis=0)[:most].T
    width = _NARROWEST
    while (surely := width * 5 // 4) < PAYS * count:  # a step beyond: so few questions are off by as much
        recall = _recall(tree, questions, best, width)
        if recall >= ENOUGH:
            return surely, recall
        width = surely
    return 0, 1.0


def _questions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """As hard as what will be asked: a question is no text of the kind that was stored, and near to none.

    A blend of four was at least as hard as real questions, in two sets of them with 20 000 and 100 000 vectors.
    """
    chance = np.random.default_rng(SEED)
    made = vectors[chance.integers(0, len(vectors), (BLENDED, QUESTIONS))].sum(0)
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    return np.asarray(made / np.where(lengths > 0, lengths, 1), np.float32)


def _recall(tree: Any, questions: NDArray[np.float32], best: NDArray[np.intp], width: int) -> float:
    most = best.shape[1]
    found = [set(tree.get_nns_by_vector(question.tolist(), most, width)) for question in questions]
    return float(np.mean([len(near & set(true)) / most for near, true in zip(found, best.tolist(), strict=True)]))


def _on_disk(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _end_with_parent() -> None:
    """Wait for the end of stdin.  Its bytes are nothing to us; the interpreter is left at once, in whatever C code."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> None:
    """Build, say so, end."""
    os.nice(19)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder, dims, count = sys.argv[1:4]
    made = build(Path(folder), int(dims), int(count))
    os.write(1, (json.dumps(made) + "\n").encode())
    os._exit(0)  # the thread that reads stdin cannot be waited for


if __name__ == "__main__":
    main()
