"""What a sequence is, read from JSON with every mistake found at once, and written back.  Pure.

A sequence is groups of tool calls in order.  Inside a group the calls run side by side, or one after the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import conditions, refs
from .conditions import BadCondition, Condition
from .refs import ARGS, NAME, Ref

TYPES = ("string", "integer", "number", "boolean", "array", "object", "any")
ON_ERROR = ("abort", "continue", "retry")
TOOL = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
MAX_GROUPS, MAX_TOOLS, MAX_KEYS = 16, 16, 32
MAX_TIMEOUT, MAX_RETRIES, MAX_TEXT = 600.0, 5, 500
TIMEOUT = 30.0
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_ERRORS = 50


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call; ``as_`` is the name of its result, empty for none."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    as_: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that belong together.  ``takes`` and ``gives`` (``in``, ``out``): key → type; ``timeout`` in seconds."""

    name: str
    tools: tuple[Step, ...]
    description: str = ""
    takes: Mapping[str, str] = field(default_factory=dict)
    gives: Mapping[str, str] = field(default_factory=dict)
    when: Condition | None = None
    parallel: bool = True
    timeout: float = TIMEOUT
    on_error: str = "abort"
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Sequence:
    """A whole sequence."""

    name: str
    groups: tuple[Group, ...]
    description: str = ""

    def group(self, name: str) -> Group | None:
        """The group of that name."""
        return next((group for group in self.groups if group.name == name), None)

    def takes(self) -> dict[str, str]:
        """What a run needs as its arguments: every ``in`` that no earlier group gives."""
        given: set[str] = set()
        wanted: dict[str, str] = {}
        for group in self.groups:
            wanted |= {key: type_ for key, type_ in group.takes.items() if key not in given}
            given |= set(group.gives)
        return wanted


class BadSequence(ValueError):
    """``errors``: everything that is wrong, each with its place and what to do."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


class Errors:
    """Collects what is wrong."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, at: str, what: str, do: str) -> None:
        """Note one error: its place, what is wrong, what to do.  Beyond the fiftieth none helps."""
        if len(self.found) < _MAX_ERRORS:
            self.found.append(f"{at}: {what}. {do}")


def has_type(value: object, type_: str) -> bool:
    """Whether a value is of one of `TYPES`."""
    actual = refs.kind(value)
    whole = isinstance(value, float) and value.is_integer()
    return type_ in ("any", actual) or (type_ == "number" and actual == "integer") or (type_ == "integer" and whole)


def parse(value: object) -> Sequence:
    """Read ``{name, description?, groups}``.  Raises `BadSequence`, and nothing else, whatever the value is."""
    errors = Errors()
    fields = _fields(value, "", ("name", "description", "groups"), errors)
    sequence = Sequence(
        name=_name(fields, "", errors),
        description=_text(fields, "description", "", errors),
        groups=tuple(_group(part, at, errors) for part, at in _parts(fields, "groups", "", MAX_GROUPS, errors)),
    )
    if not errors.found:
        _check_names(sequence, errors)
    if errors.found:
        raise BadSequence(errors.found)
    return sequence


def as_json(sequence: Sequence) -> dict[str, Any]:
    """The sequence as JSON that `parse` reads back; what is as it is by default is left out."""
    shown: dict[str, Any] = {"name": sequence.name}
    if sequence.description:
        shown["description"] = sequence.description
    return {**shown, "groups": [_group_json(group) for group in sequence.groups]}


def _group_json(group: Group) -> dict[str, Any]:
    usual = Group("", ())
    shown: dict[str, Any] = {"name": group.name}
    if group.description:
        shown["description"] = group.description
    if group.takes:
        shown["in"] = dict(group.takes)
    if group.gives:
        shown["out"] = dict(group.gives)
    if group.when is not None:
        shown["when"] = conditions.shown(group.when)
    for key in ("parallel", "timeout", "on_error", "retries"):
        if getattr(group, key) != getattr(usual, key):
            shown[key] = getattr(group, key)
    return {**shown, "tools": [_step_json(step) for step in group.tools]}


def _step_json(step: Step) -> dict[str, Any]:
    shown: dict[str, Any] = {"tool": step.tool}
    if step.args:
        shown["args"] = dict(step.args)
    return {**shown, "as": step.as_} if step.as_ else shown


_GROUP = ("name", "description", "in", "out", "tools", "when", "parallel", "timeout", "on_error", "retries")


def _group(value: object, at: str, errors: Errors) -> Group:
    fields = _fields(value, at, _GROUP, errors)
    group = Group(
        name=_name(fields, at, errors),
        description=_text(fields, "description", at, errors),
        takes=_types(fields, "in", at, errors),
        gives=_types(fields, "out", at, errors),
        tools=tuple(_step(part, place, errors) for part, place in _parts(fields, "tools", at, MAX_TOOLS, errors)),
        when=_condition(fields, at, errors),
        parallel=_flag(fields, at, errors),
        timeout=float(_number(fields, "timeout", (TIMEOUT, 1, MAX_TIMEOUT), at, errors)),
        on_error=_choice(fields, at, errors),
        retries=int(_number(fields, "retries", (0, 0, MAX_RETRIES), at, errors)),
    )
    if group.on_error == "retry" and not group.retries:
        errors.add(f"{at}retries", "on_error is retry, and there are no retries", f"Say how many: 1 to {MAX_RETRIES}.")
    if group.retries and group.on_error != "retry":
        errors.add(f"{at}retries", "they count only with on_error retry", 'Set on_error to "retry", or leave it out.')
    return group


def _step(value: object, at: str, errors: Errors) -> Step:
    fields = _fields(value, at, ("tool", "args", "as"), errors)
    tool = fields.get("tool")
    if not isinstance(tool, str) or not TOOL.fullmatch(tool):
        errors.add(f"{at}tool", "is no name of a tool", "Name the tool that is to be called.")
        tool = ""
    args = fields.get("args", {})
    if not isinstance(args, dict):
        errors.add(f"{at}args", "is no object", 'Write {"parameter": value, …}.')
        args = {}
    elif refs.too_deep(args):
        errors.add(f"{at}args", "is nested too deeply", "Flatten it.")
        args = {}
    elif not _is_json(args):
        errors.add(f"{at}args", "holds what JSON does not have", "Use texts, finite numbers, true, false, null.")
        args = {}
    as_ = fields.get("as", "")
    if as_ != "" and (not isinstance(as_, str) or not NAME.fullmatch(as_) or as_ == ARGS):
        errors.add(f"{at}as", f"is no name for a result, which matches {NAME.pattern} and is not {ARGS}", "Rename it.")
        as_ = ""
    return Step(tool, args, as_)


def _is_json(value: object) -> bool:
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            return math.isfinite(value)
        case list():
            return all(map(_is_json, value))
        case dict():
            return all(isinstance(key, str) and _is_json(part) for key, part in value.items())
    return False


# Fields


def _fields(value: object, at: str, known: tuple[str, ...], errors: Errors) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        errors.add(at.rstrip(".") or "the sequence", "is no object", f"Its fields are {', '.join(known)}.")
        return {}
    for key in value:
        if key not in known:
            errors.add(f"{at}{str(key)[:64]}", "is an unknown field", f"The fields here are {', '.join(known)}.")
    return value


def _name(fields: Mapping[str, Any], at: str, errors: Errors) -> str:
    name = fields.get("name")
    if isinstance(name, str) and NAME.fullmatch(name) and name != ARGS:
        return name
    errors.add(f"{at}name", f"is no name, which matches {NAME.pattern} and is not {ARGS}", "Write one like tidy_up.")
    return ""


def _text(fields: Mapping[str, Any], key: str, at: str, errors: Errors) -> str:
    value = fields.get(key, "")
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return value
    errors.add(f"{at}{key}", f"is no text of up to {MAX_TEXT} characters", "Shorten it.")
    return ""


def _types(fields: Mapping[str, Any], key: str, at: str, errors: Errors) -> dict[str, str]:
    value = fields.get(key, {})
    if not isinstance(value, dict) or len(value) > MAX_KEYS:
        errors.add(f"{at}{key}", f"is no object of up to {MAX_KEYS} keys", 'Write {"key": "string", …}.')
        return {}
    kept = {}
    for name, type_ in value.items():
        if not isinstance(name, str) or not _KEY.fullmatch(name):
            errors.add(f"{at}{key}", f"{str(name)[:64]!r} is no key", "Use letters, digits, _ and -.")
        elif type_ not in TYPES:
            errors.add(f"{at}{key}.{name}", f"{str(type_)[:64]!r} is no type", f"The types are {', '.join(TYPES)}.")
        else:
            kept[name] = type_
    return kept


def _parts(fields: Mapping[str, Any], key: str, at: str, most: int, errors: Errors) -> Iterable[tuple[object, str]]:
    value = fields.get(key)
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        errors.add(f"{at}{key}", f"is no list of 1 to {most}", "Give at least one, or make two sequences of it.")
        return []
    return [(part, f"{at}{key}[{index}].") for index, part in enumerate(value)]


def _condition(fields: Mapping[str, Any], at: str, errors: Errors) -> Condition | None:
    value = fields.get("when")
    if value is None:
        return None
    if not isinstance(value, str):
        errors.add(f"{at}when", "is no text", 'Write a condition like $args.n > 3 and $a.status == "ok".')
        return None
    try:
        return conditions.parse(value)
    except BadCondition as error:
        errors.add(f"{at}when", str(error), 'Write a condition like $args.n > 3 and $a.status == "ok".')
    return None


def _flag(fields: Mapping[str, Any], at: str, errors: Errors) -> bool:
    value = fields.get("parallel", True)
    if not isinstance(value, bool):
        errors.add(f"{at}parallel", "is neither true nor false", "Use true (side by side) or false (in order).")
    return value is not False


def _choice(fields: Mapping[str, Any], at: str, errors: Errors) -> str:
    value = fields.get("on_error", "abort")
    if isinstance(value, str) and value in ON_ERROR:
        return value
    errors.add(f"{at}on_error", f"{str(value)[:64]!r} is unknown", f"Use one of {', '.join(ON_ERROR)}.")
    return "abort"


def _number(fields: Mapping[str, Any], key: str, limits: tuple[float, float, float], at: str, errors: Errors) -> float:
    usual, low, high = limits
    value = fields.get(key, usual)
    kinds = (int,) if key == "retries" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        errors.add(f"{at}{key}", f"is no number from {low:g} to {high:g}", "Write such a number, without a unit.")
        return usual
    return value


# Names


def _check_names(sequence: Sequence, errors: Errors) -> None:
    """Names that are there twice, and references to what is declared nowhere, or later."""
    seen: dict[str, str] = {}
    fresh = _unique(seen, errors)
    for number, group in enumerate(sequence.groups):
        fresh(group.name, f"groups[{number}].name")
        for index, step in enumerate(group.tools):
            if step.as_:
                fresh(step.as_, f"groups[{number}].tools[{index}].as")
    earlier: set[str] = set()
    given: dict[str, str] = {}
    for number, group in enumerate(sequence.groups):
        at = f"groups[{number}]."
        for key in group.takes.keys() & given.keys():
            if "any" not in (group.takes[key], given[key]) and group.takes[key] != given[key]:
                what = f"is {group.takes[key]}, but an earlier group gives {key} as {given[key]}"
                errors.add(f"{at}in.{key}", what, "Use one type for both.")
        _check_group(group, at, frozenset(earlier), errors)
        earlier |= {group.name, *(step.as_ for step in group.tools if step.as_)}
        given |= group.gives


def _unique(seen: dict[str, str], errors: Errors) -> Callable[[str, str], None]:
    def note(name: str, at: str) -> None:
        if name in seen:
            errors.add(at, f"the name {name!r} is taken by {seen[name]}", "Every group and result has its own name.")
        seen.setdefault(name, at)

    return note


def _check_group(group: Group, at: str, earlier: frozenset[str], errors: Errors) -> None:
    check = _Names(group, errors)
    if group.when is not None:
        check.refs(conditions.references(group.when), f"{at}when", earlier)
    known = set(earlier)
    for index, step in enumerate(group.tools):
        check.step(step, f"{at}tools[{index}]", frozenset(known))
        if step.as_ and not group.parallel:
            known.add(step.as_)
    own = {step.as_ for step in group.tools}
    for key in group.gives:
        if key not in own:
            errors.add(f"{at}out.{key}", "no tool of this group has this `as`", f'Add "as": "{key}" to one.')


class _Names:
    """Checks the references of one group."""

    def __init__(self, group: Group, errors: Errors) -> None:
        self._group = group
        self._own = {step.as_ for step in group.tools if step.as_}
        self._errors = errors

    def step(self, step: Step, at: str, known: frozenset[str]) -> None:
        for place, text in refs.texts(step.args, f"{at}.args"):
            if step.tool == "seq_when_call" and place == f"{at}.args.when":
                self._nested_when(text, place, known)
                continue
            self.refs(refs.used(text), place, known)
            for ref in refs.bare(text, known | {ARGS}):
                what = f"{ref} stands inside a longer text"
                self._errors.add(place, what, f"Write ${{{str(ref)[1:]}}} for its value there, or $${str(ref)[1:]}.")

    def _nested_when(self, text: str, place: str, known: frozenset[str]) -> None:
        try:
            self.refs(conditions.references(conditions.parse(text)), place, known)
        except BadCondition as error:
            self._errors.add(place, str(error), "Write a condition like $args.n > 3.")

    def refs(self, found: Iterable[Ref], at: str, known: frozenset[str]) -> None:
        for ref in found:
            if ref.name == ARGS:
                self._argument(ref, at)
            elif ref.name not in known:
                self._errors.add(at, f"{ref}: {self._why(ref.name)}", self._instead(known))

    def _argument(self, ref: Ref, at: str) -> None:
        if not ref.path or ref.path[0] not in self._group.takes:
            declared = ", ".join(f"$args.{key}" for key in self._group.takes) or "none"
            do = f'Declare it in the group\'s "in". Declared are: {declared}.'
            self._errors.add(at, f"{ref} is not declared", do)

    def _why(self, name: str) -> str:
        if name not in self._own:
            return f"{name} is declared nowhere before this"
        why = "runs at the same time" if self._group.parallel else "comes later or is this call itself"
        return f"{name} {why}"

    def _instead(self, known: frozenset[str]) -> str:
        there = ", ".join(f"${name}" for name in sorted(known)) or "none"
        return f"Refer to $args.KEY or an earlier result ({there}); write $$ for a dollar sign."
