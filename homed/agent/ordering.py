"""The order in which turns of one conversation are shown that ran within one another.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homed.memory.records import Event


def as_ended(events: Sequence[Event]) -> list[Event]:
    """Events in time order, but those of a turn that was interrupted together, where it ended.

    It began before what interrupted it and ended after: shown by time alone its question would stand in front of
    another's answer.  What other conversations said meanwhile moves nothing.
    """
    ended = {id_: last for id_, (first, last) in _spans(events).items() if _within(events, id_, first, last)}
    return sorted(events, key=lambda event: (ended.get((event.thread, event.turn), event.seq), event.seq))


Key = tuple[str, str]


def _spans(events: Sequence[Event]) -> dict[Key, tuple[int, int]]:
    """Thread and turn → the first and the last seq of its events."""
    found: dict[Key, tuple[int, int]] = {}
    for event in events:
        key = event.thread, event.turn
        first, last = found.get(key, (event.seq, event.seq))
        found[key] = min(first, event.seq), max(last, event.seq)
    return found


def _within(events: Sequence[Event], key: Key, first: int, last: int) -> bool:
    """Whether another turn of the same conversation said something in between."""
    thread, turn = key
    return any(e.thread == thread and e.turn != turn and first < e.seq < last for e in events)
