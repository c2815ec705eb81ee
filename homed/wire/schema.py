"""What a tool's parameter schema must look like before anybody uses it.  Pure, and no validator: light to import.

The kernel checks arguments with a full JSON Schema library; here is only what must hold for that to be safe and for
every model service to take the tool: an object at the top, no reference to elsewhere, no bottomless nesting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_DEPTH = 16
_DEEPEST = 64
"""Levels of objects and lists in all, values that are no schema among them: ``default``, or a word nobody knows."""
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


def problems(schema: object) -> list[str]:
    """Everything wrong with a parameter schema, each with its place in it; empty when it will do."""
    if not isinstance(schema, dict):
        return ["must be an object"]
    if _deeper(schema):
        return [f"is nested over {_DEEPEST} deep"]
    found = [] if schema.get("type") == "object" else ['"type" must be "object"']
    return found + list(_walk(schema, "", 0))


def _deeper(value: object) -> bool:
    """Whether it has more levels than it may have."""
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        lists = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [part for parts in lists for part in parts]
    return any(isinstance(one, (dict, list)) for one in level)


def _walk(schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
    if depth > _DEPTH:
        yield f"{at or 'it'} is nested over {_DEPTH} deep"
        return
    yield from _own(schema, at)
    for key in ("properties", "$defs"):
        parts = schema.get(key, {})
        if not isinstance(parts, dict):
            yield f"{at}{key} must be an object"
            continue
        for name, part in parts.items():
            yield from _part(part, f"{at}{key}.{name}.", depth)
    for key in ("items", "additionalProperties"):
        if key in schema and not isinstance(schema[key], bool):
            yield from _part(schema[key], f"{at}{key}.", depth)
    for key in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(key, [])
        if not isinstance(parts, list):
            yield f"{at}{key} must be a list"
            continue
        for index, part in enumerate(parts):
            yield from _part(part, f"{at}{key}[{index}].", depth)


def _part(part: object, at: str, depth: int) -> Iterator[str]:
    if isinstance(part, dict):
        yield from _walk(part, at, depth + 1)
    elif not isinstance(part, bool):
        yield f"{at[:-1]} must be an object"


def _own(schema: Mapping[str, Any], at: str) -> Iterator[str]:
    """What can be wrong with one level, its parts left out."""
    type_ = schema.get("type", "object")
    for name in type_ if isinstance(type_, list) else [type_]:
        if not isinstance(name, str) or name not in _TYPES:
            yield f"{at}type {name!r} is none of {', '.join(sorted(_TYPES))}"
    reference = schema.get("$ref", "#/")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        yield f"{at}$ref must stay inside the schema (#/…)"
    required, known = schema.get("required", []), schema.get("properties", {})
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield f"{at}required must be a list of names"
    elif isinstance(known, dict):
        yield from (f"{at}required names {name!r}, which is no property" for name in required if name not in known)
