"""The shared context of a stage, and how the changes of several handlers become one.  Pure.

Handlers of one order group all see the same fields and answer with those they changed.  Changes are applied one reply
after another: a scalar both changed goes to the later one and the clash is noted; lists merge by the ``id`` of their
elements, ``extra`` by its keys; ``no_memory`` is only ever set; never set is not the same as set to empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

STAGES = (
    "on_input", "pre_action", "post_action", "before_toolcall", "after_toolcall", "before_output", "after_output",
)  # fmt: skip

FIELDS = (
    "raw_message", "user_id", "group_id", "context_msgs", "llm_text", "reasoning", "token_usage", "tool_calls",
    "tool_results", "final_text", "response", "phase", "memory", "no_memory", "extra", "errors",
)  # fmt: skip

WRITABLE: Mapping[str, frozenset[str]] = {
    "on_input": frozenset({"raw_message", "memory", "no_memory", "response", "extra"}),
    "pre_action": frozenset({"context_msgs", "memory", "no_memory", "response", "extra"}),
    "post_action": frozenset({"llm_text", "reasoning", "tool_calls", "no_memory", "response", "extra"}),
    "before_toolcall": frozenset({"tool_calls", "response", "extra"}),
    "after_toolcall": frozenset({"tool_results", "response", "extra"}),
    "before_output": frozenset({"final_text", "no_memory", "response", "extra"}),
    "after_output": frozenset(),
}
"""What a handler of each stage may change; a change to anything else is noted in ``errors`` and left out."""

LISTS = frozenset({"context_msgs", "tool_calls", "tool_results"})


_ABOUT = frozenset({"phase", "user_id", "group_id"})
_SEEN_OUTSIDE = _ABOUT | {"raw_message", "no_memory"}
_OF_TOOLS = frozenset({"tool_calls", "tool_results"})


def writable(stage: str, *, own_tools: bool) -> frozenset[str]:
    """What a handler may change: that of its stage, or only what is about its own tools."""
    return WRITABLE[stage] & (_OF_TOOLS | {"response"}) if own_tools else WRITABLE[stage]


def visible(
    stage: str, fields: Mapping[str, object], *, external: bool, own_tools: frozenset[str] | None
) -> dict[str, object]:
    """The fields that a handler is shown.

    ``own_tools``: the names of its plugin's tools if it is there for those only, whoever made it; else None.  An
    ``external`` one sees what its stage may change and whose message it is.
    """
    if own_tools is not None:
        kept = {name: value for name, value in fields.items() if name in _ABOUT}
        mine = {n: [e for e in _elements(fields, n) if _named(e) in own_tools] for n in _OF_TOOLS & fields.keys()}
        return {**kept, **mine}
    if external:
        shown = WRITABLE[stage] | _SEEN_OUTSIDE
        return {name: value for name, value in fields.items() if name in shown}
    return dict(fields)


@dataclass(frozen=True, slots=True)
class Reply:
    """One handler's answer, in the order the answers came.

    ``own_tools``: the fields it was shown when those were of its own tools only; it may change nothing else.
    """

    plugin: str
    changes: Mapping[str, object]
    own_tools: Mapping[str, object] | None = None


def _is_elements(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(e, dict) and isinstance(e.get("id"), str) for e in value)


def _checker(name: str) -> tuple[str, Callable[[object], bool]]:
    if name in LISTS:
        return "a list of objects that each have an id", _is_elements
    if name == "no_memory":
        return "true or false", lambda value: isinstance(value, bool)
    if name == "extra":
        return "an object", lambda value: isinstance(value, dict)
    return "a text", lambda value: isinstance(value, str)


def merge(
    stage: str, base: Mapping[str, object], replies: Sequence[Reply]
) -> tuple[dict[str, object], list[dict[str, str]]]:
    """The fields after one order group, and what was wrong or clashed: ``{stage, plugin, error}`` each."""
    merged = dict(base)
    errors: list[dict[str, str]] = []
    changed_by: dict[str, str] = {}
    for reply in replies:
        for name, value in reply.changes.items():
            problem = _refusal(stage, name, value, reply.own_tools)
            if not problem:
                seen = base if reply.own_tools is None else reply.own_tools
                problem = _apply(merged, seen, name, value, changed_by, reply.plugin)
            if problem:
                errors.append({"stage": stage, "plugin": reply.plugin, "error": problem})
    return merged, errors


def _refusal(stage: str, name: str, value: object, own_tools: Mapping[str, object] | None) -> str:
    if name not in WRITABLE[stage]:
        return f"{name} cannot be changed in {stage}"
    if name not in writable(stage, own_tools=own_tools is not None):
        return f"{name} cannot be changed by a handler of scope own-tools"
    wanted, fits = _checker(name)
    if not fits(value):
        return f"{name} must be {wanted}"
    if own_tools is not None and name in LISTS and isinstance(value, list):
        mine = {element["id"] for element in _elements(own_tools, name)}
        if strange := [str(e["id"]) for e in value if e["id"] not in mine]:
            return f"{name}: {', '.join(strange)[:200]} is of no tool of the plugin's own"
    return ""


def _apply(
    merged: dict[str, object],
    base: Mapping[str, object],
    name: str,
    value: object,
    changed_by: dict[str, str],
    plugin: str,
) -> str:
    """Apply one change in place; the text of a clash, or nothing."""
    if name == "no_memory":  # whoever says that something is private is heard; nobody takes it back
        taken_back = bool(merged.get(name)) and not value
        merged[name] = merged.get(name) or value
        return "no_memory: what was said to be private stays so" if taken_back else ""
    if name in LISTS and isinstance(value, list):
        merged[name], clashes = _merge_elements(_elements(base, name), _elements(merged, name), value)
    elif name == "extra" and isinstance(value, dict):
        merged[name], clashes = _merge_keys(_mapping(base, name), _mapping(merged, name), value)
    else:
        clash = name in changed_by and merged.get(name) != value
        clashes = [f"also changed by {changed_by[name]}; the later one holds"] if clash else []
        merged[name] = value
    changed_by[name] = plugin
    return f"{name}: {'; '.join(clashes)}" if clashes else ""


def _elements(fields: Mapping[str, object], name: str) -> list[dict[str, object]]:
    value = fields.get(name)
    return list(value) if isinstance(value, list) else []


def _named(element: Mapping[str, object]) -> str:
    """Its tool; a handler before may have put anything there."""
    name = element.get("name")
    return name if isinstance(name, str) else ""


def _mapping(fields: Mapping[str, object], name: str) -> dict[str, object]:
    value = fields.get(name)
    return dict(value) if isinstance(value, dict) else {}


def _merge_keys(
    base: Mapping[str, object], now: dict[str, object], changed: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    clashes = []
    for key, value in changed.items():
        if key in base and base[key] == value:
            continue
        if now.get(key) != base.get(key) and now.get(key) != value:
            clashes.append(f"{key} was changed twice; the later one holds")
        now[key] = value
    return now, clashes


def _merge_elements(
    base: Sequence[Mapping[str, object]], now: Sequence[dict[str, object]], changed: Sequence[dict[str, object]]
) -> tuple[list[dict[str, object]], list[str]]:
    """Three-way by id: what the handler left out is removed, what it changed is replaced, what it added is added."""
    was = {str(e["id"]): e for e in base}
    result = {str(e["id"]): e for e in now}
    clashes = []
    wanted = {str(e["id"]): e for e in changed}
    for gone in was.keys() - wanted.keys():
        result.pop(gone, None)
    for id_, element in wanted.items():
        before, present = was.get(id_), result.get(id_)
        if before == element:
            continue
        if present is not None and present not in (before, element):
            clashes.append(f"{id_} was changed twice; the later one holds")
        result[id_] = element
    kept = [id_ for id_ in was if id_ in wanted]
    order = [id_ for id_ in wanted if id_ in was]
    if kept != order:
        place = {id_: at for at, id_ in enumerate(wanted)}
        return sorted(result.values(), key=lambda e: place.get(str(e["id"]), len(place))), clashes
    return list(result.values()), clashes
