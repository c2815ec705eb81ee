"""Checks a value against its definition, and reads one from text.  Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import NoReturn

from homed.config.definitions import Definition
from homed.errors import ConfigError

MAX_TEXT = 64_000
"""Characters in a string setting: a setting is no place for documents (chat history once made 8 MB of them)."""
MAX_LIST = 256_000
"""Characters of JSON in a list setting."""
DEEPEST = 20
"""Lists and tables in one another in a list setting: whatever looks into it can do so without counting."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_LONGEST_DURATION = 64
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def check(definition: Definition, value: object, *, place: str = "") -> object:
    """The value as it is stored, or ``ConfigError`` naming ``place`` (file and line, variable), key and what is wanted.

    Integer-valued floats become integers (JSON from a page says ``5.0``); durations become seconds.
    """
    return _CHECKS[definition.type](definition, value, place)


def read(definition: Definition, value: object) -> object:
    """As a person gives it: a text is read as the type wants it ("5", "on", "90s"), anything else is checked."""
    return from_text(definition, value) if isinstance(value, str) else check(definition, value)


def from_text(definition: Definition, text: str, *, place: str = "") -> object:
    """Read a value from a command line or an environment variable, then ``check`` it."""
    if definition.type == "list":
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            _refuse(definition, place, 'must be a JSON array, like ["a", "b"]')
        return check(definition, value, place=place)
    if definition.type in ("int", "float"):
        return check(definition, _number(text), place=place)
    if definition.type == "bool":
        word = text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    return check(definition, text, place=place)


def whole(value: object) -> object:
    """The same JSON value with every integer-valued float as an int, at any depth."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {str(key): whole(item) for key, item in value.items()}
    return value


def _number(text: str) -> object:
    for number in (int, float):
        try:
            return number(text.strip())
        except ValueError:
            continue
    return text


def _refuse(definition: Definition, place: str, wanted: str) -> NoReturn:
    where = f"{place}: " if place else ""
    raise ConfigError(
        f"{where}{definition.key} {wanted}.",
        hint=f"The default is {json.dumps(definition.default, ensure_ascii=False)}." if not definition.secret else "",
        detail={"key": definition.key, "place": place},
    )


def _text(definition: Definition, value: object, place: str) -> object:
    if not isinstance(value, str):
        _refuse(definition, place, "must be text")
    if len(value) > MAX_TEXT:
        _refuse(definition, place, f"may have {MAX_TEXT} characters at most; this has {len(value)}")
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        _refuse(definition, place, "must be plain text without NUL or broken characters")
    if definition.type == "string" and ("\n" in value or "\r" in value):
        _refuse(definition, place, "must be a single line")
    if definition.fits is not None and not definition.fits(value):
        _refuse(definition, place, definition.wanted)
    return value


def _in_range(definition: Definition, value: float, place: str) -> float:
    low, high = definition.minimum, definition.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        unit = " seconds" if definition.type == "duration" else ""
        if low is not None and high is not None:
            bounds = f"between {plain(low)} and {plain(high)}"
        else:
            bounds = " ".join(f"{w} {plain(n)}" for w, n in (("at least", low), ("at most", high)) if n is not None)
        _refuse(definition, place, f"must be {bounds}{unit}; this is {plain(value)}")
    return value


def plain(number: float) -> str:
    """As people write it: 31536000, not 3.1536e+07."""
    return str(int(number)) if float(number).is_integer() else f"{number:g}"


def _finite(definition: Definition, value: object, place: str, wanted: str) -> int | float:
    # bool is an int to Python, but "true tool turns" is a mistake worth naming
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        _refuse(definition, place, wanted)
    return int(value) if float(value).is_integer() else value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond what a float can hold
        return False


def _int(definition: Definition, value: object, place: str) -> object:
    number = _finite(definition, value, place, "must be a whole number")
    if not isinstance(number, int):
        _refuse(definition, place, "must be a whole number")
    return _in_range(definition, number, place)


def _float(definition: Definition, value: object, place: str) -> object:
    return _in_range(definition, _finite(definition, value, place, "must be a number"), place)


def _bool(definition: Definition, value: object, place: str) -> object:
    if not isinstance(value, bool):
        _refuse(definition, place, "must be true or false")
    return value


def _duration(definition: Definition, value: object, place: str) -> object:
    wanted = 'must be a duration: seconds, or a text like "90s", "5m", "1h30m"'
    if isinstance(value, str):
        text = value.strip().lower()
        if len(text) > _LONGEST_DURATION:  # looked through again from each of its digits
            _refuse(definition, place, wanted)
        parts = _DURATION.findall(text)
        if parts and "".join(number + unit for number, unit in parts) == text:
            value = sum(float(number) * _UNITS[unit] for number, unit in parts)
        else:
            value = _number(text)
    return _in_range(definition, _finite(definition, value, place, wanted), place)


def _select(definition: Definition, value: object, place: str) -> object:
    if value not in definition.options:
        _refuse(definition, place, f"must be one of {', '.join(definition.options)}")
    return value


def _list(definition: Definition, value: object, place: str) -> object:
    if not isinstance(value, list | tuple):
        _refuse(definition, place, "must be a list")
    if not _shallow(value, DEEPEST):
        _refuse(definition, place, f"may have {DEEPEST} lists and tables in one another at most")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        _refuse(definition, place, "may hold only text, numbers, true, false, lists and tables")
    if any("\ud800" <= c <= "\udfff" for c in text):
        _refuse(definition, place, "must be plain text without broken characters")
    size = len(text)
    if size > MAX_LIST:
        _refuse(definition, place, f"is too long ({size} characters as JSON; {MAX_LIST} at most)")
    return whole(value)


def _shallow(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    return inner is None or (levels > 0 and all(_shallow(one, levels - 1) for one in inner))


_CHECKS: dict[str, Callable[[Definition, object, str], object]] = {
    "string": _text,
    "text": _text,
    "password": _text,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "duration": _duration,
    "select": _select,
    "list": _list,
}
