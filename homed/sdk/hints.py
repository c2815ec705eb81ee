"""A type hint as JSON Schema, for the types that ``json.loads`` gives.

No validation library: the kernel checks arguments against the schema, so all that is needed is this mapping.
TypedDicts are written out in place, for many model servers do not follow ``$ref``.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, Union

_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_LISTS = (list, Sequence, Iterable)
_OBJECTS = (dict, Mapping)


def schema(hint: Any) -> dict[str, Any]:
    """The schema of a hint: ``str``, ``list[int]``, ``Literal["a"]``, ``X | None``, a TypedDict, ….

    ``Annotated[int, "how many", {"minimum": 1}]`` adds a description and keywords.  Raises `TypeError` for a type that
    JSON does not have.
    """
    if hint is Any or hint is object:
        return {}
    if typing.get_origin(hint) is Annotated:  # first, for it need not be hashable
        return _annotated(typing.get_args(hint))
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if hasattr(hint, "__required_keys__"):  # is_typeddict() does not know typing_extensions' own
        return _typed_dict(hint)
    return _generic(hint, typing.get_origin(hint) or hint, typing.get_args(hint))


def _generic(hint: Any, origin: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    if origin is Literal:
        return _literal(args)
    if origin in (Union, types.UnionType):
        return _union([schema(part) for part in args])
    if origin in _LISTS:
        return {"type": "array", "items": schema(args[0]) if args else {}}
    if origin in _OBJECTS and (not args or args[0] is str):
        values = schema(args[1]) if args else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise TypeError(f"JSON has no {getattr(hint, '__name__', hint)}")


def _annotated(args: tuple[Any, ...]) -> dict[str, Any]:
    result = schema(args[0])
    for extra in args[1:]:
        if isinstance(extra, str):
            result["description"] = extra
        elif isinstance(extra, dict):
            result |= extra
    return result


def _literal(values: tuple[Any, ...]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if not kinds <= set(_SCALARS):
        raise TypeError(f"JSON has no such constant: {values}")
    kind = {"type": _SCALARS[kinds.pop()]} if len(kinds) == 1 else {}
    return {**kind, "enum": list(values)}


def _union(parts: list[dict[str, Any]]) -> dict[str, Any]:
    names = [part["type"] for part in parts if set(part) == {"type"}]
    return {"type": names} if len(names) == len(parts) else {"anyOf": parts}


def _typed_dict(hint: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, part in typing.get_type_hints(hint, include_extras=True).items():
        needed = name in hint.__required_keys__
        if typing.get_origin(part) in (Required, NotRequired):
            # With postponed annotations the class itself does not see these two.
            needed = typing.get_origin(part) is Required
            (part,) = typing.get_args(part)
        properties[name] = schema(part)
        if needed:
            required.append(name)
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": required} if required else {})
