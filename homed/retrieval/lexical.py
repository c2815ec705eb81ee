"""The ranker over words: which events a text is about, and how much."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from homed.retrieval import index
from homed.retrieval.words import cleaned, tokens
from homed.store.rows import Tx, dumps

MOST_TERMS = 64
"""Different terms of a query that are looked at: the first 48 and the last 16; a pasted text says most at its ends."""

POSTINGS = 4_096
"""Events that the rarest terms of a query may bring in; commoner terms only weigh among those."""

CARRYING = 8
"""The heaviest terms that make a full match: a person's question has about so many; a longer one is no harder."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An event and its relevance, 0..1."""

    seq: int
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    weight: float
    events: int


def search(tx: Tx, *, scope: str, layer: str, query: str, limit: int) -> list[Hit]:
    """The events of one layer of one scope that ``query`` is about, best first; of equal ones the newest."""
    terms = _weighed(tx, scope, query)
    known = sorted((t for t in terms if t.events), key=lambda t: t.events)
    if not known:
        return []
    scores: dict[int, float] = {}
    for t in known:
        rows = tx.all(
            "SELECT w.rowid FROM word_index w WHERE w.terms MATCH ? AND EXISTS"
            " (SELECT 1 FROM events e WHERE e.scope = ? AND e.layer = ? AND e.seq = w.rowid AND e.no_memory = 0)",
            (_match(t), scope, layer),
        )
        for (seq,) in rows:
            scores[seq] = scores.get(seq, 0.0) + t.weight
    best = sorted(scores, key=lambda seq: (-scores[seq], -seq))[:limit]
    ids: dict[int, str] = dict(
        tx.all("SELECT seq, id FROM events WHERE seq IN (SELECT value FROM json_each(?))", (dumps(best),))
    )
    whole = _full(terms)
    return [Hit(seq, ids[seq], min(1.0, scores[seq] / whole)) for seq in best]


def score(tx: Tx, *, scope: str, query: str, seqs: Collection[int]) -> dict[int, float]:
    """The relevance of each of these events of the scope to ``query``; 0.0 where there is none."""
    terms = _weighed(tx, scope, query)
    found = dict.fromkeys(seqs, 0.0)
    whole = _full(terms)
    for t in terms:
        if not t.events:
            continue
        rows = tx.all(
            "SELECT rowid FROM word_index WHERE terms MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
            (_match(t), dumps(sorted(seqs))),
        )
        for (seq,) in rows:
            found[seq] = min(1.0, found[seq] + t.weight / whole)
    return found


def _weighed(tx: Tx, scope: str, query: str) -> list[_Term]:
    words = list(dict.fromkeys(tokens(cleaned(query))))
    if len(words) > MOST_TERMS:
        words = words[: MOST_TERMS * 3 // 4] + words[-MOST_TERMS // 4 :]
    documents = tx.value("SELECT documents FROM word_counts WHERE scope = ?", (scope,)) or 0
    found = []
    for word in words:
        term = index.term(scope, word)
        events = tx.value("SELECT doc FROM word_terms WHERE term = ?", (term,)) or 0
        found.append(_Term(term, math.log(1 + (documents - events + 0.5) / (events + 0.5)), events))
    return found


def _full(terms: Collection[_Term]) -> float:
    return sum(sorted((t.weight for t in terms), reverse=True)[:CARRYING]) or 1.0


def _match(term: _Term) -> str:
    return f'"{term.text}"'
