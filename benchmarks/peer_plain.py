"""Plain rankers for `peers`, each in a process of its own: ``python -m benchmarks.peer_plain fts5|matrix FOLDER``.

Reads and writes what `peer_mem0` does.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.plain import Encoder, Fts5

Ranker = Callable[[str, int], list[int]]


def peak(pid: int | str = "self") -> int:
    """MB that a process has had at the most.  Not ``ru_maxrss``: that begins with what its parent had."""
    said = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(said.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> int:
    """Store all, ask all."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    said = json.loads((folder / "said.json").read_text("utf-8"))
    sought = json.loads((folder / "sought.json").read_text("utf-8"))
    histories: dict[str, list[dict[str, Any]]] = {}
    for one in said:
        histories.setdefault(one["history"], []).append(one)
    make = _matrices(folder, said, sought) if kind == "matrix" else _fts5(folder)
    start = time.perf_counter()
    rankers = {history: make(events) for history, events in histories.items()}
    added = time.perf_counter() - start
    hits, took = {}, []
    for one in sought:
        start = time.perf_counter()
        found = rankers[one["history"]](one["text"], 10)
        took.append(time.perf_counter() - start)
        hits[one["id"]] = [histories[one["history"]][at]["id"] for at in found]
    disk = sum(file.stat().st_size for file in folder.glob("plain-*"))
    answers = {"hits": hits, "took": took, "added": added, "rss": peak(), "disk": disk}
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    return 0


def _fts5(folder: Path) -> Callable[[list[dict[str, Any]]], Ranker]:
    made: list[Fts5] = []

    def make(events: list[dict[str, Any]]) -> Ranker:
        made.append(Fts5([event["text"] for event in events], str(folder / f"plain-{len(made)}.db")))
        return made[-1]

    return make


def _matrices(folder: Path, said: list[dict[str, Any]], sought: list[dict[str, Any]]) -> Callable[..., Ranker]:
    import numpy as np

    vectors = np.load(folder / "vectors.npz")["vectors"]
    known = {one["text"]: vector for one, vector in zip([*said, *sought], vectors, strict=True)}

    def make(events: list[dict[str, Any]]) -> Ranker:
        matrix = np.stack([known[event["text"]] for event in events])
        np.save(folder / f"plain-{len(events)}-{events[0]['history']}.npy", matrix)
        return Encoder(matrix, known.__getitem__)

    return make


if __name__ == "__main__":
    raise SystemExit(main())
