"""Embedders: how long a question and bulk take, what they weigh, and how well meanings are told apart in two languages.

``pairs.tsv``: a statement and a question about it that shares few words with it, in English and in Chinese each.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from benchmarks.figures import Figure, median_ms, p99_ms
from homed.config.environment import child_environment
from homed.memory.ports import Embedder
from homed.retrieval.embed.choice import Bundled, Source, Tfidf
from homed.retrieval.embed.make import MakePorts, make
from homed.retrieval.embed.worker import WorkerPorts

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

PAIRS = Path(__file__).with_name("pairs.tsv")
QUESTIONS = 100
BULK = 1_000
LIMIT = 1200.0
"""Milliseconds that a turn has for all of its recall."""


def measure() -> Iterator[Figure]:
    """The bundled one beside hashed words, in the same run."""
    figures: list[Figure] = []
    trio.run(_measured, figures)
    yield from figures


async def _measured(figures: list[Figure]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = await _quality(folder, Tfidf())
        for round_ in ("from its package", "mapped"):
            figures.append(await _first(folder, round_))
        async with _opened(folder, Bundled()) as embedder:
            figures += await _speed(embedder)
        for name, value in (await _quality(folder, Bundled())).items():
            figures.append(Figure(f"bundled embedder, {name}, R@1", value, plain[name] or 1.0, "hashed words", "%"))


@asynccontextmanager
async def _opened(folder: str, source: Source) -> AsyncIterator[Embedder]:
    worker = WorkerPorts(Path(folder) / "run", "bench-embed", child_environment())
    ports = MakePorts(Path(folder), Path(folder) / "made", worker, None, lambda _: None)
    async with make(source, ports) as made:
        await made.prepare()
        assert made.embedder is not None
        yield made.embedder


async def _first(folder: str, how: str) -> Figure:
    async with _opened(folder, Bundled()) as embedder:
        begun = time.perf_counter()
        await embedder.embed(["Where is my key?"], query=True)
        took = (time.perf_counter() - begun) * 1000
    return Figure(f"bundled embedder, first question, its process started for it, {how}", took, LIMIT, "recall's limit")


async def _speed(embedder: Embedder) -> list[Figure]:
    await embedder.embed(["warm"], query=True)
    taken = []
    for number in range(QUESTIONS):
        begun = time.perf_counter()
        await embedder.embed([f"Where did we put the box with number {number}?"], query=True)
        taken.append(time.perf_counter() - begun)
    texts = [f"This is message {number}, about the trip to the lake and what to cook." for number in range(BULK)]
    await embedder.embed(texts[:1])
    begun = time.perf_counter()
    await embedder.embed(texts)
    each = (time.perf_counter() - begun) / BULK
    name = f"bundled embedder, a question, warm (p99 {p99_ms(taken):.1f} ms)"
    return [
        Figure(name, median_ms(taken), LIMIT, "recall's limit"),
        Figure("bundled embedder, a text in bulk", each * 1000, median_ms(taken), "a question"),
    ]


async def _quality(folder: str, source: Source) -> dict[str, float]:
    """Percent of questions whose statement is the nearest of all, by languages."""
    rows = [line.split("\t") for line in PAIRS.read_text("utf-8").splitlines()]
    columns = [list(column) for column in zip(*rows, strict=True)]
    async with _opened(folder, source) as embedder:
        english, chinese, asked_english, asked_chinese = [await embedder.embed(column) for column in columns]
    return {
        "English": _first_share(asked_english, english),
        "Chinese": _first_share(asked_chinese, chinese),
        "Chinese question, English text": _first_share(asked_chinese, english),
        "English question, Chinese text": _first_share(asked_english, chinese),
    }


def _first_share(asked: Vectors, texts: Vectors) -> float:
    cosines = asked @ texts.T
    return 100 * float((cosines.argmax(axis=1) == range(len(asked))).mean())
