"""The words: which events or records have a query's words, and how much of it that is.

A term weighs by its rarity in the scope, idf = ln(1 + (N - n + 0.5) / (n + 0.5)) of BM25, n of N having it (N at least
``YOUNG``).  The coverage of an event is the weight of the query's terms it has, divided by the weight of the query's
heaviest ``CARRYING`` ones, those that occur nowhere included.  How often it has a term does not count, and its length
only as far as ``_length`` says: on dialogue both change nothing, and the index is a third as large without.

A memory knows little of how common a word is: 2 of 100 records have live, and so one that a rare word was asked with
would be about it.  For what is told **unasked** an everyday word therefore weighs no more than one that every tenth has
(`everyday`).  What comes first is ranked without that: who looks for something in his own memory means his own words,
and among what has them the rarer there says more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from homed.retrieval import ngrams, saying
from homed.retrieval.everyday import EVERYDAY, USUAL
from homed.retrieval.terms import prefix
from homed.retrieval.terms import term as stored
from homed.retrieval.words import cleaned, is_character, is_exact, is_pair, query_terms, says_little
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

EVERYDAY_WEIGHT = math.log(COMMON)
"""What an everyday word weighs at the most for what is told unasked: as one that one event in ``COMMON`` has."""

LONE = 2.0
"""Times as much is needed to be told unasked where only a single usual word of a question is found, and nothing says
that it is about whoever asks: Why does *bread* go stale?"""

VOCABULARY = 20_000
"""Words of a scope that are compared with one that is not among them: those that begin alike."""

PLAIN_TOKENS = 128
"""Tokens up to which an event is not long: a paragraph or two."""


CHARACTER = 0.25
"""What a single character of Chinese counts: it is one of the two or more of most words that it stands in, and one that
seems to stand alone may be cut out of a word (吉 of 吉他, since 他 says nothing)."""


FRAGMENTED = 5
"""Pieces of Chinese from which on a question is so long that one of them alone says little of it: five characters,
which are often two words, have four."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where words are looked up: an index, its vocabulary, and how much each scope has in it."""

    index: str
    terms: str
    counts: str


EVENTS = Source("word_index", "word_terms", "word_counts")
RECORDS = Source("record_index", "record_terms", "record_counts")


@dataclass(frozen=True, slots=True)
class _Term:
    """``weight``: for the order; ``unasked``: for what is told unasked, less for everyday words."""

    text: str
    weight: float
    unasked: float
    events: int
    exact: bool
    pair: bool = False
    usual: bool = False


@dataclass(frozen=True, slots=True)
class Full:
    """What a full match weighs, and how much of that makes it certain, since of the pairs of a run of Chinese half are
    no words but the borders of two, and another way to say the same has other borders."""

    weight: float
    sure: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text asks of a scope: see ``ask``.  Holds only for the transaction it was made in.

    ``words``: all of the query's, without a scope; ``terms``: those looked for, rarest first, without those that occur
    nowhere.  ``full``: of a full match for the order; ``unasked``: for what is told unasked.  ``pieces``: pairs and
    characters of Chinese that it has, those that occur nowhere included.  ``lone``: how many times as much is needed to
    be told unasked where a single usual word is found.
    """

    source: Source
    words: frozenset[str]
    terms: Sequence[_Term]
    full: Full
    unasked: Full
    exact: frozenset[str] = frozenset()
    pieces: int = 0
    lone: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether what is told unasked is judged as the order is."""
        return self.lone == 1 and self.unasked == self.full and all(one.weight == one.unasked for one in self.terms)

    def known(self, *, unasked: bool) -> bool:
        """Whether there is a word among them that counts."""
        return any(one.unasked for one in self.terms) if unasked else bool(self.terms)


Matched = Mapping[int, Sequence["_Term"]]
"""Of each event the terms of a query that it has."""


def ask(tx: Tx, *, scope: str, query: str, source: Source = EVENTS) -> Asked:
    """``query`` as terms with what they weigh in the scope."""
    words = query_terms(cleaned(query))
    if len(words) > MOST_TERMS:
        words = words[: MOST_TERMS * 3 // 4] + words[-MOST_TERMS // 4 :]
    documents = tx.value(f"SELECT documents FROM {source.counts} WHERE scope = ?", (scope,)) or 0
    weighed = _weighed(tx, source, scope, words, documents)
    known = sorted((term for term in weighed if term.events), key=lambda term: term.events)
    kept = [term for at, term in enumerate(known) if at == 0 or term.events * COMMON <= max(documents, COMMON * YOUNG)]
    counted = [*kept, *(term for term in weighed if not term.events)]
    full = _full([(term.weight, term.pair) for term in counted])
    unasked = _full([(term.unasked, term.pair) for term in counted])
    looked_for = [term for at, term in enumerate(kept) if at < LOOKED_FOR or term.exact]
    exact = frozenset(term.text for term in weighed if term.exact)
    pieces = sum(is_pair(word) or is_character(word) for word in words)
    lone = LONE if _several(words) and not saying.of_oneself(query) else 1.0
    return Asked(source, frozenset(words), looked_for, full, unasked, exact, pieces, lone)


def _full(weighed: Sequence[tuple[float, bool]]) -> Full:
    """Of terms' weights, and whether each is a pair."""
    heaviest = sorted(weighed, key=lambda one: -one[0])[:CARRYING]
    full = sum(weight for weight, _ in heaviest)
    half = sum(weight for weight, pair in heaviest if pair) / 2
    return Full(full, (full - half) / full) if full else Full(1.0, 1.0)


def _several(words: Sequence[str]) -> bool:
    """Whether there is more than one word among these terms: two pairs of Chinese that overlap are one."""
    said = [word for word in words if not (is_pair(word) and says_little(word))]
    return len(said) > 1 and not _overlapping(said)


def _overlapping(words: Sequence[str]) -> bool:
    """Whether these are two pairs that are pieces of one word (翻译, 译成)."""
    return len(words) == 2 and all(map(is_pair, words)) and (words[0][1] == words[1][0] or words[1][1] == words[0][0])


def _weighed(tx: Tx, source: Source, scope: str, words: Sequence[str], documents: int) -> list[_Term]:
    found = []
    for word in words:
        events = _events(tx, source, scope, word)
        meant = {} if events else _meant(tx, source, scope, word)
        for other, likeness in (meant or {word: 1.0}).items():
            term = _term(scope, other, _events(tx, source, scope, other) if meant else events, documents, likeness)
            found.append(replace(term, unasked=0.0) if meant and word in EVERYDAY else term)
        if meant and word in EVERYDAY:  # is seldom mistyped: nothing is told unasked for what else it may be
            found.append(replace(_term(scope, word, 0, documents, 1.0), weight=0.0))
    return found


def _term(scope: str, word: str, events: int, documents: int, likeness: float) -> _Term:
    weight = likeness * math.log(1 + (max(documents, YOUNG) - events + 0.5) / (events + 0.5))
    unasked = min(weight, EVERYDAY_WEIGHT) if word in EVERYDAY else weight
    share = (0.0 if says_little(word) else 0.5) if not events and is_pair(word) else 1.0
    share *= CHARACTER if is_character(word) else 1.0
    exact = is_exact(word) and events * events <= max(documents, 4)
    usual = word in USUAL or likeness < 1 or is_character(word) or (word.isdigit() and not is_exact(word))
    return _Term(stored(scope, word), weight * share, unasked * share, events, exact, is_pair(word), usual)


def _events(tx: Tx, source: Source, scope: str, word: str) -> int:
    return int(tx.value(f"SELECT doc FROM {source.terms} WHERE term = ?", (stored(scope, word),)) or 0)


def _meant(tx: Tx, source: Source, scope: str, word: str) -> Mapping[str, float]:
    """What a word that occurs nowhere may be mistyped for: words of the scope that begin with one of its first two."""
    if not ngrams.allowed(word):
        return {}
    begin = prefix(scope)
    known: list[str] = []
    for letter in dict.fromkeys(word[:2]):
        rows = tx.all(
            f"SELECT substr(term, ?3) FROM {source.terms} WHERE term >= ?1 AND term < ?2"
            " AND abs(length(term) - ?4) < 3 LIMIT ?5",
            (f"{begin}{letter}", f"{begin}{letter}\U0010ffff", len(begin) + 1, len(begin) + len(word), VOCABULARY),
        )
        known += [row[0] for row in rows]
    return ngrams.nearly(word, known)


def candidates(tx: Tx, asked: Asked) -> dict[int, list[_Term]]:
    """Events that have one of the rarest terms, with all of the query's terms they have."""
    matched: dict[int, list[_Term]] = {}
    index_, room = asked.source.index, POSTINGS
    for at, term in enumerate(asked.terms):
        if at == 0 or term.events <= room:
            room -= term.events
            rows = tx.all(
                f"SELECT rowid FROM {index_} WHERE {index_} MATCH ? ORDER BY rowid DESC LIMIT ?",
                (_match(term), POSTINGS),
            )
            for (seq,) in rows:
                matched.setdefault(seq, []).append(term)
        else:
            room = 0  # commoner ones follow
            for seq in _having(tx, asked, term, matched):
                matched[seq].append(term)
    return matched


def _having(tx: Tx, asked: Asked, term: _Term, seqs: Collection[int]) -> list[int]:
    """Those of these events that have the term."""
    first, last = min(seqs), max(seqs)
    between = f"SELECT rowid FROM {asked.source.index} WHERE {asked.source.index} MATCH ? AND rowid BETWEEN ? AND ?"
    if min(term.events, last - first) <= CLOSE * len(seqs):  # what is in between is soon read
        return [row[0] for row in tx.all(between, (_match(term), first, last)) if row[0] in seqs]
    rows = tx.all(
        f"{between} AND +rowid IN (SELECT value FROM json_each(?))", (_match(term), first, last, dumps(list(seqs)))
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
            for seq in _having(tx, asked, term, unknown):
                found[seq].append(term)
    return found


def coverage(asked: Asked, matched: Matched, tokens: Mapping[int, int], *, unasked: bool = False) -> dict[int, float]:
    """Of each of those in ``tokens`` (how long they are) the share of the query's weight that it has itself, 0..1.

    For the order, or for what is told ``unasked``.
    """
    full = (asked.unasked if unasked else asked.full).weight
    has = {seq: sum(term.unasked for term in terms) for seq, terms in matched.items()} if unasked else weights(matched)
    return {seq: weight / full * _length(tokens[seq]) for seq, weight in has.items() if seq in tokens}


def certainty(asked: Asked, matched: Matched, *, unasked: bool = False) -> dict[int, float]:
    """Of each how much of a full match makes it certain: ``sure``, but all of it where no more than a single piece of
    a longer question in Chinese is found (二十 of 圆周率后二十位): that may be cut out of something else.

    For what is told ``unasked`` more than all of it where that is a usual word, or one that may be meant: see ``LONE``.
    """
    long = asked.pieces >= FRAGMENTED
    if not unasked:
        return {seq: 1.0 if long and len(terms) == 1 else asked.full.sure for seq, terms in matched.items()}
    said = {seq: [term for term in terms if term.unasked] for seq, terms in matched.items()}
    return {
        seq: (1.0 if long and len(terms) == 1 else asked.unasked.sure) * (asked.lone if _is_lone(terms) else 1.0)
        for seq, terms in said.items()
    }


def _is_lone(terms: Sequence[_Term]) -> bool:
    if len(terms) > 1 and not _overlapping([term.text[-2:] for term in terms if term.pair] if len(terms) == 2 else ()):
        return False
    return bool(terms) and any(term.usual for term in terms)


def exact_shares(asked: Asked, matched: Matched) -> dict[int, float]:
    """Of each event how many of the query's rare exact symbols it has, 0..1; empty where the query has none."""
    if not asked.exact:
        return {}
    return {seq: sum(term.exact for term in terms) / len(asked.exact) for seq, terms in matched.items()}


def _length(tokens: int) -> float:
    """What a term counts in a long text: by the logarithm, as the number of different words grows."""
    return 1 / (1 + math.log(tokens / PLAIN_TOKENS) / 4) if tokens > PLAIN_TOKENS else 1.0
