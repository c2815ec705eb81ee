"""The one ranker: which events a text is about, and how much, by words and by vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from homed.memory.ports import Dense, Embedder
from homed.retrieval import around, fuse, lexical
from homed.retrieval.asking import LONGEST, Asker, Question
from homed.store.rows import Tx

POOL = 64
"""The best of each channel that are looked at closely, with what was said around them."""

KINDS = ("event", "block")
"""What has vectors and belongs to an event."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An event or a record and its relevance, 0..1.  ``parts``: what each channel gave to it."""

    seq: int
    id: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)


class Ranker:
    """Ranks what is remembered.  All but ``ask`` run in a reading transaction, on any thread."""

    def __init__(self, embedder: Callable[[], Embedder | None], dense: Dense) -> None:
        self._asker = Asker(embedder)
        self._dense = dense

    async def ask(self, text: str, *, within: float = LONGEST) -> Question:
        """``text`` as a question, with its vector if that can be had within so many seconds.

        Raises nothing; a checkpoint.  Cancelled: nothing is left behind.
        """
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
        asked = _question(query)
        layers = {layer} if isinstance(layer, str) else set(layer)
        terms = lexical.ask(tx, scope=scope, query=asked.text)
        matched = lexical.candidates(tx, terms)
        near = self._nearest(tx, scope, asked, 2 * max(POOL, limit))
        own = lexical.weights(matched)
        most = max(POOL, limit)
        places: dict[int, around.Place] = {}
        pool: set[int] = set()
        for ranking in (sorted(own, key=lambda seq: (-own[seq], -seq)), list(near)):
            found = around.enough(tx, scope, ranking, lambda place: place.layer in layers, most, most + POOL)
            pool.update(found)
            places |= found
        beside = around.sides(tx, pool)
        others = {seq for pair in beside.values() for side in pair for seq in side}
        places |= around.places(tx, scope, others - places.keys())
        words = terms, lexical.filled(tx, terms, matched, places)
        scored = self._scored(tx, scope, asked, words, places, beside)
        hits = [Hit(seq, places[seq].id, *value) for seq, value in scored.items() if places[seq].layer in layers]
        hits.sort(key=lambda hit: (-hit.score, -hit.seq))
        return [hit for hit in hits[:limit] if hit.score > 0]

    def score(self, tx: Tx, *, scope: str, query: str | Question, seqs: Collection[int]) -> dict[int, float]:
        """The relevance of each of these events to ``query``, as ``search`` gives it; 0.0 also for another scope's."""
        found = dict.fromkeys(seqs, 0.0)
        if not found:
            return found
        asked = _question(query)
        terms = lexical.ask(tx, scope=scope, query=asked.text)
        places = around.places(tx, scope, found)
        matched = lexical.filled(tx, terms, {}, places)
        scored = self._scored(tx, scope, asked, (terms, matched), places, around.sides_within(places))
        return found | {seq: value for seq, (value, _) in scored.items()}

    def _nearest(self, tx: Tx, scope: str, asked: Question, limit: int) -> dict[int, float]:
        if asked.vector is None or asked.space is None:
            return {}
        near = self._dense.nearest(
            tx, scope=scope, vector=asked.vector, space=asked.space.fingerprint, kinds=KINDS, limit=limit
        )
        best: dict[int, float] = {}
        for one in near:
            best[one.item] = max(best.get(one.item, -1.0), one.cosine)
        return best

    def _cosines(self, tx: Tx, scope: str, asked: Question, seqs: Collection[int]) -> dict[int, float]:
        if asked.vector is None or asked.space is None:
            return {}
        best: dict[int, float] = {}
        for kind in KINDS:
            found = self._dense.cosines(
                tx, scope=scope, vector=asked.vector, space=asked.space.fingerprint, kind=kind, items=seqs
            )
            for seq, cosine in found.items():
                best[seq] = max(best.get(seq, 0.0), fuse.calibrated(cosine, asked.space.baseline))
        return best

    def _scored(
        self,
        tx: Tx,
        scope: str,
        asked: Question,
        words: tuple[lexical.Asked, lexical.Matched],
        places: Mapping[int, around.Place],
        beside: Mapping[int, around.Sides],
    ) -> dict[int, tuple[float, Mapping[str, float]]]:
        covered = around.lent(lexical.coverage(*words, places), beside)
        dense = around.lent(self._cosines(tx, scope, asked, places), beside)
        fused = fuse.summed(covered, dense)
        lexical.exact_first(*words, fused)
        return {
            seq: (value * value, {"words": covered.get(seq, 0.0), "dense": dense.get(seq, 0.0)})
            for seq, value in fused.items()
            if seq in places
        }


def _question(query: str | Question) -> Question:
    return Question(query) if isinstance(query, str) else query
