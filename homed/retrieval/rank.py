"""The one ranker: which events and records a text is about, and how much, by words and by vectors.

**Channels.**  Words give the share of the query they cover (``lexical``), vectors a calibrated cosine; both are 0..1
and mean the same on any data, so they are added as they are.  Each event is lent some of what those around it in the
same conversation have (``around``), and counts less where it asks and more where somebody speaks whom the query names
(``fuse``).  What has the query's exact symbols comes first (``lexical``, ``fuse``).

**Score.**  ``fuse.relevance`` of the mean of the channels: an absolute one, so that the gate of 0.12 means "is about
it" however good or bad the others are.  What is told unasked is judged once more, with everyday words weighing little
(``lexical``): by its ``relevance``, which orders nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import trio

from homed.memory.ports import Dense, Embedder
from homed.retrieval import around, channels, fuse, lexical, newest, several, stable, symbols
from homed.retrieval.asking import LONGEST, Asker, Question
from homed.retrieval.channels import POOL
from homed.retrieval.fuse import SUM, Fusion
from homed.retrieval.keywords import Keywords
from homed.retrieval.words import Words
from homed.store.rows import Tx

Part = Literal["vectors", "neighbours", "questions", "speakers", "newest", "several", "symbols"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What can be left out, to see what it is worth."""

KINDS = ("event", "block")
"""What has vectors and belongs to an event."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An event or a record and what it is ranked by, 0..1.  ``parts``: what each channel gave to it, on one scale.

    ``relevance``, 0..1: what the gate of what is told unasked looks at; an everyday word weighs little in it.  The
    ``score`` of a record holds what else counts too (importance, citations, age, project); ``relevance`` does not.
    """

    seq: int
    id: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    relevance: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Events looked at closely: where they stand, what is beside them, and what of the query they have."""

    places: Mapping[int, around.Place]
    beside: Mapping[int, around.Sides]
    asked: lexical.Asked
    matched: lexical.Matched


_Parts = dict[str, Mapping[int, float]]


class Ranker:
    """Ranks what is remembered.  All but ``ask`` run in a reading transaction, on any thread.

    ``embedder`` gives the current one, if there is one; ``fusion`` how the channels are made one, ``patience`` how many
    seconds a question's vector may take at the most: both are asked each time.  ``without``: parts to leave out.
    ``keywords``: what is known of Chinese words, for who looks for names; no ranking depends on it.
    """

    def __init__(
        self,
        embedder: Callable[[], Embedder | None],
        dense: Dense,
        fusion: Callable[[], Fusion] = lambda: SUM,
        without: Collection[Part] = (),
        keywords: Keywords | None = None,
        patience: Callable[[], float] = lambda: LONGEST,
    ) -> None:
        self.keywords = keywords or Keywords()
        self._asker = Asker(embedder, patience)
        self._dense = dense
        self._fusion = fusion
        self._without = frozenset(without)

    async def ask(self, text: str, *, within: float = math.inf) -> Question:
        """``text`` as a question, with its vector if that can be had within so many seconds.

        Raises nothing; a checkpoint.  Cancelled: nothing is left behind.
        """
        if "vectors" in self._without:
            await trio.lowlevel.checkpoint()
            return Question(text)
        return await self._asker.ask(text, within=within)

    def warm(self) -> None:
        """Somebody is about to ask: have the embedder in memory.  Never waits."""
        self._asker.warm()

    def question(self, text: str) -> Question:
        """``text`` as a question of words alone."""
        return Question(text)

    def search(
        self, tx: Tx, *, scope: str, layer: str | Collection[str], query: str | Question, limit: int
    ) -> list[Hit]:
        """The events of one or more layers of one scope that ``query`` is about, best first; of equal ones the newest,
        or who comes first where there is to be room for several.

        Nothing of another scope has a part in it, not even in the weights.  No more than ``limit``; none has score 0.
        """
        question = _question(query)
        layers = {layer} if isinstance(layer, str) else set(layer)
        pool = self._pool(tx, scope, question, layers, max(POOL, limit))
        near = channels.closeness(tx, self._dense, question, scope, KINDS, pool.places)
        scores, parts = self._scores(question, pool, near)
        about = scores if pool.asked.plain else self._scores(question, pool, near, unasked=True)[0]
        found = {seq: score for seq, score in scores.items() if score > 0 and pool.places[seq].layer in layers}
        order = channels.best(found)
        if several.wanted(question.text) and "several" not in self._without:
            found = several.spread(found, {seq: pool.places[seq].sitting for seq in found})
            order = list(found)
        return [
            Hit(
                seq, pool.places[seq].id, found[seq], {name: values.get(seq, 0.0) for name, values in parts.items()},
                about.get(seq, 0.0),
            )
            for seq in order[:limit]
        ]  # fmt: skip

    def score(self, tx: Tx, *, scope: str, query: str | Question, seqs: Collection[int]) -> dict[int, float]:
        """The score of each of these events for ``query``, as ``search`` gives it; 0.0 also for another scope's."""
        found = dict.fromkeys(seqs, 0.0)
        places = around.places(tx, scope, found) if found else {}
        if places:
            question = _question(query)
            asked = self._asked(tx, scope, question)
            matched = lexical.filled(tx, asked, {}, places)
            pool = _Pool(places, around.sides_within(places), asked, matched)
            near = channels.closeness(tx, self._dense, question, scope, KINDS, places)
            found |= self._scores(question, pool, near)[0]
        return found

    def records(self, tx: Tx, *, wanted: stable.Wanted, query: str | Question, limit: int) -> list[Hit]:
        """The records that are wanted, hold, and that ``query`` is about, best first.  Those of a project only where it
        is asked for."""
        found = stable.records(tx, self._dense, _question(query), wanted, limit=limit, fusion=self._fusion())
        return [Hit(one.seq, one.id, one.score, one.parts, one.relevance) for one in found]

    def entities(self, tx: Tx, *, scope: str, query: str | Question, limit: int) -> list[Hit]:
        """The entities of one scope whose names are nearest to ``query``; the score is the calibrated cosine."""
        found = stable.entities(tx, self._dense, _question(query), scope, limit=limit)
        return [Hit(one.seq, one.id, one.score, one.parts) for one in found]

    def absent(self, tx: Tx, *, scope: str, query: str) -> list[str]:
        """The exact symbols of ``query`` that stand in nothing this scope remembers; most often none.

        Where there are some, memory has no record of them, whatever else is found.  See `homed.retrieval.symbols`.
        """
        return symbols.absent(tx, scope, query)

    def _pool(self, tx: Tx, scope: str, question: Question, layers: Collection[str], most: int) -> _Pool:
        """The best ``most`` of each channel that are in the layers, and what is beside them in any layer."""
        asked = self._asked(tx, scope, question)
        matched = lexical.candidates(tx, asked)
        places: dict[int, around.Place] = {}
        best: set[int] = set()
        for ranking in (
            channels.best(lexical.weights(matched)),
            channels.nearest(tx, self._dense, question, scope, KINDS, most + POOL),
        ):
            found = channels.enough(
                lambda seqs: around.places(tx, scope, seqs), ranking, lambda place: place.layer in layers, most
            )
            best.update(found)
            places |= found
        beside = {} if "neighbours" in self._without else around.sides(tx, best)
        near = {seq for sides in beside.values() for side in sides for seq in side}
        places |= around.places(tx, scope, near - places.keys())
        return _Pool(places, beside, asked, lexical.filled(tx, asked, matched, places))

    def _asked(self, tx: Tx, scope: str, question: Question) -> lexical.Asked:
        text = question.text
        return lexical.ask(tx, scope=scope, query=newest.without(text) if newest.wanted(text) else text)

    def _scores(
        self, question: Question, pool: _Pool, near: Mapping[int, float], *, unasked: bool = False
    ) -> tuple[dict[int, float], _Parts]:
        """The relevance of each in the pool, and what each channel gave to it: for the order, or to tell it unasked.

        ``near``: the calibrated cosines of those that have a vector.
        """
        tokens = {seq: place.tokens for seq, place in pool.places.items()}
        weight = self._weights(pool)
        covered = lexical.coverage(pool.asked, pool.matched, tokens, unasked=unasked)
        parts: _Parts = {"words": _of(pool, weight, covered)}
        if near:  # what has no vector yet is judged by its words alone
            parts["vectors"] = _of(pool, weight, {**covered, **near})
        if near and not pool.asked.known(unasked=unasked):
            del parts["words"]  # words that know nothing of the question (another language) have no say
        means = channels.means(parts, self._fusion(), lexical.certainty(pool.asked, pool.matched, unasked=unasked))
        if newest.wanted(question.text) and "newest" not in self._without:
            means = newest.first(means, {seq: place.at for seq, place in pool.places.items()})
        scores = {seq: fuse.relevance(mean) for seq, mean in means.items()}
        shares = lexical.exact_shares(pool.asked, pool.matched)
        if shares and "symbols" not in self._without:
            scores = fuse.exact_first(scores, shares)
            parts["symbols"] = shares
        return scores, parts

    def _weights(self, pool: _Pool) -> dict[int, float]:
        """What each event counts for who says it and how."""
        speakers = set() if "speakers" in self._without else {place.speaker for place in pool.places.values()}
        named = _named(pool.asked.words, speakers)
        asking = 0.0 if "questions" in self._without else 1.0
        return {seq: fuse.weighed(asking * place.asking, place.speaker in named) for seq, place in pool.places.items()}


def _question(query: str | Question) -> Question:
    return Question(query) if isinstance(query, str) else query


def _named(words: Collection[str], speakers: Collection[str]) -> set[str]:
    """Those of these speakers that a query names."""
    making = Words()
    return {one for one in speakers if one and not set(words).isdisjoint(making.tokens(one))}


def _of(pool: _Pool, weight: Mapping[int, float], own: Mapping[int, float]) -> dict[int, float]:
    """What a channel says of each in the pool: its own and what is lent to it, for who says it and how."""
    lent = around.lent(own, pool.beside, pool.places)
    return {seq: value * weight[seq] for seq, value in lent.items() if seq in weight}
