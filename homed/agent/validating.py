"""A JSON Schema validator that comes to an end in time, whatever the schema is: it may be a stranger's, and so may be
what it is held against.

Three keywords can take for ever in a few bytes, and nothing else of homed runs meanwhile: ``pattern``, ``uniqueItems``,
and references that lead to references.  Patterns that could be slow on a text of that length, or that are no regular
expressions of Python's (``\\p{L}``), are left to the tool itself; references are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

REFERENCES = 20_000
"""References that one check may follow: half a second at the worst, and far more than arguments of a tool take."""

_LENGTHS = (100_000, 3_000, 250, 80)
"""Characters up to which a pattern is tried that has none, one, two, three quantifiers: some ten million steps."""

_ESCAPE = re.compile(r"\\[1-9]|\(\?P=")
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_OPENING = re.compile(r"\(\?(?:P?<[A-Za-z_]\w*>|[:=!]|<[=!])")
_EXACTLY = re.compile(r"(?<!\))\{\d+\}")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,\d*\})[?+]?")
_REPEATED = re.compile(r"\)(?:[*+{])")

Errors = Iterator[ValidationError]
_BUILT_IN = Draft202012Validator.VALIDATORS
_extend: Callable[..., Any] = extend  # it has no types


class Endless(Exception):
    """A schema whose references lead to ever more of them."""


def validator(schema: Mapping[str, object]) -> Any:
    """A validator of ``schema``; its ``iter_errors`` raises Endless for one that would not come to an end."""
    # an empty registry: a $ref in a plugin's schema must never make the kernel fetch anything
    made = _counting() if _has(schema, "$ref", "$dynamicRef") else _Bounded
    return made(schema, registry=Registry())


@lru_cache(maxsize=512)
def longest(pattern: str) -> int:
    """Characters of a text on which a pattern surely comes to an end soon; 0 where it is not to be tried at all."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return 0
    if _ESCAPE.search(pattern):
        return 0
    plain = _EXACTLY.sub("", _OPENING.sub("(", _ATOM.sub("x", pattern)))
    if _REPEATED.search(plain):
        return 0
    count = len(_QUANTIFIER.findall(plain))
    return _LENGTHS[count] if count < len(_LENGTHS) else 0


def _quick(pattern: object, text: str) -> bool:
    return isinstance(pattern, str) and len(text) <= longest(pattern)


def _pattern(checker: Any, pattern: object, instance: object, schema: Mapping[str, object]) -> Errors:
    if isinstance(instance, str) and _quick(pattern, instance):
        yield from _BUILT_IN["pattern"](checker, pattern, instance, schema)


def _by_pattern(keyword: str) -> Callable[..., Errors]:
    """One of the keywords that look at names by the patterns of ``patternProperties``."""

    def check(checker: Any, value: object, instance: object, schema: Mapping[str, object]) -> Errors:
        patterns = schema.get("patternProperties")
        known = patterns if isinstance(patterns, Mapping) else {}
        names = instance if isinstance(instance, Mapping) else {}
        if all(_quick(one, str(name)) for one in known for name in names):
            yield from _BUILT_IN[keyword](checker, value, instance, schema)

    return check


def _unevaluated(checker: Any, value: object, instance: object, schema: Mapping[str, object]) -> Errors:
    if not _has(schema, "patternProperties"):  # wherever below, they are looked at
        yield from _BUILT_IN["unevaluatedProperties"](checker, value, instance, schema)


def _unique(_: Any, wanted: object, instance: object, __: Mapping[str, object]) -> Errors:
    if wanted and isinstance(instance, list):
        seen = {json.dumps(one, sort_keys=True) for one in instance}
        if len(seen) < len(instance):
            yield ValidationError("It has the same element more than once.")


_CHANGED: dict[str, Callable[..., Errors]] = {
    "pattern": _pattern,
    "patternProperties": _by_pattern("patternProperties"),
    "additionalProperties": _by_pattern("additionalProperties"),
    "unevaluatedProperties": _unevaluated,
    "uniqueItems": _unique,
}
_Bounded: Any = _extend(Draft202012Validator, _CHANGED)


def _counting() -> Any:
    """The same, made for one check: it counts the references that are followed."""
    followed = 0

    def counted(keyword: str) -> Callable[..., Errors]:
        def check(checker: Any, value: object, instance: object, schema: Mapping[str, object]) -> Errors:
            nonlocal followed
            followed += 1
            if followed > REFERENCES:
                raise Endless(f"its references lead to more than {REFERENCES} others")
            yield from _BUILT_IN[keyword](checker, value, instance, schema)

        return check

    return _extend(_Bounded, {name: counted(name) for name in ("$ref", "$dynamicRef")})


def _has(schema: object, *keywords: str) -> bool:
    """Whether one of these is anywhere in a schema."""
    level: list[object] = [schema]
    while level:
        maps = [one for one in level if isinstance(one, Mapping)]
        if any(keyword in one for one in maps for keyword in keywords):
            return True
        inside: list[object] = [part for one in maps for part in one.values()]
        level = inside + [part for one in level if isinstance(one, list) for part in one]
    return False
