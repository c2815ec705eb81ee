"""Beside what a user would pick instead, on the same machine and data: FTS5 in forty lines, mem0, brute force.

mem0 stores verbatim (``infer=False``), in its embedded store, without telemetry, with the very vectors of our bundled
encoder; it is installed for the occasion, in an environment of its own.  Where that cannot be, it is left out, and a
line says so.  Times of adding and searching are without those of the encoder, memory is the process's at its peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, median_ms, p99_ms
from benchmarks.quality import Encodings, at_of, text_of
from benchmarks.sets import rows
from benchmarks.sets.rows import Set

MEM0 = "mem0ai==2.2.1"
"""Another release may do other things."""

INSTALL_LIMIT, RUN_LIMIT = 600.0, 3600.0
"""Seconds."""

ROOT = Path(__file__).parent.parent
DATA = ("english", "chinese")
FIRST = 10


@dataclass(frozen=True, slots=True)
class Result:
    """``hits`` by question; seconds of adding all and of each search; bytes on the disk; MB at the peak."""

    hits: Mapping[str, Sequence[str]]
    added: float
    took: Sequence[float]
    disk: int
    rss: int
    child: int = 0


def measure() -> Iterator[Figure]:
    """Some minutes, most of it mem0's."""
    encode = Encodings()
    with tempfile.TemporaryDirectory() as folder:
        python = _mem0_python(Path(folder))
        for name in DATA:
            yield from _beside(name, rows.read(rows.DATA / name), encode, python)


def _beside(name: str, of: Set, encode: Encodings, python: Path | None) -> Iterator[Figure]:
    """Ours against each of the others."""
    plain = [sys.executable, "-m", "benchmarks.peer_plain"]
    commands = {"FTS5": [*plain, "fts5"], "brute force": [*plain, "matrix"]}
    if python is not None:
        commands["mem0"] = [str(python), str(Path(__file__).with_name("peer_mem0.py"))]
    results = {peer: _with_vectors(of, encode, command) for peer, command in commands.items()}
    ours = _homed(of)
    recall = {peer: _recall(of, result) for peer, result in results.items()}
    for peer, other in results.items():
        count = len(of.events)
        yield Figure(
            f"{name}: R@10", 100 * _recall(of, ours), 100 * recall[peer], f"{peer} {100 * recall[peer]:.1f}", "%"
        )
        yield Figure(f"{name}: add an event", 1000 * ours.added / count, 1000 * other.added / count, peer)
        yield Figure(
            f"{name}: search (p99 {p99_ms(ours.took):.1f} ms)", median_ms(ours.took), median_ms(other.took),
            f"{peer} (p99 {p99_ms(other.took):.1f} ms)",
        )  # fmt: skip
        yield Figure(f"{name}: on the disk", ours.disk / 1e6, max(other.disk, 1) / 1e6, peer, "MB")
        yield Figure(f"{name}: memory (its embedder {ours.child} MB)", ours.rss, other.rss, peer, "MB")


def _recall(of: Set, result: Result) -> float:
    asked = [query for query in of.queries if query.gold]
    shares = [len(set(query.gold).intersection(result.hits[query.id][:FIRST])) / len(query.gold) for query in asked]
    return sum(shares) / len(shares)


def _homed(of: Set) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), of)
        command = [sys.executable, "-m", "benchmarks.peer_homed", folder]
        return _run(command, Path(folder), {**os.environ, "TMPDIR": folder})


def _with_vectors(of: Set, encode: Encodings, command: Sequence[str]) -> Result:
    """Of a program that looks the vectors up."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), of)
        texts = [*(text_of(event) for event in of.events), *(query.text for query in of.queries)]
        np.savez(Path(folder) / "vectors.npz", vectors=encode.all(texts))
        return _run([*command, folder], Path(folder), {"PATH": os.environ["PATH"]})


def _write(folder: Path, of: Set) -> None:
    said = [
        {"id": e.id, "history": e.history, "session": e.session, "at": at_of(e), "text": text_of(e)} for e in of.events
    ]
    sought = [{"id": query.id, "history": query.history, "text": query.text} for query in of.queries]
    (folder / "said.json").write_text(json.dumps(said), "utf-8")
    (folder / "sought.json").write_text(json.dumps(sought), "utf-8")


def _run(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Result:
    done = subprocess.run(
        command, cwd=ROOT, env=dict(env), capture_output=True, text=True, timeout=RUN_LIMIT, check=False
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command[:3]} failed: {done.stderr[-2000:]}")
    answers: dict[str, Any] = json.loads((folder / "answers.json").read_text("utf-8"))
    return Result(**answers)


def _mem0_python(folder: Path) -> Path | None:
    """The interpreter of an environment that has mem0; None, and a word about it, where none can be made."""
    python = folder / "mem0" / "bin" / "python"
    steps = (
        [sys.executable, "-m", "venv", str(folder / "mem0")],
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", MEM0],
    )
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True, timeout=INSTALL_LIMIT)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"mem0 is left out: {MEM0} could not be installed ({type(error).__name__}).", flush=True)
        return None
    return python
