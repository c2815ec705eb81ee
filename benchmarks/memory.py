"""Memory at 1 000, 10 000 and 100 000 events: storing with the word index, searching, scoring, selecting, sinking."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from benchmarks.figures import Figure, median_ms, p99_ms, times
from homed.memory import choose, cold, events, inputs, scope_window, threads
from homed.memory.records import EventKind as Kind
from homed.memory.records import Input, NewEvent, NewInput
from homed.memory.units import whole
from homed.retrieval import index
from homed.retrieval.without import words_only
from homed.store.connection import Transaction, open_writer
from homed.store.rows import Tx

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 60
THREAD = 40
"""Events of one conversation."""


class Talk:
    """Texts whose words are as rare and as common as those of a language (Zipf), always the same ones."""

    def __init__(self, words: int = 40_000) -> None:
        self._chance = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(self._chance.choices(letters, k=self._chance.randint(3, 9))) for _ in range(words)]
        total, self._until = 0.0, []
        for rank in range(1, words + 1):
            total += 1 / rank
            self._until.append(total)

    def text(self, words: int) -> str:
        """So many words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._until, k=words))


def measure() -> Iterator[Figure]:
    """Each against what the same machine needs for the nearest plain thing, in the same run."""
    talk = Talk()
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            connection = open_writer(Path(folder) / "homed.db")
            yield from _at_size(connection, Path(folder), talk, size)
            connection.close()
    for size in (1_000, 10_000):
        yield from _selecting(talk, size)


def _at_size(connection: apsw.Connection, folder: Path, talk: Talk, size: int) -> Iterator[Figure]:
    connection.execute("BEGIN")
    tx = Transaction(connection, folder)
    texts = [talk.text(30) for _ in range(size)]
    start = time.perf_counter()
    _append(tx, texts)
    alone = (time.perf_counter() - start) / size
    start = time.perf_counter()
    index.catch_up(tx)
    indexing = (time.perf_counter() - start) / size
    yield Figure(f"store and index an event, {size} at once", (alone + indexing) * 1000, alone * 1000, "storing it")
    tx.execute("UPDATE events SET layer = 'cold' WHERE seq <= (SELECT max(seq) - 60 FROM events)")
    connection.execute("COMMIT; BEGIN")
    questions = [talk.text(8) for _ in range(ROUNDS)]
    plain = _Plain(texts)
    peer = [s for q in questions for s in times(lambda q=q: plain(q), 1)]  # type: ignore[misc]
    found = [s for q in questions for s in times(lambda q=q: _search(tx, q), 1)]  # type: ignore[misc]
    yield Figure(
        f"search the cold layer, {size} events (p99 {p99_ms(found):.1f} ms)",
        median_ms(found), median_ms(peer), f"FTS5 with porter, OR (p99 {p99_ms(peer):.1f} ms)",
    )  # fmt: skip
    seqs = [event.seq for event in scope_window.window_events(tx, "owner")]
    scored = [s for q in questions for s in times(lambda q=q: _score(tx, q, seqs), 1)]  # type: ignore[misc]
    yield Figure(
        f"score a window of {len(seqs)}, {size} events (p99 {p99_ms(scored):.1f} ms)",
        median_ms(scored), median_ms(found), "a search",
    )  # fmt: skip
    connection.execute("ROLLBACK")


def _append(tx: Tx, texts: Sequence[str]) -> None:
    given: Input | None = None
    for at, text in enumerate(texts):
        if given is None or at % THREAD == 0:
            thread = threads.create(tx, scope="owner", channel="bench", title="", at=float(at))
            new = NewInput(thread.id, "owner", "bench", "bench:owner", "owner", text)
            accepted, _ = inputs.accept(tx, new, at=float(at))
            given = inputs.begin(tx, accepted.id, turn=f"turn_{at}", at=float(at))
        kind = Kind.ASSISTANT if at % 2 else Kind.USER
        events.append(tx, given, NewEvent(kind, text), at=float(at))
    tx.execute("UPDATE turns SET ended_at = 1.0")


def _search(tx: Tx, query: str) -> object:
    return words_only().search(tx, scope="owner", layer="cold", query=query, limit=10)


def _score(tx: Tx, query: str, seqs: Sequence[int]) -> object:
    return words_only().score(tx, scope="owner", query=query, seqs=seqs)


class _Plain:
    """What a user would write in 40 lines: FTS5, porter stems, an OR of the words, best ten."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize='porter unicode61')")
        with self._db:
            self._db.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])

    def __call__(self, query: str) -> object:
        """Search."""
        asked = " OR ".join(f'"{word}"' for word in query.split())
        return self._db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (asked,)).fetchall()


def _selecting(talk: Talk, size: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        connection = open_writer(Path(folder) / "homed.db")
        connection.execute("BEGIN")
        tx = Transaction(connection, Path(folder))
        _append(tx, [talk.text(30) for _ in range(size)])
        index.catch_up(tx)
        query = talk.text(8)
        read = times(lambda: scope_window.window_events(tx, "owner", limit=size), 5)
        chosen = times(lambda: _select(tx, query, size), 5)
        yield Figure(f"select from a window of {size}", median_ms(chosen), median_ms(read), "reading it")
        sunk = times(lambda: _sink(tx, query, size), 1)
        yield Figure(f"sink a window of {size} at once", median_ms(sunk), median_ms(read), "reading it")
        connection.execute("ROLLBACK")
        connection.close()


def _select(tx: Tx, query: str, size: int) -> choose.Selection:
    window = scope_window.window_events(tx, "owner", limit=size)
    scores = words_only().score(tx, scope="owner", query=query, seqs=[event.seq for event in window])
    limits = choose.Limits(events=29, protected=10, tokens=25_000)
    return choose.select(whole(window, lambda e: e.tokens), scores, thread=window[-1].thread, limits=limits)


def _sink(tx: Tx, query: str, size: int) -> int:
    window = scope_window.window_events(tx, "owner", limit=size)
    scores = words_only().score(tx, scope="owner", query=query, seqs=[event.seq for event in window])
    limits = choose.Limits(events=30, protected=10, tokens=25_000)
    plan = choose.sink_plan(whole(window, lambda e: e.tokens), scores, active=[window[-1].thread], limits=limits)
    return len(cold.sink(tx, "owner", plan.ids, at=1.0))
