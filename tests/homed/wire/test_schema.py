"""Parameter schemas that are safe to hand to a model and to a validator."""

from __future__ import annotations

from typing import Any

import pytest

from homed.wire.schema import problems

GOOD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}}},
        "mode": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "any": True,
        "both": {"type": ["string", "null"]},
        "ref": {"$ref": "#/$defs/a"},
    },
    "$defs": {"a": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}


def test_what_tools_use_will_do() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "must be an object"),
        ({}, '"type" must be "object"'),
        ({"type": "array"}, '"type" must be "object"'),
        ({"type": "object", "properties": []}, "properties must be an object"),
        ({"type": "object", "properties": {"a": {"type": "str"}}}, "properties.a.type 'str' is none of"),
        ({"type": "object", "properties": {"a": {"type": [1]}}}, "properties.a.type 1 is none of"),
        ({"type": "object", "properties": {"a": 3}}, "properties.a must be an object"),
        ({"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/"}}}, "properties.a.$ref must stay"),
        ({"type": "object", "properties": {"a": {"items": {"$ref": "file:///etc/passwd"}}}}, "properties.a.items.$ref"),
        ({"type": "object", "properties": {"a": {"anyOf": [{"$ref": 1}]}}}, "properties.a.anyOf[0].$ref"),
        ({"type": "object", "properties": {"a": {"anyOf": {}}}}, "properties.a.anyOf must be a list"),
        ({"type": "object", "properties": {"a": {"items": 1}}}, "properties.a.items must be an object"),
        ({"type": "object", "required": "a"}, "required must be a list"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "required names 'a', which is no property"),
    ],
)
def test_what_would_hurt_is_named_with_its_place(schema: object, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(schema)), problems(schema)


def test_bottomless_nesting_is_refused_without_following_it() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    assert problems({"type": "object", "properties": {"a": schema}}) == ["is nested over 64 deep"]
    schema = {"type": "string"}
    for _ in range(20):
        schema = {"type": "array", "items": schema}
    found = problems({"type": "object", "properties": {"a": schema}})
    assert len(found) == 1
    assert "nested over 16 deep" in found[0]


@pytest.mark.parametrize("key", ["default", "enum", "x"])
def test_so_is_a_value_that_is_no_schema(key: str) -> None:
    """Every message to the model carries it: one that cannot be written as JSON would end the chat."""
    value: Any = 1
    for level in range(70):
        value = [value] if level % 2 else {"a": value}
    assert problems({"type": "object", "properties": {}, key: value}) == ["is nested over 64 deep"]
    assert problems({"type": "object", "properties": {}, key: [[[1]]]}) == []
