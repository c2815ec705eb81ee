"""The answer of a model: what is taken of it, and at which gate the rest is lost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.distil import contract
from homed.memory.distil.answers import json_object
from homed.memory.distil.contract import Answer, BadAnswer, Ground
from homed.memory.evidence import Pointer, Span, locate

SAID = "I keep seven hives of bees in the garden. My name is Anna."
ECHO = "You told me that your cat is called Rex."
GROUND = Ground("owner", [("ev1", SAID)])
FACT: dict[str, Any] = {
    "text": "The user keeps seven hives of bees", "kind": "fact", "scope": "user", "tags": ["bees"], "confidence": 0.8,
    "importance": 6, "quote": "I keep seven  hives of bees", "subject": "user", "relation": "keeps", "object": "bees",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    span: Span | None = None
    whose: str = ""


class Script:
    """What was said, and what was answered."""

    others = (ECHO,)

    def find(self, quote: str) -> Found:
        place = locate(SAID, quote)
        if place is not None:
            return Found(Span("ev1", *place))
        return Found(whose="assistant" if locate(ECHO, quote) else "")


def read(*facts: dict[str, Any], **parts: Any) -> Answer:
    return contract.read(json.dumps({"l2": list(facts), **parts}))


def ground(*facts: dict[str, Any], **more: Any) -> tuple[list[Any], dict[str, int]]:
    found, gates = contract.grounded(read(*facts), Script(), Ground(**{"scope": "owner", "said": GROUND.said, **more}))
    return list(found), dict(gates)


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "```json\n{}\n```",
        "Here you are:\n{}\nAnything else?",
        '<think>{{"l2": []}} maybe {{</think>{}',
        "{{not json}} {}",
        "{}{{",
    ],
)
def test_the_first_object_of_the_shape_is_taken(wrapped: str) -> None:
    answer = contract.read(wrapped.format(json.dumps({"l1": None, "l2": [FACT], "l3": []})))
    assert [fact.text for fact in answer.facts] == [FACT["text"]]
    assert (answer.drops, answer.mended) == ({}, {})


@pytest.mark.parametrize("text", ["", "no", "{", '{"l4": 1}', "[1]", "null", '"{}"', "{" * 5000])
def test_an_answer_without_one_is_bad_and_the_error_holds_no_word_of_it(text: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        contract.read(text)
    assert str(caught.value).startswith("no JSON object")


@given(st.text(max_size=200))
def test_whatever_comes_nothing_else_is_raised(text: str) -> None:
    try:
        contract.read(text)
    except BadAnswer:
        return


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*FACT, "l1", "title"]), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(JSON, JSON, JSON)
def test_whatever_the_parts_are_what_is_left_is_in_bounds(l1: Any, l2: Any, l3: Any) -> None:
    answer = contract.read(json.dumps({"l1": l1, "l2": l2, "l3": l3}))
    assert len(answer.facts) <= contract.MOST_FACTS
    for fact in answer.facts:
        assert fact.text
        assert 0 <= fact.confidence <= 1
        assert 1 <= fact.importance <= 10
    contract.grounded(answer, Script(), GROUND)


def test_nothing_found_is_no_error() -> None:
    assert read() == Answer()


@pytest.mark.parametrize(
    ("change", "gate"),
    [({"text": ""}, "text"), ({"text": None}, "text"), ({"text": "x" * 451}, "long")],
)
def test_a_bad_item_costs_itself_alone_and_is_counted(change: dict[str, Any], gate: str) -> None:
    answer = read({**FACT, **change}, FACT)
    assert len(answer.facts) == 1
    assert answer.drops == {gate: 1}


def test_items_that_are_none_and_too_many() -> None:
    answer = read(*[FACT] * 11)
    assert (len(answer.facts), answer.drops) == (8, {"many": 3})
    assert contract.read(json.dumps({"l2": ["a", FACT, 3], "l3": "x"})).drops == {"shape": 3}


def test_what_can_be_put_right_is() -> None:
    answer = read({**FACT, "kind": "Rumour", "scope": "planet", "confidence": "7", "importance": 99, "tags": "bees"})
    [fact] = answer.facts
    assert (fact.kind, fact.reach, fact.confidence, fact.importance, fact.tags) == ("fact", "user", 1.0, 10, ())
    assert answer.mended == {"kind": 1, "scope": 1, "range": 2}


def test_summaries_and_capsules() -> None:
    summary = {"request": "r" * 250, "actions": "", "outcome": "done", "importance": 4, "tags": ["a", "a", 3]}
    capsule = {"title": "Bees", "kind": "project", "text": "Seven hives", "importance": 5}
    answer = read(l1=summary, l3=[capsule, {**capsule, "kind": "saga"}, {**capsule, "title": ""}])
    assert answer.summary is not None
    assert (len(answer.summary.request), answer.summary.actions, answer.summary.tags) == (200, "-", ("a",))
    assert [whole.title for whole in answer.capsules] == ["Bees"]
    assert answer.drops == {"many": 1, "kind": 1}
    assert read(l1={"importance": 3}).drops == {"text": 1}


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
    [(fact, piece)], _ = ground(lie)
    assert (piece, fact.confidence) == (Pointer("ev1"), contract.UNQUOTED)
    assert ground(lie, tainted=True) == ([], {"tainted": 1})
    assert ground({**lie, "quote": "I"}) == ([], {"unsupported": 1})
    [(_, span)], _ = ground({**FACT, "text": "用户养了七箱蜜蜂"})  # what shares no script can share no word
    assert isinstance(span, Span)


def test_a_value_as_long_as_a_book_is_none() -> None:
    [(fact, _)], gates = ground({**FACT, "object": "bees " * 1000})
    assert ((fact.subject, fact.relation, fact.object), gates) == (("", "", ""), {"triple": 1})


@pytest.mark.parametrize(
    "much", ["x" + " " * 10**6 + "y", "\n" * 10**6, "{" * 10**6, '{"a":' * 10**5, "<think>" * 10**5]
)
def test_an_answer_of_megabytes_is_read_at_once(much: str) -> None:
    with pytest.raises(BadAnswer):
        contract.read(much)  # took hours: the daemon stood still
    assert json_object(much, ["keep"]) == {}
    assert contract.read(f'{{"l2": []}}{much}').facts == ()


def test_without_a_quote_that_stands_there_it_is_a_pointer_of_little_confidence_or_nothing() -> None:
    [(fact, piece)], gates = ground({**FACT, "quote": "seven beehives are mine"})
    assert (piece, fact.confidence, gates) == (Pointer("ev1"), contract.UNQUOTED, {})
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
