"""Which tools a request describes in full: those that are always there, and those that a conversation has asked for.

Pure.  Every request carries what is described, and providers cache requests by how they begin, with the tools first:
so the list is short, what is new is put at its end, and using what is on it changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homed.host.registry import ToolEntry
from homed.providers.base import ToolSpec

SHOW = "get_plugin_tools"
"""The tool by which others are asked for."""

MORE = 4
"""What a conversation asks for may take so many times what it begins with."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A tool as requests describe it, and how many bytes of JSON that takes."""

    spec: ToolSpec
    bytes: int


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes of descriptions: that a conversation ``begin``s with, and that it may have at the ``most``."""

    begin: int
    most: int

    def within(self, window: int) -> Room:
        """The same for a window of so many tokens, of which tools get about a quarter at the most."""
        return Room(min(self.begin, window), min(self.most, window))


@dataclass(slots=True)
class Wanted:
    """What one conversation has asked for: the names in the order in which they came, and when each was last wanted.

    ``upto``: the last event that counts already; ``turn``: in which the store was last read.
    """

    order: list[str] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    upto: int = 0
    turn: str = ""

    def begin(self, used: Sequence[str], sizes: Mapping[str, Sized], room: int) -> None:
        """Start with the tools that were ``used`` before, the newest first, so far as they fit into ``room`` bytes.

        They stand by name, so that conversations that begin with the same ones begin with the same bytes.
        """
        for at, name in enumerate(used):
            size = _size(sizes, name)
            if size <= room:
                room -= size
                self.last[name] = -1 - at
        self.order = sorted(self.last)

    def want(self, names: Iterable[str], at: int, sizes: Mapping[str, Sized], room: int) -> None:
        """The event ``at`` wanted these.  What is new comes last; what was longest unused goes if there is no room."""
        self.upto = max(self.upto, at)
        for name in names:
            if name not in self.last:
                self.order.append(name)
            self.last[name] = at
        kept = self.kept(sizes, room)
        self.order = [name for name in self.order if name in kept]
        self.last = {name: self.last[name] for name in self.order}

    def kept(self, sizes: Mapping[str, Sized], room: int) -> Collection[str]:
        """Those for which there is room, the last wanted before the others; it ends at the first that does not fit, so
        that using one of them leaves them as they are."""
        place = {name: at for at, name in enumerate(self.order)}
        found = set()
        for name in sorted(self.order, key=lambda one: (-self.last[one], place[one])):
            room -= _size(sizes, name)
            if room < 0:
                break
            found.add(name)
        return found


def at_once(
    always: Sequence[str], further: Iterable[Sequence[str]], sizes: Mapping[str, Sized], room: int
) -> list[str]:
    """What a conversation begins with: those that are ``always`` there, and the first of these ``further`` lists that
    fits beside them into ``room`` bytes, whole.  What is seldom wanted is on none of the lists, so that it keeps no
    plugin of a small install from being there."""
    for more in further:
        names = list(dict.fromkeys([*always, *more]))
        if sum(_size(sizes, name) for name in names) <= room:
            return names
    return list(always)


def pick(usable: Mapping[str, Sized], always: Sequence[str], wanted: Wanted, room: Room) -> list[str]:
    """The names to describe, in their order: all if they fit, else those that are ``always`` there (see ``at_once``),
    and what is wanted.  ``always`` is in order of importance: of a small window's too many, the last are left to be
    asked for."""
    if sum(sized.bytes for sized in usable.values()) <= room.begin:
        return sorted(usable)
    left, base = room.most, []
    for name in always:
        if name in usable and (size := usable[name].bytes) <= left:
            base.append(name)
            left -= size
    kept = wanted.kept(usable, left)
    return [*sorted(base), *(name for name in wanted.order if name in kept and name in usable and name not in base)]


def sized(entry: ToolEntry, *, whole: bool = False) -> Sized:
    """The tool as it is sent; ``whole``: with its schema as it is."""
    spec = ToolSpec(entry.name, entry.description, entry.parameters if whole else slim(entry.parameters))
    wire = {"type": "function", "function": {"name": spec.name, "description": spec.description,
                                             "parameters": spec.parameters}}  # fmt: skip
    return Sized(spec, len(json.dumps(wire, ensure_ascii=False).encode("utf-8", "surrogatepass")))


def slim(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without what tells a model nothing: titles, defaults that are empty, that no more is allowed, and what
    is ``deprecated``.

    Calls are checked against the whole one.
    """
    return {key: _slim(key, value) for key, value in schema.items() if not _noise(key, value)}


_MAPS = ("properties", "$defs", "definitions", "patternProperties")
"""Keywords under which keys are names, not keywords."""

_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def _noise(key: str, value: object) -> bool:
    match key:
        case "title" | "$schema" | "$id" | "$comment":
            return isinstance(value, str)
        case "additionalProperties":
            return value is False
        case "required":
            return value == []
        case "default":
            return value is None or value is False or value in ("", [], {})
        case _:
            return False


def _slim(key: str, value: Any) -> Any:
    if key in _MAPS and isinstance(value, Mapping):
        told = {name: one for name, one in value.items() if not _older_name(one)}
        return {name: slim(one) if isinstance(one, Mapping) else one for name, one in told.items()}
    if key in _LISTS and isinstance(value, list):
        return [slim(one) if isinstance(one, Mapping) else one for one in value]
    if key in ("items", "additionalProperties", "not", "contains") and isinstance(value, Mapping):
        return slim(value)
    return value


def _older_name(schema: object) -> bool:
    """Of a parameter that is taken by a name of before, too."""
    return isinstance(schema, Mapping) and schema.get("deprecated") is True


def _size(sizes: Mapping[str, Sized], name: str) -> int:
    known = sizes.get(name)
    return known.bytes if known else 0
