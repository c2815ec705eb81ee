"""mem0, which a user might pick instead: run by `peers` in an environment of its own, with mem0 and numpy alone.

``python peer_mem0.py FOLDER``: FOLDER holds ``said.json`` (history, id, text), ``sought.json`` (history, id, text) and
``vectors.npz`` (of every text, by its place).  Writes ``answers.json``.  No language model (``infer=False``), nothing
leaves the machine: vectors are looked up, telemetry is off, the store is its embedded one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main() -> int:
    """Store all, ask all."""
    folder = Path(sys.argv[1])
    os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "mem0"), OPENAI_API_KEY="none", HOME=str(folder))
    import numpy as np

    said = json.loads((folder / "said.json").read_text("utf-8"))
    sought = json.loads((folder / "sought.json").read_text("utf-8"))
    matrix = np.load(folder / "vectors.npz")["vectors"]
    texts = [one["text"] for one in [*said, *sought]]
    known = dict(zip(texts, matrix, strict=True))
    memory = _memory(folder, known, matrix.shape[1])
    start = time.perf_counter()
    for one in said:
        memory.add(one["text"], user_id=one["history"], infer=False, metadata={"event": one["id"]})
    added = time.perf_counter() - start
    hits, took = {}, []
    for one in sought:
        start = time.perf_counter()
        found = memory.search(one["text"], filters={"user_id": one["history"]}, top_k=10, threshold=0.0)
        took.append(time.perf_counter() - start)
        hits[one["id"]] = [hit["metadata"]["event"] for hit in found["results"]]
    peak = int(Path("/proc/self/status").read_text("ascii").partition("VmHWM:")[2].split()[0]) // 1024
    answers = {"hits": hits, "took": took, "added": added, "rss": peak, "disk": _size(folder / "store")}
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    return 0


def _memory(folder: Path, known: dict[str, Any], dims: int) -> Any:
    from mem0 import Memory

    store = {"path": str(folder / "store"), "embedding_model_dims": dims, "on_disk": True}
    made = Memory.from_config(
        {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": str(folder / "store" / "h.db")}
    )
    made.embedding_model = _Known(known)
    return made


class _Known:
    """An embedder that has seen every text before."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text."""
        del memory_action
        return [float(value) for value in self._known[text]]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """Of several."""
        return [self.embed(text, memory_action) for text in texts]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())
