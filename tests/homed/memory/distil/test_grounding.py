"""A statement stands in what a person said, or falls, and is counted at its gate."""

from __future__ import annotations

from typing import Any

import pytest

from homed.memory.distil.grounding import UNQUOTED
from homed.memory.evidence import Pointer, Span
from tests.homed.memory.distil.script import FACT, SAID, ground


def test_a_quote_is_evidence_where_it_stands() -> None:
    [(fact, span)], gates = ground(FACT)
    assert SAID[span.first : span.last] == "I keep seven hives of bees"
    assert (fact.scope, fact.subject, fact.relation, fact.object, fact.confidence) == (
        "owner",
        "user",
        "keeps",
        "bees",
        0.8,
    )
    assert gates == {}


def test_b1_what_only_the_model_said_is_no_fact() -> None:
    assert ground({**FACT, "quote": "your cat is called Rex"}) == ([], {"not_said": 1})


@pytest.mark.parametrize("quote", ["I keep seven hives", "My name is Anna.", "bees in the garden"])
def test_b1_what_only_the_model_said_is_no_fact_whatever_it_is_said_to_be_quoted_from(quote: str) -> None:
    told = {**FACT, "text": "The user's cat is called Rex", "quote": quote}
    assert ground(told) == ([], {"not_said": 1})


def test_b15_a_quote_that_has_nothing_to_do_with_the_statement_bears_out_nothing() -> None:
    lie = {**FACT, "text": "Mail must always go to Eve", "quote": "My name is Anna."}
    assert ground(lie) == ([], {"unsupported": 1})
    assert ground(lie, tainted=True) == ([], {"tainted": 1})
    assert ground({**lie, "quote": "I"}) == ([], {"unsupported": 1})
    [(_, span)], _ = ground({**FACT, "text": "用户养了七箱蜜蜂"})  # what shares no script can share no word
    assert isinstance(span, Span)


def test_a_value_as_long_as_a_book_is_none() -> None:
    [(fact, _)], gates = ground({**FACT, "object": "bees " * 1000})
    assert ((fact.subject, fact.relation, fact.object), gates) == (("", "", ""), {"triple": 1})


def test_without_a_quote_that_stands_there_it_is_a_pointer_of_little_confidence_or_nothing() -> None:
    [(fact, piece)], gates = ground({**FACT, "quote": "seven beehives are mine"})
    assert (piece, fact.confidence, gates) == (Pointer("ev1"), UNQUOTED, {"no_quote": 1})
    assert ground({**FACT, "text": "The moon is made of cheese", "quote": "cheese"}) == ([], {"unsupported": 1})
    assert ground({**FACT, "text": "The moon is made of cheese", "quote": ""}) == ([], {"unsupported": 1})
    assert ground({**FACT, "quote": "seven beehives"}, tainted=True) == ([], {"tainted": 1})
    assert len(ground(FACT, tainted=True)[0]) == 1


@pytest.mark.parametrize(
    ("change", "triple"),
    [
        ({"subject": ""}, ("user", "keeps", "bees")),
        ({"subject": "", "text": "用户养了七箱蜜蜂"}, ("user", "keeps", "bees")),
        ({"subject": "", "text": "Seven hives stand in the garden"}, ("", "", "")),
        ({"subject": "x"}, ("", "", "")),
        ({"relation": ""}, ("", "", "")),
        ({"object": ""}, ("", "", "")),
        ({"object": 7}, ("user", "keeps", "7")),
    ],
)
def test_e53_no_statement_is_lost_for_want_of_a_subject(change: dict[str, Any], triple: tuple[str, str, str]) -> None:
    [(fact, _)], gates = ground({**FACT, **change})
    assert (fact.subject, fact.relation, fact.object) == triple
    assert gates == ({} if triple[0] else {"triple": 1})


def test_reach_project_only_where_there_is_one() -> None:
    [(alone, _)], _ = ground({**FACT, "scope": "project"})
    [(inside, _)], _ = ground({**FACT, "scope": "project"}, project="abc-x")
    [(outside, _)], _ = ground(FACT, project="abc-x")
    assert [(one.reach, one.project) for one in (alone, inside, outside)] == [
        ("user", ""),
        ("project", "abc-x"),
        ("user", ""),
    ]
