"""Conditions: ``$fetch.status == "ok" and not $args.quiet``.  Parsed, printed and decided here.  Pure.

``or``, ``and``, ``not``, parentheses; ``==  !=  <  <=  >  >=  in  contains`` between references and JSON values (texts
in double quotes as in JSON, or in single quotes with nothing escaped).  A reference alone is true unless it is null,
false, 0, or empty; one whose value is not there counts as null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .refs import PATH, BadReference, Ref, kind, look_up, reference, structure

MAX = 500
"""Characters of a condition."""

_DEPTH = 20
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<ref>\$(?:{PATH}))
      | (?P<json>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<plain>'[^'\x00-\x1f]*')
      | (?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<word>[a-z]+\b)
      | (?P<op>==|!=|<=|>=|<|>|\(|\))
    )""",
    re.VERBOSE | re.ASCII,
)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "contains")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


class BadCondition(ValueError):
    """It cannot be read, or compares what cannot be compared."""


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON scalar."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((kind(self.value), self.value))


Operand = Ref | Value


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``."""

    op: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """``not part``."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Several:
    """Two parts or more, all joined by ``and``, or all by ``or``."""

    word: str
    parts: tuple[Condition, ...]


Condition = Operand | Compare | Not | Several


def parse(text: str) -> Condition:
    """Read a condition.  Raises `BadCondition` saying where it stops making sense."""
    if len(text) > MAX:
        raise BadCondition(f"it is longer than {MAX} characters")
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_split(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> Condition:
        found = self._several("or")
        if self._peek():
            raise BadCondition(f"{self._peek()!r} was not expected there")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise BadCondition("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _several(self, word: str) -> Condition:
        inner = self._negated if word == "and" else lambda: self._several("and")
        parts = [inner()]
        while self._peek() == word:
            self._at += 1
            parts.append(inner())
        return parts[0] if len(parts) == 1 else Several(word, tuple(parts))

    def _negated(self) -> Condition:
        if self._peek() not in ("not", "("):
            return self._compared()
        self._depth += 1
        if self._depth > _DEPTH:
            raise BadCondition(f"it is nested over {_DEPTH} deep")
        if self._next()[1] == "not":
            found: Condition = Not(self._negated())
        else:
            found = self._several("or")
            if self._next()[1] != ")":
                raise BadCondition("a ) is missing")
            if self._peek() in _COMPARISONS:
                raise BadCondition("what stands in parentheses cannot be compared")
        self._depth -= 1
        return found

    def _compared(self) -> Condition:
        left = self._operand()
        if self._peek() not in _COMPARISONS:
            return left
        return Compare(self._next()[1], left, self._operand())

    def _operand(self) -> Operand:
        sort, text = self._next()
        match sort:
            case "ref":
                return reference(text[1:])
            case "json":
                return Value(_json(text))
            case "plain":
                return Value(text[1:-1])
            case "number":
                return Value(_number(text))
            case "word" if text in _WORDS:
                return Value(_WORDS[text])
        raise BadCondition(f"{text!r} is neither a reference nor a value; write texts in quotes")


def _split(text: str) -> list[tuple[str, str]]:
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise BadCondition(f"{text[at:].strip()[:20]!r} cannot be read")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return tokens


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise BadCondition(f"{text[:20]} is no text as JSON writes it") from None


def _number(text: str) -> float:
    value: float = json.loads(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadCondition(f"{text} is no number that can be held")
    return value


def shown(condition: Condition) -> str:
    """The condition as text that `parse` reads back."""
    match condition:
        case Ref():
            return str(condition)
        case Value():
            return json.dumps(condition.value, ensure_ascii=False)
        case Compare():
            return f"{shown(condition.left)} {condition.op} {shown(condition.right)}"
        case Not():
            return f"not {_inner(condition.part)}"
        case Several():
            return f" {condition.word} ".join(map(_inner, condition.parts))


def _inner(part: Condition) -> str:
    return f"({shown(part)})" if isinstance(part, Several) else shown(part)


def references(condition: Condition) -> list[Ref]:
    """The references in it."""
    match condition:
        case Ref():
            return [condition]
        case Value():
            return []
        case Compare():
            return references(condition.left) + references(condition.right)
        case Not():
            return references(condition.part)
        case Several():
            return [ref for part in condition.parts for ref in references(part)]


def holds(condition: Condition, values: Mapping[str, object]) -> bool:
    """Whether it is true of these values.  Raises `BadCondition` when it compares what cannot be compared."""
    match condition:
        case Not():
            return not holds(condition.part, values)
        case Several():
            found = (holds(part, values) for part in condition.parts)
            return all(found) if condition.word == "and" else any(found)
        case Compare():
            return _compare(condition, _value(condition.left, values), _value(condition.right, values))
        case _:
            return bool(_value(condition, values))


def _value(operand: Operand, values: Mapping[str, object]) -> object:
    if isinstance(operand, Value):
        return operand.value
    try:
        return look_up(operand, values)
    except BadReference:
        return None


def _compare(condition: Compare, left: object, right: object) -> bool:
    match condition.op:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "in":
            return _within(condition, left, right)
        case "contains":
            return _within(condition, right, left)
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(condition.op, left < right, same(left, right))
    if _is_number(left) and _is_number(right):
        return _ordered(condition.op, left < right, left == right)  # type: ignore[operator]
    raise BadCondition(f"{shown(condition)}: {kind(left)} and {kind(right)} have no order")


def _ordered(op: str, less: bool, equal: bool) -> bool:
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[op]


def _within(condition: Compare, part: object, whole: object) -> bool:
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    held = structure(whole)
    if isinstance(held, Mapping):
        return isinstance(part, str) and part in held
    if isinstance(held, list):
        return any(same(part, one) for one in held)
    raise BadCondition(f"{shown(condition)}: {kind(whole)} holds no {kind(part)}")


def same(left: object, right: object) -> bool:
    """Equality as JSON has it: true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
