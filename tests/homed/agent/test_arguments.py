"""Arguments are put right where that is beyond doubt, and refused in a way a model can use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.arguments import check

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file."},
        "limit": {"type": "integer", "minimum": 1},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        ({"limit": "5"}, {"limit": 5}),
        ({"limit": "-5"}, None),
        ({"limit": 5.0}, {"limit": 5}),
        ({"limit": "five"}, None),
        ({"limit": "²"}, None),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"ratio": "nan"}, None),
        ({"deep": "true"}, {"deep": True}),
        ({"deep": "False"}, {"deep": False}),
        ({"deep": 1}, None),
        ({"tags": ["1", 2]}, {"tags": [1, 2]}),
        ({"maybe": "null"}, {"maybe": None}),
        ({"maybe": "7"}, {"maybe": 7}),
        ({"path": 5}, None),
        ({"nonsense": 1}, None),
    ],
)
def test_gentle_coercion_and_nothing_else(given_: dict[str, Any], wanted: dict[str, Any] | None) -> None:
    checked = check(SCHEMA, {"path": "a", **given_})
    if wanted is None:
        assert checked.refusal
        assert checked.arguments == {}
    else:
        assert not checked.refusal
        assert checked.arguments == {"path": "a", **wanted}


def test_a_string_that_looks_like_a_number_stays_a_string_where_one_is_wanted() -> None:
    assert check(SCHEMA, {"path": "5"}).arguments == {"path": "5"}


def test_a_missing_argument_is_named() -> None:
    """E13"""
    refused = json.loads(check(SCHEMA, {}).refusal)
    assert refused["field"] == "path"
    assert refused["reason"] == "required"
    assert refused["detail"]
    assert "A file." in refused["hint"]


def test_a_wrong_type_names_the_field_and_what_it_should_be() -> None:
    refused = json.loads(check(SCHEMA, {"path": "a", "limit": "x"}).refusal)
    assert (refused["field"], refused["reason"]) == ("limit", "type")
    assert "integer" in refused["hint"]


def test_no_arguments_at_all_are_valid() -> None:
    """E15"""
    assert check({"type": "object", "properties": {}}, {}).refusal == ""


def test_a_schema_that_is_just_true_is_one() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [True, {"type": "integer"}]}}}
    assert check(schema, {"a": "5"}).arguments == {"a": 5}


def test_undecodable_arguments_come_back_with_guidance() -> None:
    """A15: nothing is run half-parsed."""
    refused = json.loads(check(SCHEMA, None, '{"path":1').refusal)
    assert refused["reason"] == "undecodable"
    assert '{"path":1' in refused["detail"]
    assert "Nothing was run" in refused["hint"]


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:1/x"}, {"$ref": "#/nowhere"}])
def test_a_broken_schema_is_a_refusal_and_no_crash_and_nothing_is_fetched(schema: dict[str, object]) -> None:
    assert json.loads(check(schema, {"a": 1}).refusal)["reason"] == "bad_schema"


@given(st.dictionaries(st.text(max_size=5), st.recursive(st.none() | st.text(max_size=5), st.lists, max_leaves=3)))
def test_any_arguments_are_either_accepted_or_refused_never_raised(arguments: dict[str, Any]) -> None:
    checked = check(SCHEMA, arguments)
    assert bool(checked.refusal) != bool(checked.arguments)
