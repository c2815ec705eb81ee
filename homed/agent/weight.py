"""How much a turn's timeline weighs, before anything is trimmed: what the overflow guard goes by (E3, E4).  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.agent.turn import Turn
from homed.memory.choose import OVERSIZED
from homed.memory.records import Event, EventKind
from homed.memory.tokens import estimate_tokens
from homed.memory.units import Unit, paired

PIECES = 8
"""Once a turn had to make room, an older event of its own is shown in this fraction of the room at the most."""

KNOWN = 4096
"""Texts whose size is kept: the windows of a few conversations, the instructions and every tool."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Events and tokens of a timeline."""

    events: int
    tokens: int

    def less_than(self, other: Weight) -> bool:
        """Whether anything went: judged by size alone, never by what was stored elsewhere (E7)."""
        return self.events < other.events or self.tokens < other.tokens


class Sizes:
    """``estimate_tokens`` that counts a text once: the same are sent again and again.  Keeps no text."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}

    def of(self, text: str) -> int:
        """Tokens of a text."""
        key = (hash(text), len(text))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            known = self._known[key] = estimate_tokens(text)
        return known


def weigh(turn: Turn) -> Weight:
    """The untrimmed accumulated timeline: the window, the notes, and the turn's own events with whole tool results.

    What a recovery has cut in view counts as it is shown since.
    """
    view = turn.view
    own = [event for event in turn.events if event.id not in view.dropped]
    before = paired(view.window, lambda event: event.tokens)
    tokens = sum(_share(unit.tokens, view.room) for unit in before) + own_tokens(own, view.room) + view.told
    return Weight(len(view.window) + len(own), tokens)


def own_tokens(own: Sequence[Event], room: int) -> int:
    """Tokens of a turn's own events, as shown in ``room`` (0: whole)."""
    if not room:
        return sum(event.tokens for event in own)
    last = {event.id for event in last_unit(own)}
    whole = sum(event.tokens for event in own if event.id in last)
    question = sum(event.tokens for event in own if event.kind is EventKind.USER and event.id not in last)
    rest = [event for event in own if event.kind is not EventKind.USER and event.id not in last]
    return _cut(whole, room) + _cut(question, room) + sum(min(event.tokens, piece(room)) for event in rest)


def piece(room: int) -> int:
    """The tokens of an older event of a turn that had to make room."""
    return max(64, room // PIECES)


def finished(own: Sequence[Event]) -> list[Unit]:
    """What of a turn's own events may leave its view: its calls with their results, but for the last."""
    units = [unit for unit in paired(own, lambda event: event.tokens) if unit.events[0].kind is EventKind.ASSISTANT]
    last = {event.id for event in last_unit(own)}
    return [unit for unit in units if not unit.holds(last)]


def last_unit(own: Sequence[Event]) -> tuple[Event, ...]:
    """The newest thing of the turn, which is never dropped."""
    units = paired(own, lambda event: event.tokens)
    return units[-1].events if units else ()


def _share(tokens: int, room: int) -> int:
    """As a selection counts it: what is larger than the room is shown in a fraction of it."""
    return tokens if not room or tokens <= room else room // OVERSIZED


def _cut(tokens: int, room: int) -> int:
    return min(tokens, room) if room else tokens
