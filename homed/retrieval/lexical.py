"""The ranker over words: which events a text is about, and how much.

**Score.**  A term weighs by its rarity in the scope, idf = ln(1 + (N - n + 0.5) / (n + 0.5)) of BM25, n of N events
having it (N at least ``YOUNG``).  The coverage of an event is the weight of the query's terms it has, divided by the
weight of the query's heaviest ``CARRYING`` ones, those that occur nowhere included.  How often it has a term does not
count, and its length only as far as ``_length`` says: on dialogue both change nothing, and the index is a third as
large without.  The neighbours in the same conversation lend some of theirs (``around``).  The score is the square
of that, at most 1: with one word of three in common, two texts are seldom about the same.  So 0.12 is passed from
about a third on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from homed.retrieval import around, index
from homed.retrieval.around import Place
from homed.retrieval.words import cleaned, is_exact, is_pair, query_terms, says_little
from homed.store.rows import Tx, dumps

MOST_TERMS = 64
"""Different terms of a query that are looked at: the first 48 and the last 16; a pasted text says most at its ends."""

CARRYING = 8
"""The heaviest terms that make a full match: a person's question has about so many; a longer one is no harder."""

YOUNG = 100
"""A memory of fewer events does not know yet which words are common; its words weigh as if it had so many."""

LOOKED_FOR = 2 * CARRYING
"""Of the terms of a query that occur, so many of the rarest are looked for, and all exact ones: those of a pasted text
beyond them change no ranking, and each costs as much as the first."""

POSTINGS = 4_096
"""Events that the rarest terms of a query may bring in: some 5 ms.  Commoner terms only weigh among those."""

CLOSE = 4
"""Events with a term, for each that is asked about, that are rather all read than looked up one by one."""

COMMON = 10
"""A term that more than one in so many events has is left out where the query has a rarer one: it costs most and
says least."""

POOL = 64
"""The best of those by their own words, whose neighbours are looked at."""

EXACT = 0.7
"""Coverage of an event that has all of a query's rare exact symbols, whatever else it says; all others stay below."""

PLAIN_TOKENS = 128
"""Tokens up to which an event is not long: a paragraph or two."""


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
    exact: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text asks of a scope: see ``ask``.  Holds only for the transaction it was made in.

    ``terms`` rarest first, without those that occur nowhere; ``full`` is the weight of a full match.
    """

    terms: Sequence[_Term]
    full: float
    exact: frozenset[str] = frozenset()


Matched = Mapping[int, Sequence["_Term"]]
"""Of each event the terms of a query that it has."""


def ask(tx: Tx, *, scope: str, query: str) -> Asked:
    """``query`` as terms with what they weigh in the scope, for several questions in one transaction."""
    words = query_terms(cleaned(query))
    if len(words) > MOST_TERMS:
        words = words[: MOST_TERMS * 3 // 4] + words[-MOST_TERMS // 4 :]
    documents = tx.value("SELECT documents FROM word_counts WHERE scope = ?", (scope,)) or 0
    weighed = _weighed(tx, scope, words, documents)
    known = sorted((term for term in weighed if term.events), key=lambda term: term.events)
    kept = [term for at, term in enumerate(known) if at == 0 or term.events * COMMON <= max(documents, COMMON * YOUNG)]
    missing = [term.weight for term in weighed if not term.events]
    full = sum(sorted([*missing, *(term.weight for term in kept)], reverse=True)[:CARRYING])
    looked_for = [term for at, term in enumerate(kept) if at < LOOKED_FOR or term.exact]
    return Asked(looked_for, full or 1.0, frozenset(term.text for term in weighed if term.exact))


def search(tx: Tx, *, scope: str, layer: str | Collection[str], query: str | Asked, limit: int) -> list[Hit]:
    """The events of one or more layers of one scope that ``query`` is about, best first; of equal ones the newest.

    Nothing of another scope has a part in it, not even in the weights.  No more than ``limit``; none has score 0.
    """
    asked = ask(tx, scope=scope, query=query) if isinstance(query, str) else query
    layers = {layer} if isinstance(layer, str) else set(layer)
    matched = candidates(tx, asked)
    own = {seq: sum(term.weight for term in terms) for seq, terms in matched.items()}
    ranked = sorted(own, key=lambda seq: (-own[seq], -seq))
    most = max(POOL, limit)
    places = around.enough(tx, scope, ranked, lambda place: place.layer in layers, most, limit + POOL)
    beside = around.sides(tx, (seq for seq in ranked[:POOL] if seq in places))
    near = {seq for sides in beside.values() for side in sides for seq in side}
    places |= around.places(tx, scope, near - places.keys())
    scores = _scores(asked, {seq: matched.get(seq, []) for seq in places}, places, beside)
    found = sorted(((value, seq) for seq, value in scores.items() if places[seq].layer in layers and value > 0))[::-1]
    return [Hit(seq, places[seq].id, value) for value, seq in found[:limit]]


def score(tx: Tx, *, scope: str, query: str | Asked, seqs: Collection[int]) -> dict[int, float]:
    """The relevance of each of these events to ``query``, as ``search`` gives it; 0.0 also for another scope's."""
    asked = ask(tx, scope=scope, query=query) if isinstance(query, str) else query
    found = dict.fromkeys(seqs, 0.0)
    if not found or not asked.terms:
        return found
    places = around.places(tx, scope, found)
    matched: dict[int, list[_Term]] = {seq: [] for seq in places}
    for term in asked.terms:
        for seq in _having(tx, term, places):
            matched[seq].append(term)
    return found | _scores(asked, matched, places, around.sides_within(places))


def _weighed(tx: Tx, scope: str, words: Sequence[str], documents: int) -> list[_Term]:
    found = []
    for word in words:
        text = index.term(scope, word)
        events = int(tx.value("SELECT doc FROM word_terms WHERE term = ?", (text,)) or 0)
        weight = math.log(1 + (max(documents, YOUNG) - events + 0.5) / (events + 0.5))
        if not events and is_pair(word):
            weight *= 0.0 if says_little(word) else 0.5
        found.append(_Term(text, weight, events, is_exact(word) and events * events <= max(documents, 4)))
    return found


def candidates(tx: Tx, asked: Asked) -> dict[int, list[_Term]]:
    """Events that have one of the rarest terms, with all of the query's terms they have."""
    matched: dict[int, list[_Term]] = {}
    room = POSTINGS
    for at, term in enumerate(asked.terms):
        if at == 0 or term.events <= room:
            room -= term.events
            rows = tx.all(
                "SELECT rowid FROM word_index WHERE word_index MATCH ? ORDER BY rowid DESC LIMIT ?",
                (_match(term), POSTINGS),
            )
            for (seq,) in rows:
                matched.setdefault(seq, []).append(term)
        else:
            room = 0  # commoner ones follow
            for seq in _having(tx, term, matched):
                matched[seq].append(term)
    return matched


def _having(tx: Tx, term: _Term, seqs: Collection[int]) -> list[int]:
    """Those of these events that have the term."""
    first, last = min(seqs), max(seqs)
    if min(term.events, last - first) <= CLOSE * len(seqs):  # what is in between is soon read
        between = "SELECT rowid FROM word_index WHERE word_index MATCH ? AND rowid BETWEEN ? AND ?"
        return [row[0] for row in tx.all(between, (_match(term), first, last)) if row[0] in seqs]
    rows = tx.all(
        "SELECT rowid FROM word_index WHERE word_index MATCH ? AND rowid BETWEEN ? AND ?"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (_match(term), first, last, dumps(list(seqs))),
    )
    return [row[0] for row in rows]


def _match(term: _Term) -> str:
    return f'"{term.text}"'


def weights(matched: Matched) -> dict[int, float]:
    """What the terms that each has weigh together."""
    return {seq: sum(term.weight for term in terms) for seq, terms in matched.items()}


def filled(tx: Tx, asked: Asked, matched: Matched, seqs: Collection[int]) -> Matched:
    """All of the query's terms that these events have; what is matched already is not looked up again."""
    unknown = set(seqs) - matched.keys()
    found: dict[int, list[_Term]] = {seq: list(matched.get(seq, ())) for seq in seqs}
    if unknown:
        for term in asked.terms:
            for seq in _having(tx, term, unknown):
                found[seq].append(term)
    return found


def coverage(asked: Asked, matched: Matched, places: Mapping[int, Place]) -> dict[int, float]:
    """Of each event the share of the query's weight that it has itself, 0..1."""
    return {
        seq: weight / asked.full * _length(places[seq].tokens)
        for seq, weight in weights(matched).items()
        if seq in places
    }


def _scores(
    asked: Asked,
    matched: Mapping[int, Sequence[_Term]],
    places: Mapping[int, Place],
    beside: Mapping[int, around.Sides],
) -> dict[int, float]:
    covered = around.lent(coverage(asked, matched, places), beside)
    covered = {seq: min(1.0, value) for seq, value in covered.items() if seq in places}
    exact_first(asked, matched, covered)
    return {seq: value * value for seq, value in covered.items()}


def exact_first(asked: Asked, matched: Matched, covered: dict[int, float]) -> None:
    """Put what has the query's exact symbols before all else, where they are rare."""
    if not asked.exact:
        return
    shares = {seq: sum(term.exact for term in terms) / len(asked.exact) for seq, terms in matched.items()}
    found = max(shares.values(), default=0.0) == 1.0
    for seq, share in shares.items():
        if share == 1.0:
            covered[seq] = EXACT + (1 - EXACT) * covered[seq]
        else:
            covered[seq] = max(min(covered[seq], EXACT) if found else covered[seq], EXACT * share)


def _length(tokens: int) -> float:
    """What a term counts in a long text: by the logarithm, as the number of different words grows."""
    return 1 / (1 + math.log(tokens / PLAIN_TOKENS) / 4) if tokens > PLAIN_TOKENS else 1.0
