"""The order in which turns of one conversation are shown that ran within one another.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homed.memory.records import Event


def as_ended(events: Sequence[Event], thread: str) -> list[Event]:
    """Events in time order, those of each turn of ``thread`` together, where it ended.

    A turn that was suspended began before what interrupted it and ended after: shown by time alone its question would
    stand in front of another's answer.  Where no turn was interrupted, the order stays as it is.
    """
    last: dict[str, int] = {}
    for event in events:
        if event.thread == thread:
            last[event.turn] = max(last.get(event.turn, 0), event.seq)
    return sorted(events, key=lambda e: (last[e.turn] if e.thread == thread else e.seq, e.seq))
