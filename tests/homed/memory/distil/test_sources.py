"""Which events feed memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homed.memory.distil import sources
from homed.memory.evidence import Span
from homed.memory.records import Event, EventKind

EVENT = Event("ev1", 1, "owner", "th", "t", "cli", "cli:owner", EventKind.USER, "Hi! My name is Anna.", 1.0)


@pytest.mark.parametrize(
    "other",
    [
        replace(EVENT, kind=EventKind.ASSISTANT),
        replace(EVENT, kind=EventKind.TOOL),
        replace(EVENT, kind=EventKind.NOTE),
        replace(EVENT, no_memory=True),
        replace(EVENT, data={"untrusted": True}),
    ],
)
def test_only_what_people_say_themselves_does(other: Event) -> None:
    assert sources.feeds(EVENT)
    assert not sources.feeds(other)
    assert sources.facts_of(other) == []


def test_a_fact_has_the_sentence_that_says_it() -> None:
    [(fact, span)] = sources.facts_of(EVENT)
    assert span == Span("ev1", 4, 20)
    assert (fact.subject, fact.relation, fact.object, fact.text) == ("user", "name", "Anna", "The user's name is Anna.")
    assert (fact.extractor, fact.origin, fact.importance, fact.observed) == ("rules", "auto", 9, "")


def test_in_a_group_it_is_about_the_peer() -> None:
    [(fact, _)] = sources.facts_of(replace(EVENT, scope="group:x:1", peer="x:anna"))
    assert (fact.observed, fact.peer) == ("x:anna", "x:anna")
