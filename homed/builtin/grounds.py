"""What stands behind a statement that a model wants remembered: whose words it is made of, and where they stand.

A model's own words are evidence of nothing.  What a person said in this turn is; then what is in view of what people
said before.  Words that only a page, a mail or a file brought make an untrusted statement, and words that nobody said
a weak one; where strangers had a say in the turn, that too is untrusted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from homed.agent.ports import CallContext
from homed.agent.reading import by_ids
from homed.memory import entities
from homed.memory import events as table
from homed.memory.evidence import Evidence, Pointer, Span, locate
from homed.memory.records import Event, EventKind, shows_files
from homed.retrieval.passage import piece
from homed.retrieval.words import query_terms, tokens
from homed.store.rows import Tx

SURE, WEAK = 0.8, 0.35
"""Confidence of what a person's words support, and of what nothing in view supports."""

MOST_OF = 0.6
"""Share of a sentence's words that a message must have for the sentence to be its: the rest is how it was put."""

QUOTED = 240
"""Characters of an excerpt, about: the sentence and what belongs to it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """``evidence`` for a statement; ``said``: a person's own words support it; ``untrusted``: strangers' may be in
    it."""

    evidence: tuple[Evidence, ...]
    said: bool
    untrusted: bool

    @property
    def confidence(self) -> float:
        """How sure it is, if nobody says more."""
        return SURE if self.said and not self.untrusted else WEAK


class Grounds:
    """What a turn has in view, read once for all statements of a call."""

    def __init__(self, tx: Tx, context: CallContext) -> None:
        mine = table.of_turn(tx, context.turn)
        before = by_ids(tx, context.scope, context.in_view - {event.id for event in mine})
        earlier = sorted(before.values(), key=lambda event: -event.seq)
        self._now = [event for event in mine if event.kind is EventKind.USER]
        self._said = [_Words(event) for event in (*mine, *earlier) if _of_a_person(event)]
        self._outside = [_Words(event) for event in (*mine, *earlier) if _of_strangers(event)]
        self._group, self._peer = context.scope.startswith("group:"), context.peer
        self._tainted = context.tainted or bool(self._outside)

    def of(self, *words: str) -> Ground:
        """Behind a statement that is made of these (its subject and object); "I" and the like are anybody's."""
        wanted = frozenset(term for word in words if not entities.is_self(word) for term in _terms(word))
        least = _terms(words[-1]) if words else frozenset()
        for one in self._of_speaker() if words and entities.is_self(words[0]) else self._said:
            if wanted <= one.terms or (least and least <= one.terms and self._somewhere(wanted, self._said)):
                return Ground((one.place(words[-1], wanted),), said=True, untrusted=False)
        for one in self._outside:
            if least <= one.terms:
                return Ground((*self._pointers(), Pointer(one.event.id)), said=False, untrusted=True)
        return Ground(self._pointers(), said=False, untrusted=self._tainted)

    def note(self, text: str) -> Ground:
        """Behind a whole sentence.  It is the person's if one message of theirs has most of its words, and all numbers
        and names of things; with strangers in view, if it has all of them: what a page would have remembered is put
        into words around those that a person said."""
        wanted = frozenset(term for term in query_terms(text) if not entities.is_self(term)) or _terms(text)
        exact = frozenset(term for term in wanted if any(one.isdigit() for one in term))
        for one in self._of_speaker():
            share = len(wanted & one.terms) / len(wanted) if wanted else 0.0
            if exact <= one.terms and share >= (1.0 if self._tainted else MOST_OF):
                return Ground((one.place(text, wanted),), said=True, untrusted=False)
        return Ground(self._pointers(), said=False, untrusted=self._tainted)

    def _of_speaker(self) -> Sequence[_Words]:
        """What whoever speaks said: in a group what others say of themselves is nothing of theirs."""
        return [one for one in self._said if not self._group or one.event.peer == self._peer]

    def _pointers(self) -> tuple[Evidence, ...]:
        return tuple(Pointer(event.id) for event in self._now)

    @staticmethod
    def _somewhere(wanted: Collection[str], among: Sequence[_Words]) -> bool:
        return all(any(term in one.terms for one in among) for term in wanted)


class _Words:
    """An event and what its text is made of."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.terms = frozenset(tokens(event.text))

    def place(self, verbatim: str, terms: Collection[str]) -> Evidence:
        text = self.event.text
        found = piece(text, terms, QUOTED) or locate(text, verbatim)
        return Span(self.event.id, *found) if found else Pointer(self.event.id)


def _terms(word: str) -> frozenset[str]:
    return frozenset(query_terms(word)) or frozenset(tokens(word))


def _of_a_person(event: Event) -> bool:
    """Not what a plugin, another agent or the kernel itself says in a person's place."""
    doubtful = event.data.get("untrusted") or event.data.get("withheld") or event.data.get("mark")
    return event.kind is EventKind.USER and not doubtful


def _of_strangers(event: Event) -> bool:
    return bool(event.data.get("untrusted")) or shows_files(event)
