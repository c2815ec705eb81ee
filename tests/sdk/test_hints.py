"""Type hints as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest
import typing_extensions

from homed.sdk.hints import schema


class Edit(TypedDict):
    old: str
    new: Annotated[str, "What stands there then."]
    count: NotRequired[int]


class Loose(TypedDict, total=False):
    a: Required[int]
    b: list[Edit]


class Other(typing_extensions.TypedDict):
    a: int


EDIT = {
    "type": "object",
    "properties": {
        "old": {"type": "string"},
        "new": {"type": "string", "description": "What stands there then."},
        "count": {"type": "integer"},
    },
    "additionalProperties": False,
    "required": ["old", "new"],
}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (Any, {}),
        (list, {"type": "array", "items": {}}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (dict, {"type": "object"}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (Mapping[str, Any], {"type": "object"}),
        (str | None, {"type": ["string", "null"]}),
        (list[int] | None, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Annotated[int, "How many.", {"minimum": 1}], {"type": "integer", "description": "How many.", "minimum": 1}),
        (Edit, EDIT),
        (list[Edit], {"type": "array", "items": EDIT}),
        (Other, {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False,
                 "required": ["a"]}),
    ],
)  # fmt: skip
def test_a_type_that_json_has_is_mapped(hint: Any, expected: dict[str, Any]) -> None:
    assert schema(hint) == expected


def test_required_and_optional_keys_are_told_apart_with_postponed_annotations() -> None:
    found = schema(Loose)
    assert found["required"] == ["a"]
    assert set(found["properties"]) == {"a", "b"}


@pytest.mark.parametrize(
    "hint", [Path, bytes, set[int], list[Path], Path | None, dict[int, str], tuple[int], Literal[b"a"]]
)
def test_a_type_that_json_has_not_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError, match="JSON has no"):
        schema(hint)
