"""The answer of a model: what is taken of it, and at which gate the rest is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.distil import contract
from homed.memory.distil.answers import json_object
from homed.memory.distil.contract import Answer, BadAnswer
from homed.memory.distil.grounding import grounded
from tests.homed.memory.distil.script import FACT, GROUND, Script, read


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
    grounded(answer, Script(), GROUND)


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


@pytest.mark.parametrize(
    "much", ["x" + " " * 10**6 + "y", "\n" * 10**6, "{" * 10**6, '{"a":' * 10**5, "<think>" * 10**5]
)
def test_an_answer_of_megabytes_is_read_at_once(much: str) -> None:
    with pytest.raises(BadAnswer):
        contract.read(much)  # took hours: the daemon stood still
    assert json_object(much, ["keep"]) == {}
    assert contract.read(f'{{"l2": []}}{much}').facts == ()
