"""References to values: ``$args.key``, ``$name.field``; whole, with the type kept, or in a text as ``${…}``.  Pure.

A text that is one reference stands for the value itself.  In a longer text ``${name.field}`` is replaced by the value
as text, and ``$$`` is a dollar sign.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
PATH = r"[a-z][a-z0-9_]{0,31}(?:\.[A-Za-z0-9_-]{1,64}){0,8}"
ARGS = "args"
"""The name that the arguments of a group go by; no step or group may take it."""

_WHOLE = re.compile(rf"\$({PATH})")
_PIECE = re.compile(rf"\$\$|\$\{{({PATH})\}}")
_BARE = re.compile(rf"(?<!\$)\$({PATH})")
_DEPTH = 12
_SHOWN = 12

MAX_VALUE_DEPTH = 64
"""How deep a value may nest: what a step said that goes deeper stays the text it is."""

MAX_FILLED = 1_000_000
"""Characters that references may put into one call: a tool takes no more, and a few dollar signs can ask for any
number of copies of a long result."""


class BadReference(Exception):
    """There is no such value; its text says what there is instead."""


class _Nothing:
    """The value of a step that did not run or failed."""


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class Ref:
    """``$name.path.…``; a part of the path is a key, or the number of a list's element."""

    name: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "$" + ".".join((self.name, *self.path))


Text = tuple["str | Ref", ...]


class _Room:
    """What references may still put in."""

    def __init__(self) -> None:
        self._left = MAX_FILLED

    def take(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise BadReference(f"the arguments are longer than {MAX_FILLED} characters with their references filled in")
        return text


def reference(text: str) -> Ref:
    """``name.path`` without its dollar sign, which must match `PATH`."""
    name, *path = text.split(".")
    return Ref(name, tuple(path))


def parse(text: str) -> Ref | Text:
    """A text of an argument: one reference, or plain pieces and references in their order."""
    if whole := _WHOLE.fullmatch(text):
        return reference(whole[1])
    pieces: list[str | Ref] = []
    at = 0
    for found in _PIECE.finditer(text):
        pieces += [text[at : found.start()], reference(found[1]) if found[1] else "$"]
        at = found.end()
    return tuple(piece for piece in (*pieces, text[at:]) if piece != "")


def literal(text: str) -> str:
    """The text to write so that `parse` gives back exactly this text, whatever is in it."""
    return text.replace("$", "$$")


def texts(value: object, at: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value with its place; keys are no texts.  The value must have passed `depth`."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from texts(part, f"{at}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from texts(part, f"{at}[{index}]")


def used(text: str) -> list[Ref]:
    """The references in one text."""
    parsed = parse(text)
    return [parsed] if isinstance(parsed, Ref) else [piece for piece in parsed if isinstance(piece, Ref)]


def bare(text: str, known: frozenset[str]) -> list[Ref]:
    """References to known names inside a longer text that lack their braces and would be left as they are."""
    if _WHOLE.fullmatch(text):
        return []
    plain = _PIECE.sub("", text)
    return [ref for found in _BARE.finditer(plain) if (ref := reference(found[1])).name in known]


def too_deep(value: object, depth: int = _DEPTH) -> bool:
    """Whether a value nests deeper than a sequence may write."""
    if depth < 0:
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(too_deep(part, depth - 1) for part in parts)


def resolve(value: object, values: Mapping[str, object]) -> object:
    """The value with every reference replaced.  Raises `BadReference`, also when that is more than a call can hold."""
    return _resolved(value, values, _Room())


def _resolved(value: object, values: Mapping[str, object], room: _Room) -> object:
    if isinstance(value, str):
        parsed = parse(value)
        if isinstance(parsed, Ref):
            found = look_up(parsed, values)
            room.take(as_text(found))
            return found
        return "".join(room.take(as_text(look_up(p, values))) if isinstance(p, Ref) else p for p in parsed)
    if isinstance(value, Mapping):
        return {key: _resolved(part, values, room) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part, values, room) for part in value]
    return value


def look_up(ref: Ref, values: Mapping[str, object]) -> object:
    """The value a reference stands for.  Raises `BadReference`."""
    if ref.name not in values:
        raise BadReference(f"{ref}: there is no {ref.name}")
    value = values[ref.name]
    if value is NOTHING:
        raise BadReference(f"{ref} has no value: {ref.name} did not run or failed")
    for done, part in enumerate(ref.path):
        value = _field(structure(value), part, Ref(ref.name, ref.path[:done]))
    return value


def _field(value: object, part: str, of: Ref) -> object:
    if isinstance(value, Mapping):
        if part in value:
            return value[part]
        known = ", ".join(sorted(map(str, value))[:_SHOWN]) or "nothing"
        raise BadReference(f"{of} has no field {part!r}; it has {known}")
    if isinstance(value, list):
        if part.isdecimal() and part.isascii() and int(part) < len(value):
            return value[int(part)]
        raise BadReference(f"{of} is a list of {len(value)}, which has no element {part!r}")
    raise BadReference(f"{of} has no field {part!r}: it is {kind(value)}")


def structure(value: object) -> object:
    """A result that is JSON written as text, as the object or list it is; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return read_json(value)
        except ValueError:
            return value
    return value


def read_json(text: str) -> object:
    """A value that can be sent on as JSON.  Raises ValueError for no JSON, and for what only Python takes for it: NaN,
    numbers without end, half characters; and for one that is nested too deeply."""
    try:
        value: object = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if too_deep(value, MAX_VALUE_DEPTH):
        raise ValueError("it is nested too deeply")
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return value


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number that can be held")
    return value


def as_text(value: object) -> str:
    """A value inside a longer text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def kind(value: object) -> str:
    """What a JSON value is, in JSON Schema's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
