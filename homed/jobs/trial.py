"""How well what was said is found again: histories through the real engine, and every question asked of it.

A fresh data folder, the real store, index, embedder, vectors and ranker.  Each history is a scope, each session a
conversation of it, each event keeps its own time.  Of a question nothing is read but its text.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.config.definitions import EMBEDDING, EMBEDDING_FOLDER, FUSION, RRF_CONSTANT
from homed.config.environment import Override
from homed.config.secrets import Secrets
from homed.errors import Unavailable
from homed.events import Bus
from homed.jobs.trial_files import Said, Sought
from homed.memory import inputs, threads
from homed.memory.events import append
from homed.memory.records import EventKind, Input, NewEvent, NewInput
from homed.paths import Paths
from homed.retrieval import index
from homed.retrieval.asking import Question
from homed.retrieval.embed.current import CurrentEmbedder, embed_ports, open_embedder
from homed.retrieval.fuse import Fusion, fusion_named
from homed.retrieval.rank import PARTS, Hit, Part, Ranker
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store, open_store
from homed.store.rows import Tx

if TYPE_CHECKING:
    from homed.memory.ports import Dense
    from homed.retrieval.vectors.refill import Refill

BATCH = 200
"""Events of one transaction."""

LOOK = 0.05
"""Seconds between two looks at whether all vectors are made."""

PATIENCE = 150.0
"""Seconds without another vector after which none is waited for: longer than a model takes to load."""

LAYERS = ("context", "cold")

Say = Callable[[str], None]
"""Told how far it is."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The ids found for each question, best first, by its id, with their relevance for the gate of what is told
    unasked; and the seconds that each took.

    ``asked``: how many of these went into the vector of the question.
    """

    hits: dict[str, list[str]]
    took: Sequence[float]
    scores: dict[str, list[float]]
    asked: Sequence[float]


@dataclass(slots=True)
class Filled:
    """What a memory was filled with: ids of its events by their seq, seconds of storing and of making vectors.

    ``vectors``: how many there are; ``kind``: of the embedder that made them, '' for none.
    """

    names: dict[int, str]
    stored: float
    embedded: float
    vectors: int
    kind: str


class Trial:
    """A memory with the histories in it; ``answer`` may be called again and again."""

    def __init__(
        self, store: Store, settings: Settings, embedder: CurrentEmbedder, dense: Dense, refill: Refill
    ) -> None:
        self._refill = refill
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._dense = dense

    async def fill(self, said: Sequence[Said], say: Say) -> Filled:
        """Store the events, and wait until each has its vector.  Raises Unavailable where there is no embedder."""
        start = time.perf_counter()
        names = await self._stored(said, say)
        stored = time.perf_counter()
        embedder = await self._up()
        begun = time.perf_counter()
        vectors = await self._vectors(len(said), say) if embedder else 0
        made = time.perf_counter()
        if self._embedder.current is not None:  # a process of its own answers questions, and loads with the first
            await self._embedder.current.embed(["hello"], query=True)
        return Filled(names, stored - start, made - begun, vectors, embedder)

    async def answer(
        self, filled: Filled, sought: Sequence[Sought], limit: int, say: Say, without: Collection[Part] = ()
    ) -> Answers:
        """Every question, one after the other, by the product's own recall but for some part of it."""

        def fusion() -> Fusion:
            return fusion_named(self._settings.str(FUSION), self._settings.int(RRF_CONSTANT))

        ranker = Ranker(lambda: self._embedder.current, self._dense, fusion, without=frozenset(without))
        hits: dict[str, list[str]] = {}
        scores: dict[str, list[float]] = {}
        took, asked = [], []
        for done, one in enumerate(sought, 1):
            start = time.perf_counter()
            question = await ranker.ask(one.text)
            asked.append(time.perf_counter() - start)
            found = await self._found(ranker, question, one.history, limit)
            took.append(time.perf_counter() - start)
            hits[one.id] = [filled.names[hit.seq] for hit in found]
            scores[one.id] = [hit.relevance for hit in found]
            if done % 500 == 0:
                say(f"{done} of {len(sought)} questions are answered")
        return Answers(hits, took, scores, asked)

    async def _found(self, ranker: Ranker, question: Question, history: str, limit: int) -> list[Hit]:
        def search(tx: Tx) -> list[Hit]:
            return ranker.search(tx, scope=history, layer=LAYERS, query=question, limit=limit)

        return await self._store.read(search)

    async def _stored(self, said: Sequence[Said], say: Say) -> dict[int, str]:
        names: dict[int, str] = {}
        opened: dict[tuple[str, str], Input] = {}
        for at in range(0, len(said), BATCH):
            some = said[at : at + BATCH]
            names |= await self._store.write(lambda tx, some=some: _store(tx, some, opened))  # type: ignore[misc]
            if at and at % (50 * BATCH) == 0:
                say(f"{at} of {len(said)} events are stored")
        return names

    async def _up(self) -> str:
        """The kind of embedder that is up; '' when there is to be none."""
        while (standing := self._embedder.standing).state == "coming":
            await self._embedder.wait_changed()
        if standing.state == "failed":
            raise Unavailable(f"There is no embedder: {standing.reason}")
        return standing.used if standing.state == "ready" else ""

    async def _vectors(self, count: int, say: Say) -> int:
        """Wait for all of them; how many there are.  Raises Unavailable when there come no more."""
        from homed.retrieval.vectors import todo

        told = moved = trio.current_time()
        before = -1
        while left := await self._store.read(todo.left):
            now = trio.current_time()
            if left != before:
                before, moved = left, now
            if now - moved >= PATIENCE:
                why = self._refill.trouble or "the embedder makes none of them"
                raise Unavailable(f"{left} of {count} events get no vector: {why.rstrip('.')}.")
            if now - told >= 10:
                told = now
                say(f"{count - left} of {count} events have their vector")
            await trio.sleep(LOOK)
        return int(await self._store.read(lambda tx: tx.value("SELECT count(*) FROM vectors")))


def parts_of(filled: Filled) -> list[Part]:
    """The parts that can be left out of a ranker over this."""
    return [part for part in PARTS if part != "vectors" or filled.kind]


@asynccontextmanager
async def open_trial(embedder: str = "", fusion: str = "") -> AsyncIterator[Trial]:
    """An empty memory for the length of the block; nothing of it is left then.

    ``embedder``: one of the names of the setting, or the folder of a model; '' as homed has it by default.
    """
    from homed.retrieval.vectors import Vectors  # loads numpy
    from homed.retrieval.vectors.refill import Refill, RefillPorts

    with tempfile.TemporaryDirectory(prefix="homed-bench-") as folder:
        paths = Paths(Path(folder))
        paths.create()
        async with (
            open_store(paths.db) as store,
            open_settings(store, _settings(embedder, fusion), Secrets(paths.secrets, {})) as settings,
            open_embedder(embed_ports(paths, settings, lambda _: None)) as current,
            trio.open_nursery() as nursery,
        ):
            refill = Refill(RefillPorts(store, current, Bus(), _no_picture, lambda: None))
            nursery.start_soon(refill.keep)
            yield Trial(store, settings, current, Vectors(), refill)
            nursery.cancel_scope.cancel()


async def _no_picture(hash_: str) -> bytes:
    await trio.lowlevel.checkpoint()
    raise Unavailable(f"There are no pictures here ({hash_}).")


def _settings(embedder: str, fusion: str) -> dict[str, Override]:
    given = {FUSION: fusion, EMBEDDING: embedder}
    if embedder and Path(embedder).is_dir():
        given |= {EMBEDDING: "folder", EMBEDDING_FOLDER: str(Path(embedder).resolve())}
    return {key: Override(key, value, "flag", "the command line") for key, value in given.items() if value}


def _store(tx: Tx, said: Sequence[Said], opened: dict[tuple[str, str], Input]) -> dict[int, str]:
    names = {}
    for one in said:
        place = (one.history, one.session)
        if place not in opened:
            opened[place] = _open(tx, *place, one.at)
        event = append(tx, opened[place], NewEvent(EventKind.USER, one.text), at=one.at)
        names[event.seq] = one.id
    index.catch_up(tx)
    return names


def _open(tx: Tx, history: str, session: str, at: float) -> Input:
    thread = threads.create(tx, scope=history, channel="bench", title=session, at=at)
    new = NewInput(thread.id, history, "bench", "bench:owner", "owner", session)
    accepted, _ = inputs.accept(tx, new, at=at)
    return inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=at)
