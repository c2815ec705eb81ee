"""JSON Schemas in Gemini's part of OpenAPI's: nothing in them that it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.providers.schema import cleaned
from tests.kit.gemini_rules import check_schema


def of(inner: dict[str, Any], **more: Any) -> Any:
    made = cleaned({"type": "object", "properties": {"a": inner}, **more})
    assert made is not None
    check_schema(made, "parameters", top=True)
    return made["properties"]["a"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": "string", "format": "uri", "minLength": 1}, {"type": "string", "minLength": 1}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"type": "string", "enum": ["a", "", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "integer"}}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
         {"type": "string", "description": "d", "nullable": True}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"allOf": [{"properties": {"x": {"type": "string"}}, "required": ["x"]}, {"properties": {"y": {}}}]},
         {"type": "object", "properties": {"y": {"type": "string"}, "x": {"type": "string"}}, "required": ["x"]}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object"}),
        ({"type": "object", "properties": {"x": {}}, "required": ["x", "gone"]},
         {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}),
    ],
)  # fmt: skip
def test_what_has_a_counterpart_is_kept(given: dict[str, Any], made: dict[str, Any]) -> None:
    assert of(given) == made


def test_references_are_put_in_their_places_and_those_to_themselves_end() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}, "name": {"type": "string"}}}
    made = of({"$ref": "#/$defs/tree", "description": "d"}, **{"$defs": {"tree": tree}})
    assert (made["description"], made["properties"]["name"]) == ("d", {"type": "string"})
    loop = of({"$ref": "#/definitions/x"}, definitions={"x": {"$ref": "#/definitions/x"}})
    assert loop["type"] in ("string", "object")


def within_itself(places: int, key: str = "properties") -> dict[str, Any]:
    """A schema that is in itself in so many places, as those of a language for filters are."""
    one = {"$ref": "#/$defs/node"}
    inner: object = {f"p{n}": one for n in range(places)} if key == "properties" else [one] * places
    node = {"type": "object", "properties": {"v": {"type": "string"}}, key: inner}
    if key == "properties":
        node["properties"] = {**inner, "v": {"type": "string"}}  # type: ignore[dict-item]
    return {"type": "object", "properties": {"a": one}, "$defs": {"node": node}}


@pytest.mark.parametrize("key", ["properties", "anyOf", "allOf"])
@pytest.mark.parametrize("places", [1, 2, 3, 8, 40])
def test_what_is_within_itself_in_several_places_makes_no_request_of_megabytes(places: int, key: str) -> None:
    """Three places were ten megabytes with each message, and five were all of homed for minutes."""
    made = cleaned(within_itself(places, key))
    assert made is not None
    check_schema(made, "parameters", top=True)
    assert len(json.dumps(made)) < 100_000
    if key == "properties":
        assert made["properties"]["a"]["properties"]["v"] == {"type": "string"}  # type: ignore[index]


def test_a_tool_without_parameters_has_no_schema() -> None:
    assert cleaned({"type": "object", "properties": {}}) is None
    assert cleaned({}) is None


WORDS = st.sampled_from(["string", "integer", "object", "array", "null", "boolean", "number", "strange"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), WORDS, st.lists(WORDS, max_size=3))
SCHEMAS = st.recursive(
    st.dictionaries(
        st.sampled_from(["type", "format", "enum", "const", "title", "description", "$ref", "minimum", "nullable"]),
        LEAVES, max_size=4,
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": WORDS, "items": inner, "anyOf": st.lists(inner, max_size=3), "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2), "required": st.lists(st.sampled_from(["a", "b", "z"]), max_size=3),
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        },
    ),
    max_leaves=12,
)  # fmt: skip


@given(SCHEMAS)
def test_whatever_comes_is_made_into_what_is_taken(schema: dict[str, Any]) -> None:
    made = cleaned({"type": "object", "properties": {"a": schema}})
    assert made is not None
    check_schema(made, "parameters", top=True)
