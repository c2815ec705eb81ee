"""JSON values made to fit: what crosses a wire whose lines have a limit, in whatever shape a model made it.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from homed.agent.results import head_and_tail

LEAST = 64
"""Bytes that a part of a table or a list must have for itself; of more parts than that the whole is shown as text."""


def size(value: object) -> int:
    """Bytes of a value as JSON, which is what it takes on the wire: a control character is one in memory, six there."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def fitted(value: object, limit: int) -> object:
    """``value`` if its JSON has no more than about ``limit`` bytes, else with its biggest parts as head and tail.

    Tables and lists keep their parts while each has ``LEAST`` bytes; of more, the whole is one text in a table or list.
    """
    if size(value) <= limit:
        return value
    if isinstance(value, str):
        return fitted_text(value, limit)
    if isinstance(value, Mapping):
        if len(value) * LEAST > limit:
            return {"not_whole": fitted_text(json.dumps(value, ensure_ascii=False), limit - 16)}
        rooms = _rooms([size(key) + size(part) for key, part in value.items()], limit)
        return {key: fitted(part, room - size(key)) for (key, part), room in zip(value.items(), rooms, strict=True)}
    if isinstance(value, list):
        if len(value) * LEAST > limit:
            return [fitted_text(json.dumps(value, ensure_ascii=False), limit - 2)]
        rooms = _rooms([size(part) for part in value], limit)
        return [fitted(part, room) for part, room in zip(value, rooms, strict=True)]
    return value  # a number: no longer than what it was read from


def fitted_text(text: str, limit: int) -> str:
    """The same for a text, which stays one."""
    room, shown = limit, text
    while size(shown) > limit and room > 1:
        shown = head_and_tail(text, room)
        room //= 2
    return shown


def _rooms(sizes: Sequence[int], limit: int) -> list[int]:
    """How much each part may have: small ones what they need, the others equally what is left."""
    rooms, left = [0] * len(sizes), limit
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, place in enumerate(order):
        rooms[place] = min(sizes[place], max(0, left) // (len(order) - done))
        left -= rooms[place]
    return rooms
