"""Arguments are held against strangers' schemas: that comes to an end, and refuses no call for a word of theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homed.agent.arguments import check
from homed.agent.validating import REFERENCES, longest


def taking(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


def refused(schema: dict[str, Any], value: object) -> str:
    found = check(schema, {"a": value}).refusal
    return str(json.loads(found)["reason"]) if found else ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z][a-z0-9_-]*$", r"^\d{4}-\d{2}-\d{2}$", r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", r"^(?:yes|no)$",
        r"^#[0-9a-f]{6}$", r"^https?://", r"[]x]+", r"^\.\*$", r"^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$",
        r"^\+?\d{1,3}[ -]?\d{3}[ -]?\d{4}$", r"^(?:mon|tue|wed|thu|fri|sat|sun)(?: (?:am|pm))?$",
        r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?$",
    ],
)  # fmt: skip
def test_what_people_write_is_checked(pattern: str) -> None:
    assert longest(pattern) >= 80
    assert refused(taking(type="string", pattern=pattern), "!") == "pattern"


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("^(a+)+$", "a" * 60 + "!"), ("^(a|a)*$", "a" * 60 + "!"), ("^(?:a?){60}a{60}$", "a" * 60),
        ("a?" * 40 + "a" * 40, "a" * 40), ("a*" * 12 + "b", "a" * 500), ("(x+x+)+y", "x" * 60),
        (r"^(.*)\1$", "a" * 90_000), ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60), ("(a{1,9}){1,9}b", "a" * 100),
        ("[ab]{30000}c", "a" * 90_000), (f"^{'(?:a.|.a)' * 40}b$", "a" * 85), ("a{1,3}" * 40 + "b", "a" * 99),
        ("a{0,30000}" * 4 + "b", "a" * 90_000), ("a{,3000}b", "a" * 90_000),
    ],
)  # fmt: skip
def test_what_would_take_for_ever_is_left_to_the_tool(pattern: str, value: str) -> None:
    assert refused(taking(type="string", pattern=pattern), value) == ""
    named = {"type": "object", "properties": {"a": {"patternProperties": {pattern: {"type": "integer"}},
                                                    "additionalProperties": False}}}  # fmt: skip
    assert refused(named, {value: "x"}) == ""


@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
def test_a_part_that_names_its_dialect_is_bounded_as_well(dialect: str) -> None:
    part = {"$schema": dialect, "pattern": "^(a+)+$", "uniqueItems": True}
    assert refused(taking(**part), "a" * 60 + "!") == ""
    assert refused({**taking(**{"$ref": "#/$defs/d"}), "$defs": {"d": part}}, "a" * 60 + "!") == ""
    many: list[object] = [{"a": n} for n in range(50_000)]
    assert refused(taking(**part), many) == ""
    assert refused(taking(**part), [*many, {"a": 7}]) == "uniqueItems"


def test_what_is_not_evaluated_is_no_way_around() -> None:
    """Through a reference, to names by a pattern."""
    schema = {
        **taking(unevaluatedProperties=False, **{"$ref": "#/$defs/d"}),
        "$defs": {"d": {"patternProperties": {"^(a+)+$": {}}}},
    }
    assert refused(schema, {"a" * 60 + "!": 1}) == ""
    assert refused(taking(unevaluatedProperties=False, properties={"b": {}}), {"c": 1}) == "unevaluatedProperties"


def test_references_in_a_circle_are_the_fault_of_the_schema() -> None:
    circle = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    assert refused({**taking(**{"$ref": "#/$defs/a"}), "$defs": circle}, 1) == "bad_schema"


def test_a_pattern_is_tried_on_what_it_can_read_in_time_only() -> None:
    schema = taking(type="string", pattern="^[a-z]+[0-9]+$")
    assert refused(schema, "a" * 100) == "pattern"
    assert refused(schema, "a" * 10_000) == ""


@pytest.mark.parametrize("pattern", [r"^\p{L}+$", r"^(?<year>\d+)$", "(", "x{2,1}", "(" * 5_000])
def test_a_pattern_of_another_language_keeps_no_tool_from_being_called(pattern: str) -> None:
    """JSON Schema's are those of JavaScript."""
    assert refused(taking(type="string", pattern=pattern), "x") == ""


def test_names_by_pattern_are_checked_as_ever() -> None:
    schema = taking(patternProperties={"^n_": {"type": "integer"}}, additionalProperties=False)
    assert refused(schema, {"n_a": 1}) == ""
    assert refused(schema, {"n_a": "x"}) == "type"
    assert refused(schema, {"m": 1}) == "additionalProperties"


def test_that_elements_are_different_is_seen_at_once() -> None:
    schema = taking(type="array", uniqueItems=True)
    many: list[object] = [{"a": n} for n in range(50_000)]
    assert refused(schema, many) == ""
    assert refused(schema, [*many, {"a": 7}]) == "uniqueItems"


def test_references_are_followed_so_far_and_no_farther() -> None:
    deeper = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {**taking(**{"$ref": "#/$defs/d0"}), "$defs": {**deeper, "d60": {}}}
    assert refused(schema, 1) == "bad_schema"
    item = {**taking(type="array", items={"$ref": "#/$defs/n"}), "$defs": {"n": {"type": "integer"}}}
    assert refused(item, [1] * (REFERENCES // 2)) == ""
    assert refused(item, ["x"]) == "type"


def test_of_very_many_errors_one_is_told() -> None:
    assert refused(taking(type="array", items={"type": "string"}), [1] * 100_000) == "type"
