"""How a memory's speed grows with its size: searching by words and vectors, and finding what was said just now.

Beside it, on the same data in the same run, what any such search needs at the least: a bare FTS5 query, and the product
of one vector with the matrix of all.  Texts have the words of a language (Zipf), vectors are synthetic: clusters, as
talk has topics.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from benchmarks.curves import picture
from benchmarks.figures import Figure, median_ms, p99_ms
from benchmarks.memory import THREAD, Talk
from benchmarks.plain import Fts5
from homed.config.environment import child_environment
from homed.memory import inputs, threads
from homed.memory.events import append
from homed.memory.ports import Space
from homed.memory.records import EventKind, Input, NewEvent, NewInput
from homed.retrieval import index
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.vectors import Vectors, rows
from homed.retrieval.vectors.keeper import Keeper
from homed.retrieval.vectors.making import Bench, in_child
from homed.store.db import Store, open_store
from homed.store.rows import Tx

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZES = (1_000, 10_000, 100_000)
MILLION = 1_000_000
DIMS = 512
SMALL_DIMS = 128
"""At a million: the matrix it is compared with would take 2 GB else."""
ROUNDS = 60
WRITTEN = 2_000
"""Events of one transaction."""
TOPICS = 200
PICTURE = Path(__file__).parent.parent / "build" / "growth.svg"

OURS, ASKING, BARE = "search, words and vectors", "said and found", "bare FTS5 + matrix product"


@dataclass(frozen=True, slots=True)
class _Grown:
    """Milliseconds of everything at one size; ``built``: seconds that making the index took, 0 without one."""

    search: Sequence[float]
    words: Sequence[float]
    bare: Sequence[float]
    found: Sequence[float]
    built: float
    stored: float


def measure() -> Iterator[Figure]:
    """At 1 000, 10 000 and 100 000 events; some minutes.  Writes the curves to build/growth.svg."""
    yield from _measure(SIZES)


def million() -> Iterator[Figure]:
    """The same with a million: 13 minutes on an idle machine, and 3 GB."""
    yield from _measure((*SIZES, MILLION))


def _measure(sizes: Sequence[int]) -> Iterator[Figure]:
    curves: dict[str, list[tuple[float, float]]] = {OURS: [], BARE: [], ASKING: []}
    for size in sizes:
        grown = trio.run(_at_size, size)
        bare = median_ms(grown.bare)
        for name, samples in ((OURS, grown.search), (BARE, grown.bare), (ASKING, grown.found)):
            curves[name].append((size, median_ms(samples)))
        yield Figure(
            f"search by words and vectors, {size} events (p99 {p99_ms(grown.search):.1f} ms)",
            median_ms(grown.search), bare, f"FTS5 query + matrix product (p99 {p99_ms(grown.bare):.1f} ms)",
        )  # fmt: skip
        yield Figure(
            f"search by words alone, {size} events (p99 {p99_ms(grown.words):.1f} ms)",
            median_ms(grown.words), bare, "the same",
        )  # fmt: skip
        yield Figure(
            f"say and find it, {size} events (p99 {p99_ms(grown.found):.1f} ms)",
            median_ms(grown.found), 1000, "a second",
        )  # fmt: skip
        yield Figure(f"store and index an event, {size} events", grown.stored * 1000, 1, "a millisecond")
        if grown.built:
            yield Figure(f"make the index of {size} vectors", grown.built, 60, "a minute", "s")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture("Latency by size of the memory", "events", "milliseconds (median)", curves), "utf-8")


class Directions:
    """Synthetic vectors of unit length around some topics, always the same ones."""

    def __init__(self, dims: int) -> None:
        import numpy as np

        self._chance = np.random.default_rng(7)
        self._topics = self._chance.standard_normal((TOPICS, dims)).astype(np.float32)

    def some(self, count: int) -> NDArray[np.float32]:
        """Shape (count, dims)."""
        import numpy as np

        of = self._chance.integers(0, TOPICS, count)
        made = self._topics[of] + 0.8 * self._chance.standard_normal((count, self._topics.shape[1]))
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


async def _at_size(size: int) -> _Grown:
    import numpy as np

    dims = DIMS if size < MILLION else SMALL_DIMS
    space, talk, directions = Space("growth", dims, 0.2), Talk(), Directions(dims)
    with tempfile.TemporaryDirectory() as folder:
        async with open_store(Path(folder) / "homed.db") as store:
            start = time.perf_counter()
            texts = await _filled(store, talk, size)
            stored = (time.perf_counter() - start) / size
            matrix = await _with_vectors(store, directions, space, size)
            async with _indexed(store, Path(folder)) as (vectors, built):
                asked = [Question(talk.text(8), vector, space) for vector in directions.some(ROUNDS)]
                ranker = Ranker(lambda: None, vectors)
                await _search(store, ranker, asked[0])  # what is read into memory once
                search = [await _search(store, ranker, question) for question in asked]
                words = [await _search(store, ranker, Question(question.text)) for question in asked]
                found = [await _said_and_found(store, ranker, at) for at in range(ROUNDS)]
            plain = Fts5(texts, f"{folder}/plain.db")
            bare = [_bare(plain, matrix, question) for question in asked]
            plain.close()
            assert np.isfinite(matrix).all()
    return _Grown(search, words, bare, found, built, stored)


async def _filled(store: Store, talk: Talk, size: int) -> list[str]:
    texts = [talk.text(30) for _ in range(size)]
    for at in range(0, size, WRITTEN):
        await store.write(lambda tx, at=at: _append(tx, texts[at : at + WRITTEN], at))  # type: ignore[misc]
    return texts


def _append(tx: Tx, texts: Sequence[str], first: int) -> None:
    given: Input | None = None
    for at, text in enumerate(texts):
        if given is None or at % THREAD == 0:
            given = _input(tx, float(first + at))
        append(tx, given, NewEvent(EventKind.ASSISTANT if at % 2 else EventKind.USER, text), at=float(first + at))
    index.catch_up(tx)
    tx.execute("DELETE FROM vector_todo")
    tx.execute("UPDATE turns SET ended_at = 1.0 WHERE ended_at IS NULL")
    tx.execute("UPDATE events SET layer = 'cold' WHERE layer = 'context'")


def _input(tx: Tx, at: float) -> Input:
    thread = threads.create(tx, scope="owner", channel="bench", title="", at=at)
    new = NewInput(thread.id, "owner", "bench", "bench:owner", "owner", "said")
    accepted, _ = inputs.accept(tx, new, at=at)
    return inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=at)


async def _with_vectors(store: Store, directions: Directions, space: Space, size: int) -> NDArray[np.float32]:
    import numpy as np

    matrix = np.empty((size, space.dims), np.float32)
    seqs = [int(row[0]) for row in await store.read(lambda tx: tx.all("SELECT seq FROM events ORDER BY seq"))]
    for at in range(0, size, WRITTEN):
        some = matrix[at : at + WRITTEN] = directions.some(min(WRITTEN, size - at))

        def write(tx: Tx, at: int = at, some: NDArray[np.float32] = some) -> None:
            number = rows.enter(tx, space)
            tx.many(
                "INSERT INTO vectors (space, scope, kind, item, part, data) VALUES (?, 'owner', 'event', ?, 0, ?)",
                [(number, seqs[at + n], rows.encoded(vector)) for n, vector in enumerate(some)],
            )

        await store.write(write)
    return matrix


@asynccontextmanager
async def _indexed(store: Store, folder: Path) -> AsyncIterator[tuple[Vectors, float]]:
    """The vectors with their index, if they are so many that they have one, and the seconds that took."""
    vectors = Vectors()
    keeper = Keeper(vectors.parts, Bench(store, folder / "vectors", in_child(child_environment(), "bench:index")))
    start = time.perf_counter()
    await keeper.look()
    built = time.perf_counter() - start
    yield vectors, built if any((folder / "vectors").rglob("*")) else 0.0


async def _search(store: Store, ranker: Ranker, question: Question) -> float:
    start = time.perf_counter()
    await store.read(
        lambda tx: ranker.search(tx, scope="owner", layer=("context", "cold"), query=question, limit=10)
    )  # fmt: skip
    return time.perf_counter() - start


async def _said_and_found(store: Store, ranker: Ranker, at: int) -> float:
    """Seconds from before something is stored until a search has found it."""
    word = f"kestrel-{at}-{at * 7919 % 1000}"

    def say(tx: Tx) -> str:
        event = append(tx, _input(tx, float(at)), NewEvent(EventKind.USER, f"The code of the day is {word}."), at=1.0)
        index.catch_up(tx)
        return event.id

    start = time.perf_counter()
    id_ = await store.write(say)
    hits = await store.read(
        lambda tx: ranker.search(tx, scope="owner", layer="context", query=f"what was {word}", limit=10)
    )  # fmt: skip
    took = time.perf_counter() - start
    assert hits[0].id == id_, "what was said just now is not found"
    return took


def _bare(plain: Fts5, matrix: NDArray[np.float32], question: Question) -> float:
    import numpy as np

    assert question.vector is not None
    start = time.perf_counter()
    plain(question.text, 10)
    cosines = matrix @ question.vector
    np.argpartition(cosines, -min(10, len(cosines)))[-10:]
    return time.perf_counter() - start
