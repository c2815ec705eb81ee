"""The same tool call again and again: a model in a loop, which nothing but a limit ends.  Pure.

What was done stands in the events of the turn, so that a turn which is resumed goes on counting.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from homed.memory.records import Event, EventKind, calls_of

ENOUGH = 3
"""Repeated calls that are refused before the turn is asked for its answer."""

PERIOD = 3
"""Different calls that may take turns and still be a loop: A, B, A, B …"""

PATIENCE = 5
"""Times as often may a call be made whose results differ: somebody waits for something, or reads on page by page."""

REPEATED = "repeated"
"""How a stored result is marked whose call was refused for this."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that came to an end: ``key`` is what was called with what, ``result`` what came of it."""

    key: str
    result: str
    refused: bool = False


def key_of(name: str, arguments: object, raw: str = "") -> str:
    """The same for calls that say the same, whatever the order of their arguments; ``raw`` for those that say nothing
    that can be read."""
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)} {raw}"


def made(events: Sequence[Event]) -> list[Made]:
    """The turn's own calls that came to an end, in order; as the model made them, whatever a plugin made of them."""
    keys: dict[str, str] = {}  # ids may come again in another round
    found = []
    for event in events:
        for call in calls_of(event):
            keys[str(call.get("id"))] = key_of(str(call.get("name")), call.get("arguments"), str(call.get("raw") or ""))
        if event.kind is EventKind.TOOL and (key := keys.get(str(event.data.get("call_id")))):
            found.append(Made(key, event.text, bool(event.data.get(REPEATED))))
    return found


def again(call: str, before: Sequence[Made], most: int) -> int:
    """How often the call was made before, if that is as often as it may: ``most`` times with the same result, or
    ``PATIENCE`` times as often with different ones; else 0.

    Counted since the turn last did something else, which is more than ``PERIOD`` different calls.
    """
    kinds: set[str] = {call}
    same: list[Made] = []
    for one in reversed(before):
        kinds.add(one.key)
        if len(kinds) > PERIOD:
            break
        if one.key == call:
            same.append(one)
    told = [one.result for one in same if not one.refused]
    alike = sum(1 for _ in takewhile(lambda result: result == told[0], told))
    return len(same) if alike >= most or len(told) >= most * PATIENCE else 0


def hint(name: str, count: int) -> str:
    """What the model is told instead of a result."""
    return (
        f"refused: {name} was called {count} times with these arguments already, and its answer stands above."
        " Call it with other arguments, use another tool, or answer in text and say what stands in the way."
    )
