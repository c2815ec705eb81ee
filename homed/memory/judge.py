"""What a new statement is to those that are known: the same, a newer value, an older one, or something of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from homed.memory import dedupe
from homed.memory.entities import is_self
from homed.memory.evidence import Evidence, Span
from homed.memory.near import near
from homed.memory.newfact import NewFact
from homed.memory.normal import bag, normal
from homed.memory.records import Event
from homed.memory.relations import PLACES, canonical, opposite
from homed.memory.stable import Record
from homed.store.rows import Tx

_CORRECTED = 0.4
"""Jaccard index from which on one text may be a correction of another, if somebody says that it is."""


@dataclass(frozen=True, slots=True)
class Judged:
    """``same``: the record that it is.  Else ``older``: those whose place it takes; or ``conflict`` (see
    ``facts.Put``), of ``older`` with ``newer``, the one that holds, and ``until``, when that began.  ``said``: when
    the statement was made, UTC seconds."""

    said: float
    same: Record | None = None
    older: tuple[Record, ...] = ()
    conflict: str = ""
    newer: str | None = None
    until: float | None = None


def completed(new: NewFact) -> NewFact:
    """The statement with its relation by its one name; and with its triple where it has none and its words say it
    plainly of whoever speaks ("The user's name is A").

    A relation to nothing is none: two statements with it would be taken for one.
    """
    if not new.object.strip():
        new = replace(new, relation="", object="")
    if new.relation:
        return replace(new, relation=canonical(new.relation))
    if new.subject and not is_self(new.subject):
        return new
    from homed.memory.distil.rules import triple_of  # its patterns take as long to make as a whole room of ours

    found = triple_of(new.text) if not new.observed else None
    if found is None:
        return new
    return replace(new, subject=new.subject or "user", relation=found[0], object=new.object or found[1])


AHEAD = 600.0
"""Seconds after "now" at which something may bear its time and be said then all the same: whoever looked at the clock
may have waited for the store, or have taken a whole file in since."""


@dataclass(frozen=True, slots=True)
class When:
    """``said``: when a statement was said; ``now``: what bears a time well after it (``AHEAD``) was said before the
    clock was set back, and not after it.  UTC seconds."""

    said: float
    now: float = math.inf


def judge(
    tx: Tx, new: NewFact, subject: str | None, when: When, pieces: Sequence[tuple[Evidence, Event]],
    functional: Collection[str],
) -> Judged:  # fmt: skip
    """Hold ``new`` against what is known.  ``subject``: its entity."""
    said = when.said
    events = {event.id for _, event in pieces}
    found = near(tx, new, subject, events, functional)
    for known in found:
        if _is_same(known, new, subject, functional) and not _other_period(tx, known, new, said):
            return Judged(said, same=known)
        if _is_same_again(tx, known, new, subject, events):
            return Judged(said, same=known)
    rivals = [known for known in found if known.status == "active" and _rivals(known, new, subject, functional)]
    rivals = [known for known in rivals if not _apart(tx, known, new, said)]
    verbatim = any(isinstance(piece, Span) for piece, _ in pieces)
    return _decided(tx, new, rivals, when, verbatim=verbatim)


def begins(tx: Tx, record: Record) -> float:
    """Since when a record holds, as far as is known: what it says, or when it was said last."""
    return record.valid_from if record.valid_from is not None else said_at(tx, record)


def first_said(tx: Tx, record: Record) -> float:
    """Since when a record held before it was said again: what it says, or when it was said first."""
    if record.valid_from is not None:
        return record.valid_from
    first = tx.value(
        "SELECT min(e.created_at) FROM evidence v JOIN events e ON e.id = v.event WHERE v.record = ?", (record.id,)
    )
    return float(first) if first is not None else record.created_at


def said_at(tx: Tx, record: Record) -> float:
    """When the newest of its evidence was said; without any, when it was stored."""
    newest = tx.value(
        "SELECT max(e.created_at) FROM evidence v JOIN events e ON e.id = v.event WHERE v.record = ?", (record.id,)
    )
    return float(newest) if newest is not None else record.created_at


def _decided(tx: Tx, new: NewFact, rivals: Sequence[Record], when: When, *, verbatim: bool) -> Judged:
    """Which of two that can not both hold does: the newer, unless less is to be believed of it."""
    said = when.said
    if new.untrusted and not all(known.untrusted for known in rivals):
        return Judged(said, conflict="untrusted")
    if not verbatim and new.origin == "auto" and any(_well_founded(tx, known) for known in rivals):
        return Judged(said, conflict="unsupported")
    since = new.valid_from if new.valid_from is not None else said
    told = [known for known in rivals if known.valid_from is not None or said_at(tx, known) <= when.now + AHEAD]
    later = [known for known in told if begins(tx, known) > since]
    if later:
        newest = min(later, key=lambda known: begins(tx, known))
        return Judged(said, conflict="older", newer=newest.id, until=begins(tx, newest))
    return Judged(said, older=tuple(rivals))


def _well_founded(tx: Tx, record: Record) -> bool:
    span = "SELECT 1 FROM evidence WHERE record = ? AND first IS NOT NULL LIMIT 1"
    return record.origin == "manual" or tx.value(span, (record.id,)) is not None


def _is_same(known: Record, new: NewFact, subject: str | None, functional: Collection[str]) -> bool:
    """The one law."""
    if known.status not in ("active", "archived") and not (known.status == "quarantined" and new.untrusted):
        return False
    if not dedupe.compatible(known.kind, new.kind) or (known.level == "contradiction") != (
        new.level == "contradiction"
    ):
        return False
    if known.subject and subject and known.subject != subject:
        return False
    if known.relation and new.relation and known.subject == subject:
        if known.relation == new.relation:
            if _same_object(known, new) or (
                new.relation in functional and _closer(new.relation, known.object, new.object)
            ):
                return True
            if new.relation in functional:
                return False
        elif opposite(known.relation, new.relation):
            return False
    if known.key == dedupe.key(new.text):
        return True
    return known.status != "archived" and dedupe.same(known.text, new.text)


def _is_same_again(tx: Tx, known: Record, new: NewFact, subject: str | None, events: set[str]) -> bool:
    """History, told again by what told it before: a job that ran twice, a conversation looked at anew."""
    if known.status != "superseded" or not events:
        return False
    equal = known.key == dedupe.key(new.text) or (
        bool(new.relation) and (known.subject, known.relation) == (subject, new.relation) and _same_object(known, new)
    )
    behind = {event for (event,) in tx.all("SELECT event FROM evidence WHERE record = ?", (known.id,))}
    return equal and events <= behind


def _other_period(tx: Tx, known: Record, new: NewFact, said: float) -> bool:
    """True when the two periods do not meet: they are two records, whatever they say.

    What was said without an end went on when it was said, so a period that was over by then is another.  Of one with an
    end alone nobody knows when it began.
    """
    begun = -math.inf if known.valid_from is None and known.valid_until is not None else begins(tx, known)
    since = new.valid_from if new.valid_from is not None else (said if new.valid_until is None else -math.inf)
    if new.valid_until is not None:
        return new.valid_until <= begun or (known.valid_until is not None and known.valid_until <= since)
    return known.valid_until is not None and known.valid_until <= since


def _same_object(known: Record, new: NewFact) -> bool:
    """Of names every letter counts: Александр and Александра are two."""
    if new.relation == "name":
        return normal(known.object) == normal(new.object)
    return dedupe.same_value(known.object, new.object)


def _closer(relation: str, a: str, b: str) -> bool:
    """True when one value tells the other more closely (Berlin, Germany; 北京, 北京市海淀区; Anna, Anna Petrova)."""
    one, two = bag(a), bag(b)
    if dedupe.differing(a, b) in ("number", "date", "negation"):
        return False
    if normal(a).isascii() or " " in normal(a) or " " in normal(b) or relation not in PLACES:
        return bool(one) and bool(two) and (one <= two or two <= one)
    return normal(a) in normal(b) or normal(b) in normal(a)


def _rivals(known: Record, new: NewFact, subject: str | None, functional: Collection[str]) -> bool:
    """True when the two can not both hold at a time."""
    if known.id == new.replaces and _may_replace(known, new, subject, functional):
        return True
    if subject and known.subject == subject and known.relation and new.relation:
        if known.relation == new.relation:
            return new.relation in functional
        return opposite(known.relation, new.relation) and _same_object(known, new)
    if known.subject and subject and known.subject != subject:
        return False
    return dedupe.compatible(known.kind, new.kind) and dedupe.contradicts(known.text, new.text)


def _may_replace(known: Record, new: NewFact, subject: str | None, functional: Collection[str]) -> bool:
    """Whether a claim that one corrects the other is to be believed: they speak of the same.

    Of a relation that can have many values a model that read a conversation is not believed (fault B5): that somebody
    works with Bob says nothing against Ana.
    """
    if known.subject and subject and known.subject != subject:
        return False
    if not dedupe.compatible(known.kind, new.kind):
        return False
    if known.subject and subject and known.relation and new.relation:  # whatever words it is put in
        return new.exactly or (known.relation == new.relation and (new.origin != "auto" or new.relation in functional))
    if known.relation and new.relation and known.relation != new.relation:
        return False
    return dedupe.similarity(known.text, new.text) >= _CORRECTED


def _apart(tx: Tx, known: Record, new: NewFact, said: float) -> bool:
    """True when the two are of different times by what they say: both hold, each in its own."""
    if new.valid_until is not None and (
        known.valid_until is None or new.valid_until <= (known.valid_from or -math.inf)
    ):
        # a period that is over, told while another goes on
        return new.valid_until <= max(begins(tx, known), said)
    if known.valid_until is not None and known.valid_until <= (new.valid_from if new.valid_from is not None else said):
        return True
    return (
        new.valid_until is not None and new.valid_from is not None
        and known.valid_from is not None and known.valid_until is not None
        and (new.valid_until <= known.valid_from or known.valid_until <= new.valid_from)
    )  # fmt: skip
