"""A JSON Schema validator that comes to an end in time, whatever the schema is: it may be a stranger's, and so may be
what it is held against.

Three keywords can take for ever in a few bytes, and nothing else of homed runs meanwhile: ``pattern``, ``uniqueItems``,
and references that lead to references.  Patterns that could be slow on a text of that length, or that are no regular
expressions of Python's (``\\p{L}``), are left to the tool itself; references are counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import attrs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

REFERENCES = 20_000
"""References that one check may follow: half a second at the worst, and far more than arguments of a tool take."""

STEPS = 10_000_000
"""Steps that a pattern may take on one text, as far as they can be told beforehand: a few tenths of a second."""
_LONGEST, _MOST = 100_000, 3
"""Characters of a text that any pattern is tried on; quantifiers without an end (or a far one) that it may have."""
_FEW = 16
"""Lengths that a quantifier may stand for and still count as so many patterns, and not as one without an end."""

_ESCAPE = re.compile(r"\\[1-9]|\(\?P=")
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_OPENING = re.compile(r"\(\?(?:P?<[A-Za-z_]\w*>|[:=!]|<[=!])")
_QUANTIFIER = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}")
_REPEATED = re.compile(r"\)(?:[*+{])")

Errors = Iterator[ValidationError]
_BUILT_IN = Draft202012Validator.VALIDATORS
_extend: Callable[..., Any] = extend  # it has no types


class Endless(Exception):
    """A schema whose references lead to ever more of them."""


def validator(schema: Mapping[str, object]) -> Any:
    """A validator of ``schema``; its ``iter_errors`` raises Endless for one that would not come to an end."""
    # an empty registry: a $ref in a plugin's schema must never make the kernel fetch anything
    base = _Looser if _has(schema, "patternProperties") else _Bounded
    made = _counting(base) if _has(schema, "$ref", "$dynamicRef") else base
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
    plain = _OPENING.sub("(", _ATOM.sub("x", pattern))
    if _REPEATED.search(plain):
        return 0
    free, ways, least = 0, _alternatives(plain), 1
    for low, high, few in map(_counts, _QUANTIFIER.finditer(plain)):
        least += low
        free, ways = (free, ways * (high - low + 1)) if few else (free + 1, ways)
    if free > _MOST:
        return 0
    # of a text of n characters, n ** (f + 1) / (f + 1)! beginnings and ends, for each of the ways, as far as it is long
    steps = STEPS * math.factorial(free + 1) // (ways * least)
    return min(_LONGEST, int(steps ** (1 / (free + 1))))


def _counts(found: re.Match[str]) -> tuple[int, int, bool]:
    """How often at the least and at the most what stands before a quantifier may come, and whether these are a few."""
    match found.group():
        case "*" | "+":
            return 0, 0, False
        case "?":
            return 0, 1, True
    low = int(found[1] or 0)
    high = int(found[3] or 0) if found[2] else low
    return low, high, high >= low and high - low < _FEW


def _alternatives(plain: str) -> int:
    """In how many ways the alternatives of a pattern can be put together, at the most."""
    ways, open_ = 1, [1]
    for character in plain:
        if character == "(":
            open_.append(1)
        elif character == "|":
            open_[-1] += 1
        elif character == ")":
            ways *= open_.pop()
    return ways * open_[0]


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


def _left(*_: object) -> Errors:
    yield from ()


def _unique(_: Any, wanted: object, instance: object, __: Mapping[str, object]) -> Errors:
    if wanted and isinstance(instance, list):
        seen = {json.dumps(one, sort_keys=True) for one in instance}
        if len(seen) < len(instance):
            yield ValidationError("It has the same element more than once.")


_CHANGED: dict[str, Callable[..., Errors]] = {
    "pattern": _pattern,
    "patternProperties": _by_pattern("patternProperties"),
    "additionalProperties": _by_pattern("additionalProperties"),
    "uniqueItems": _unique,
}


def _evolve(self: Any, **changes: object) -> Any:
    """The library's own takes the class from the schema below: one that names its dialect would be checked without any
    bound."""
    kept = {one.alias: getattr(self, one.name) for one in attrs.fields(type(self)) if one.init}
    return type(self)(**{**kept, **changes})


def _made(base: Any, changed: Mapping[str, Callable[..., Errors]]) -> Any:
    made = _extend(base, changed)
    made.evolve = _evolve
    return made


_Bounded = _made(Draft202012Validator, _CHANGED)
_Looser = _made(_Bounded, {"unevaluatedProperties": _left})
"""Where names are given by patterns anywhere: it tries these, too, and each on every name."""


def _counting(base: Any) -> Any:
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

    return _made(base, {name: counted(name) for name in ("$ref", "$dynamicRef")})


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
