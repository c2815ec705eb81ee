"""Events in their smallest whole: an event, or the assistant's call with all its results (A1).  Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from homed.memory.records import Event, EventKind, calls_of

Size = Callable[[Event], int]
"""Tokens of an event."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is kept or moved as one, in the order it happened; ``tokens`` is the sum."""

    events: tuple[Event, ...]
    tokens: int

    @property
    def seq(self) -> int:
        """Where it stands in time: the newest event of it."""
        return self.events[-1].seq

    @property
    def thread(self) -> str:
        """The conversation it belongs to."""
        return self.events[0].thread

    def holds(self, ids: Collection[str]) -> bool:
        """True when one of its events is among these."""
        return any(event.id in ids for event in self.events)


def whole(events: Sequence[Event], size: Size) -> list[Unit]:
    """Every event in exactly one unit, calls with their results, by the time a unit began.

    A result without its call is a unit of its own; a call without its results too.
    """
    return [Unit(tuple(group), sum(map(size, group))) for group in _grouped(events)]


def paired(events: Sequence[Event], size: Size) -> list[Unit]:
    """The same for a prompt: a result without its call is left out, a call without its result is taken out (A2)."""
    complete = [kept for group in _grouped(events) if (kept := _answered(group))]
    return [Unit(tuple(group), sum(map(size, group))) for group in complete]


def _grouped(events: Sequence[Event]) -> list[list[Event]]:
    groups: list[list[Event]] = []
    waiting: dict[tuple[str, object], list[Event]] = {}
    for event in events:
        if event.kind is EventKind.TOOL:
            group = waiting.pop((event.turn, event.data.get("call_id")), None)
            if group is not None:
                group.append(event)
                continue
        groups.append([event])
        for call in calls_of(event):
            waiting[event.turn, call.get("id")] = groups[-1]
    return groups


def _answered(group: list[Event]) -> list[Event]:
    """The group with the calls that have a result; nothing when that leaves nothing to show."""
    head, *results = group
    if head.kind is EventKind.TOOL:
        return []
    calls = calls_of(head)
    if len(calls) == len(results):
        return group
    done = [result.data.get("call_id") for result in results]
    kept = []
    for call in calls:
        if call.get("id") in done:
            done.remove(call.get("id"))  # an id used twice is answered once
            kept.append(call)
    if not kept and not head.text:
        return []
    return [replace(head, data={**head.data, "calls": kept}, opaque=""), *results]
