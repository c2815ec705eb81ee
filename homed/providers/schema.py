"""A JSON Schema in the part of OpenAPI's that Gemini takes.  Pure.

References are put in their places, ``allOf`` is merged, ``const`` becomes a list of one, a type that may be null
becomes ``nullable``; what has no counterpart is left out: arguments are checked against the whole schema by the kernel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

KEPT = frozenset(
    {
        "title", "description", "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength",
        "pattern", "minimum", "maximum",
    }
)  # fmt: skip
FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"enum", "date-time"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
TYPES = ("string", "number", "integer", "boolean", "array", "object")
DEEPEST = 12
"""Levels; what lies deeper, or within itself, is any object."""
STEPS = 1_000
"""Parts of one schema that are made, references in their places: far more than any tool's own.  What is within itself
in several places has more with every level, and is shown with fewer of them."""
_LEVELS = ((DEEPEST, STEPS), (6, STEPS), (4, STEPS), (3, STEPS), (2, 1 << 62))

Schema = dict[str, object]


class _TooMuch(Exception):
    """More parts than `STEPS`."""


@dataclass(slots=True)
class _Walk:
    """One way through a schema: what is ``defined`` in it, levels, and the parts that may still be made."""

    defined: Mapping[str, object]
    deepest: int
    left: int

    def step(self) -> None:
        """One part more."""
        self.left -= 1
        if self.left < 0:
            raise _TooMuch


def cleaned(schema: Mapping[str, object]) -> Schema | None:
    """The schema of a tool's parameters as Gemini takes it; None for one without parameters."""
    defined = _definitions(schema)
    made: Schema = {}
    for deepest, steps in _LEVELS:
        try:
            made = _clean(schema, _Walk(defined, deepest, steps), 0)
            break
        except _TooMuch:
            continue
    return made if made.get("properties") else None


def _definitions(schema: Mapping[str, object]) -> Mapping[str, object]:
    found: Schema = {}
    for name in ("definitions", "$defs"):
        table = schema.get(name)
        if isinstance(table, Mapping):
            found |= {f"#/{name}/{key}": value for key, value in table.items()}
    return found


def _clean(schema: object, walk: _Walk, depth: int) -> Schema:
    if depth >= walk.deepest:
        return {"type": "object"}
    walk.step()
    whole = _merged(schema, walk, depth)
    out: Schema = {key: value for key, value in whole.items() if key in KEPT and _fits(key, value)}
    kind, nullable = _type(whole)
    branches = [branch for key in ("anyOf", "oneOf") for branch in _list(whole.get(key))]
    kinds = [branch for branch in branches if not _is_null(branch)]
    nullable = nullable or len(kinds) < len(branches)
    if len(kinds) == 1:
        return {**_clean(kinds[0], walk, depth + 1), **out, **({"nullable": True} if nullable else {})}
    if kinds:
        out["anyOf"] = [_clean(branch, walk, depth + 1) for branch in kinds]
    else:
        _of_type(out, kind, whole, walk, depth)
    if nullable:
        out["nullable"] = True
    return out


def _fits(key: str, value: object) -> bool:
    if key in ("title", "description", "pattern"):
        return isinstance(value, str)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _merged(schema: object, walk: _Walk, depth: int) -> Schema:
    """With references and ``allOf`` put in."""
    whole: Schema = {str(key): value for key, value in schema.items()} if isinstance(schema, Mapping) else {}
    if depth >= walk.deepest:
        return whole
    walk.step()
    reference = whole.pop("$ref", None)
    if isinstance(reference, str):
        whole = {**_merged(walk.defined.get(reference), walk, depth + 1), **whole}
    for part in _list(whole.pop("allOf", None)):
        more = _merged(part, walk, depth + 1)
        properties = {**_table(whole.get("properties")), **_table(more.get("properties"))}
        required = [*_list(whole.get("required")), *_list(more.get("required"))]
        whole = {**more, **whole}
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole


def _of_type(out: Schema, kind: str, whole: Schema, walk: _Walk, depth: int) -> None:
    """Fill in what belongs to the type."""
    out["type"] = kind
    form = whole.get("format")
    if isinstance(form, str) and form in FORMATS.get(kind, ()):
        out["format"] = form
    allowed = [whole["const"]] if "const" in whole else _list(whole.get("enum"))
    if allowed and kind == "string":
        out["enum"] = [str(one) for one in allowed if isinstance(one, str) and one]
    elif allowed:  # only texts can be listed
        told = f"One of: {', '.join(one if isinstance(one, str) else json.dumps(one) for one in allowed)}."
        out["description"] = f"{out.get('description', '')} {told}".strip()
    if kind == "object":
        properties = {key: _clean(value, walk, depth + 1) for key, value in _table(whole.get("properties")).items()}
        if properties:
            out["properties"] = properties
            required = [name for name in _list(whole.get("required")) if name in properties]
            out |= {"required": list(dict.fromkeys(required))} if required else {}
    elif kind == "array":
        items = whole.get("items")
        out["items"] = _clean(items, walk, depth + 1) if isinstance(items, Mapping) and items else {"type": "string"}


def _type(whole: Schema) -> tuple[str, bool]:
    """The type, and whether it may be null."""
    said = whole.get("type")
    kinds = [one for one in (said if isinstance(said, list) else [said]) if one in TYPES]
    nullable = whole.get("nullable") is True or (isinstance(said, list) and "null" in said)
    if kinds:
        return str(kinds[0]), nullable
    if "properties" in whole:
        return "object", nullable
    return "array" if "items" in whole else "string", nullable


def _is_null(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _table(value: object) -> dict[str, object]:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}
