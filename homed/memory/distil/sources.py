"""Which events may feed memory, and what the rules make of one.

Only what people said themselves does.  What a tool gave, what the model answered, what was recalled into a prompt, what
a plugin said in its own name never comes in here: a memory that is told back would be taken for news, and a stranger's
page would become a fact.
"""

from __future__ import annotations

from dataclasses import replace

from homed.memory.distil.rules import CONFIDENCE, Said, statements
from homed.memory.evidence import Span
from homed.memory.newfact import NewFact
from homed.memory.records import Event, EventKind

IMPORTANCE = {"name": 9, "birthday": 7, "home": 7, "job": 7, "employer": 7, "age": 6}
"""Of 1 to 10; anything else a person says of themselves has 5."""


def feeds(event: Event) -> bool:
    """True for a person's own words that may be remembered."""
    return event.kind is EventKind.USER and not event.no_memory and not event.data.get("untrusted")


def observed(event: Event) -> str:
    """Whom a fact of this event is about, as ``NewFact.observed``: in a group the peer; elsewhere the one person."""
    return event.peer if event.scope.startswith("group:") else ""


def facts_of(event: Event) -> list[tuple[NewFact, Span]]:
    """What the rules find in an event, each with the sentence that says it; nothing for what may not feed memory."""
    if not feeds(event):
        return []
    return [(_fact(event, said), Span(event.id, said.first, said.last)) for said in statements(event.text)]


def _fact(event: Event, said: Said) -> NewFact:
    new = NewFact(
        scope=event.scope, text=said.text, kind=said.kind, subject="user", subject_type="person",
        relation=said.relation, object=said.value, importance=IMPORTANCE.get(said.relation, 5), confidence=CONFIDENCE,
        extractor="rules", peer=event.peer, observed=observed(event),
    )  # fmt: skip
    return replace(new, valid_from=said.since, valid_until=said.until)
