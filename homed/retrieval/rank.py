"""The one ranker: which events and records a text is about, and how much, by words and by vectors.

**Channels.**  Words give the share of the query they cover (``lexical``), vectors a calibrated cosine; both are 0..1
and mean the same on any data, so they are added as they are.  Each event is lent some of what those around it in the
same conversation have (``around``), and counts less where it asks and more where somebody speaks whom the query names
(``fuse``).  What has the query's exact symbols comes first (``lexical``, ``fuse``).

**Score.**  ``fuse.relevance`` of the mean of the channels: an absolute one, so that the gate of 0.12 means "is about
it" however good or bad the others are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import trio

from homed.memory.ports import Dense, Embedder
from homed.retrieval import around, fuse, lexical
from homed.retrieval.asking import LONGEST, Asker, Question
from homed.retrieval.fuse import Fusion
from homed.retrieval.words import Words
from homed.store.rows import Tx

Part = Literal["vectors", "neighbours", "questions", "speakers", "symbols"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What can be left out, to see what it is worth."""

POOL = 64
"""The best of each channel that are looked at closely, with what was said around them."""

KINDS = ("event", "block")
"""What has vectors and belongs to an event."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An event or a record and its relevance, 0..1.  ``parts``: what each channel gave to it, on one scale."""

    seq: int
    id: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Events looked at closely: where they stand, what is beside them, and what of the query they have."""

    places: Mapping[int, around.Place]
    beside: Mapping[int, around.Sides]
    asked: lexical.Asked
    matched: lexical.Matched


class Ranker:
    """Ranks what is remembered.  All but ``ask`` run in a reading transaction, on any thread.

    ``embedder`` gives the current one, if there is one; ``fusion`` how the channels are made one, asked each time.
    ``without``: parts to leave out.
    """

    def __init__(
        self,
        embedder: Callable[[], Embedder | None],
        dense: Dense,
        fusion: Callable[[], Fusion] = lambda: "sum",
        without: Collection[Part] = (),
    ) -> None:
        self._asker = Asker(embedder)
        self._dense = dense
        self._fusion = fusion
        self._without = frozenset(without)

    async def ask(self, text: str, *, within: float = LONGEST) -> Question:
        """``text`` as a question, with its vector if that can be had within so many seconds.

        Raises nothing; a checkpoint.  Cancelled: nothing is left behind.
        """
        if "vectors" in self._without:
            await trio.lowlevel.checkpoint()
            return Question(text)
        return await self._asker.ask(text, within=within)

    def question(self, text: str) -> Question:
        """``text`` as a question of words alone."""
        return Question(text)

    def search(
        self, tx: Tx, *, scope: str, layer: str | Collection[str], query: str | Question, limit: int
    ) -> list[Hit]:
        """The events of one or more layers of one scope that ``query`` is about, best first; of equal ones the newest.

        Nothing of another scope has a part in it, not even in the weights.  No more than ``limit``; none has score 0.
        """
        question = _question(query)
        layers = {layer} if isinstance(layer, str) else set(layer)
        pool = self._pool(tx, scope, question, layers, max(POOL, limit))
        hits = [hit for hit in self._hits(tx, scope, question, pool) if pool.places[hit.seq].layer in layers]
        return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))[:limit]

    def score(self, tx: Tx, *, scope: str, query: str | Question, seqs: Collection[int]) -> dict[int, float]:
        """The relevance of each of these events to ``query``, as ``search`` gives it; 0.0 also for another scope's."""
        found = dict.fromkeys(seqs, 0.0)
        places = around.places(tx, scope, found) if found else {}
        if places:
            question = _question(query)
            asked = lexical.ask(tx, scope=scope, query=question.text)
            matched = lexical.filled(tx, asked, {}, places)
            pool = _Pool(places, around.sides_within(places), asked, matched)
            found |= {hit.seq: hit.score for hit in self._hits(tx, scope, question, pool)}
        return found

    def _pool(self, tx: Tx, scope: str, question: Question, layers: Collection[str], most: int) -> _Pool:
        """The best ``most`` of each channel that are in the layers, and what is beside them in any layer."""
        asked = lexical.ask(tx, scope=scope, query=question.text)
        matched = lexical.candidates(tx, asked)
        own = lexical.weights(matched)
        places: dict[int, around.Place] = {}
        best: set[int] = set()
        for ranking in (
            sorted(own, key=lambda seq: (-own[seq], -seq)),
            self._nearest(tx, scope, question, most + POOL),
        ):
            found = around.enough(tx, scope, ranking, lambda place: place.layer in layers, most, most + POOL)
            best.update(found)
            places |= found
        beside = {} if "neighbours" in self._without else around.sides(tx, best)
        near = {seq for sides in beside.values() for side in sides for seq in side}
        places |= around.places(tx, scope, near - places.keys())
        return _Pool(places, beside, asked, lexical.filled(tx, asked, matched, places))

    def _hits(self, tx: Tx, scope: str, question: Question, pool: _Pool) -> list[Hit]:
        tokens = {seq: place.tokens for seq, place in pool.places.items()}
        weight = self._weights(pool)
        covered = lexical.coverage(pool.asked, pool.matched, tokens)
        channels = {"words": _of(pool, weight, covered)}
        near = self._cosines(tx, scope, question, pool.places)
        if near:  # what has no vector yet is judged by its words alone
            channels["vectors"] = _of(pool, weight, covered | near)
        scores = self._scores(channels, pool.asked.sure)
        shares = lexical.exact_shares(pool.asked, pool.matched)
        if shares and "symbols" not in self._without:
            scores = fuse.exact_first(scores, shares)
            channels["exact"] = shares
        return [
            Hit(seq, pool.places[seq].id, score, {name: values.get(seq, 0.0) for name, values in channels.items()})
            for seq, score in scores.items()
            if score > 0
        ]

    def _weights(self, pool: _Pool) -> dict[int, float]:
        """What each event counts for who says it and how."""
        speakers = set() if "speakers" in self._without else {place.speaker for place in pool.places.values()}
        named = _named(pool.asked.words, speakers)
        asking = 0.0 if "questions" in self._without else 1.0
        return {seq: fuse.weighed(asking * place.asking, place.speaker in named) for seq, place in pool.places.items()}

    def _scores(self, channels: Mapping[str, Mapping[int, float]], sure: float) -> dict[int, float]:
        """Order by the fusion, and by how much the words of it are certain, how high the first stands."""
        words = {seq: value / sure for seq, value in channels["words"].items()}
        means = fuse.summed([words, channels.get("vectors", {})])
        means = {seq: value / len(channels) for seq, value in means.items()}
        if self._fusion() == "rrf":
            ranks = fuse.by_ranks(list(channels.values()))
            means = fuse.descending(sorted(ranks, key=lambda seq: (-ranks[seq], -seq)), means)
        elif sure < 1:
            means = fuse.scaled(fuse.summed(list(channels.values())), max(means.values(), default=0.0))
        return {seq: fuse.relevance(mean) for seq, mean in means.items()}

    def _nearest(self, tx: Tx, scope: str, question: Question, limit: int) -> list[int]:
        if question.vector is None or question.space is None:
            return []
        near = self._dense.nearest(
            tx, scope=scope, vector=question.vector, space=question.space.fingerprint, kinds=KINDS, limit=limit
        )
        return list(dict.fromkeys(one.item for one in near))

    def _cosines(self, tx: Tx, scope: str, question: Question, seqs: Collection[int]) -> dict[int, float]:
        """The calibrated cosine of each, of its own text or of the best of its files."""
        if question.vector is None or question.space is None:
            return {}
        best: dict[int, float] = {}
        for kind in KINDS:
            found = self._dense.cosines(
                tx, scope=scope, vector=question.vector, space=question.space.fingerprint, kind=kind, items=seqs
            )
            for seq, cosine in found.items():
                best[seq] = max(best.get(seq, 0.0), fuse.calibrated(cosine, question.space.baseline))
        return best


def _question(query: str | Question) -> Question:
    return Question(query) if isinstance(query, str) else query


def _named(words: Collection[str], speakers: Collection[str]) -> set[str]:
    """Those of these speakers that a query names."""
    making = Words()
    return {one for one in speakers if one and not set(words).isdisjoint(making.tokens(one))}


def _of(pool: _Pool, weight: Mapping[int, float], own: Mapping[int, float]) -> dict[int, float]:
    """What a channel says of each in the pool: its own and what is lent to it, for who says it and how."""
    lent = around.lent(own, pool.beside)
    return {seq: value * weight[seq] for seq, value in lent.items() if seq in weight}
