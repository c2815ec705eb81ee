"""Which events of the window this prompt shows, and which leave it for the cold layer.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from homed.memory.records import Event
from homed.memory.units import Unit

OVERSIZED = 4
"""A unit larger than the whole budget is shown as head and tail at this fraction of it, as ``window.plan`` does."""

LEAST_SHOWN = 64
"""Tokens of head and tail below which a unit is not worth showing cut."""

FULL = 2
"""The window is over its high-water mark at so many times the events that it is brought down to."""

SLACK = (3, 4)
"""Of what may be kept, what a choice made anew takes up."""

FAR = 0.2
"""By so much must what is left out be more relevant than all that is shown, to be worth reading everything anew."""

Scores = Mapping[int, float]
"""Relevance of an event by its seq, 0..1; what is not in it has 0."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``events`` and ``tokens`` are the most that may be kept, ``protected`` how many of the newest stay anyway."""

    events: int
    protected: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Selection:
    """``kept`` in time order; ``why`` by event id: fits, carried, recent, active or score; ``scores`` by event id.

    ``left_out`` are the ids of what this prompt does not show, newest first.
    """

    kept: tuple[Event, ...]
    why: Mapping[str, str]
    scores: Mapping[str, float]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """``ids`` leave the window, with their ``scores``; ``kept`` events of ``tokens`` stay.  Empty: nothing to do."""

    ids: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    kept: int = 0
    tokens: int = 0


@dataclass
class _Room:
    """What may still be kept."""

    events: int
    tokens: int
    kept: dict[int, str] = field(default_factory=dict)

    def take(self, at: int, unit: Unit, cost: int, why: str) -> bool:
        if at in self.kept or len(unit.events) > self.events or cost > self.tokens:
            return False
        self.kept[at] = why
        self.events -= len(unit.events)
        self.tokens -= cost
        return True


def select(
    units: Sequence[Unit],
    scores: Scores,
    *,
    thread: str,
    active: Collection[str] = (),
    limits: Limits,
    carried: Collection[str] = (),
) -> Selection:
    """Choose what fits: the newest of ``thread``, then those of ``active`` threads, then the most relevant.

    ``carried``: the ids that the thread's last turn showed, if that is known.  They stay and what is new is put
    behind them, as long as that fits and nothing left out is far more relevant: the source has read that beginning,
    and takes it from its cache.  A choice made anew leaves room to go on so.

    All of it when all fits.  A unit is kept whole or not at all.  The newest unit of the thread is always kept; one
    larger than the budget counts with the share that ``window.plan`` will show of it.  Active threads get at most half
    of what the thread itself leaves, so that relevance always has a place.
    """
    count, total = sum(len(unit.events) for unit in units), sum(unit.tokens for unit in units)
    if count <= limits.events and total <= limits.tokens:
        return _selection(units, scores, dict.fromkeys(range(len(units)), "fits"))
    if carried:
        going_on = _carried(units, scores, carried, (thread, *active), limits)
        if going_on is not None:
            return _selection(units, scores, going_on)
        limits = _with_slack(limits)
    room = _Room(limits.events, limits.tokens)
    own = [at for at in range(len(units) - 1, -1, -1) if units[at].thread == thread]
    if own:
        newest = units[own[0]]
        room.kept[own[0]] = "recent"
        room.events -= len(newest.events)
        room.tokens -= min(_cost(newest, limits), room.tokens)
    _recent(units, own, limits, room, "recent", limits.protected)
    half = _Room(room.events // 2, room.tokens // 2, dict(room.kept))
    for name in active:
        others = [at for at in range(len(units) - 1, -1, -1) if units[at].thread == name != thread]
        _recent(units, others, limits, half, "active", limits.protected)
    room.events -= room.events // 2 - half.events
    room.tokens -= room.tokens // 2 - half.tokens
    room.kept = half.kept
    for at in sorted(range(len(units)), key=lambda at: (-_score(units[at], scores), -units[at].seq)):
        room.take(at, units[at], _cost(units[at], limits), "score")
    return _selection(units, scores, room.kept)


def _carried(
    units: Sequence[Unit], scores: Scores, carried: Collection[str], threads: Sequence[str], limits: Limits
) -> dict[int, str] | None:
    """What the last turn of the first thread showed, and what came since in any of them; None where it is time to
    choose anew."""
    shown = {at for at, unit in enumerate(units) if unit.holds(carried)}
    if not shown:  # all of it has been sunk or deleted
        return None
    last = max(units[at].seq for at in shown)
    kept = shown | {at for at, unit in enumerate(units) if unit.seq > last and unit.thread in threads}
    newest = next((at for at in range(len(units) - 1, -1, -1) if units[at].thread == threads[0]), None)
    if newest is not None and newest not in kept:
        return None
    count, tokens = sum(len(units[at].events) for at in kept), sum(units[at].tokens for at in kept)
    if count > limits.events or tokens > limits.tokens:
        return None
    best = max((_score(units[at], scores) for at in kept), default=0.0)
    if any(_score(unit, scores) > best + FAR for at, unit in enumerate(units) if at not in kept):
        return None
    return {at: "carried" if at in shown else "recent" for at in kept}


def _with_slack(limits: Limits) -> Limits:
    """Less than may be kept, so that some turns can go on behind it."""
    events, tokens = (max(1, most * SLACK[0] // SLACK[1]) for most in (limits.events, limits.tokens))
    return Limits(max(events, min(limits.protected, limits.events)), limits.protected, tokens)


def sink_plan(
    units: Sequence[Unit],
    scores: Scores,
    *,
    in_use: Collection[str] = (),
    active: Collection[str] = (),
    limits: Limits,
) -> SinkPlan:
    """What must leave a window that is past its high-water mark, least relevant first and of those the oldest.

    Past it means: more than twice ``limits.events`` events, or more than ``limits.tokens`` tokens.  Units with an event
    ``in_use`` and those of the last ``limits.protected`` events of each active thread stay.  Where these alone are more
    than may be kept, nothing could bring the window down: the rest then leaves only so far as it is too much by itself.
    What was chosen before something large and need not leave beside it stays after all.
    """
    count, total = sum(len(unit.events) for unit in units), sum(unit.tokens for unit in units)
    if count <= FULL * limits.events and total <= limits.tokens:
        return SinkPlan(kept=count, tokens=total)
    newest = _protected(units, active, limits.protected)
    free = [unit for at, unit in enumerate(units) if at not in newest and not unit.holds(in_use)]
    left = sorted(free, key=lambda unit: (_score(unit, scores), unit.seq))
    most = _reached(count - sum(len(unit.events) for unit in free), limits.events)
    most_tokens = _reached(total - sum(unit.tokens for unit in free), limits.tokens)
    sunk: list[Unit] = []
    for unit in left:
        if count <= most and total <= most_tokens:
            break
        sunk.append(unit)
        count -= len(unit.events)
        total -= unit.tokens
    gone: list[Unit] = []
    for unit in reversed(sunk):
        if count + len(unit.events) <= most and total + unit.tokens <= most_tokens:
            count += len(unit.events)
            total += unit.tokens
        else:
            gone.append(unit)
    sunk = gone[::-1]
    ids = tuple(event.id for unit in sunk for event in unit.events)
    found = {event.id: _score(unit, scores) for unit in sunk for event in unit.events}
    return SinkPlan(ids, found, count, total)


def _reached(staying: int, most: int) -> int:
    """What sinking goes down to: ``most`` in all where what is ``staying`` allows that, else ``most`` of the rest."""
    return most if staying <= most else staying + most


def _recent(
    units: Sequence[Unit], newest_first: Sequence[int], limits: Limits, room: _Room, why: str, most: int
) -> None:
    """Keep the newest ``most`` events of these units; one that does not fit is passed over."""
    seen = 0
    for at in newest_first:
        if seen >= most:
            return
        seen += len(units[at].events)
        room.take(at, units[at], _cost(units[at], limits), why)


def _protected(units: Sequence[Unit], threads: Collection[str], most: int) -> set[int]:
    found: set[int] = set()
    seen = dict.fromkeys(threads, 0)
    for at in range(len(units) - 1, -1, -1):
        thread = units[at].thread
        if seen.get(thread, most) < most:
            found.add(at)
            seen[thread] += len(units[at].events)
    return found


def _cost(unit: Unit, limits: Limits) -> int:
    """Tokens it takes of what is left; more than there are at all for one that would be cut to nothing."""
    if unit.tokens <= limits.tokens:
        return unit.tokens
    share = limits.tokens // OVERSIZED
    return share if share >= LEAST_SHOWN else limits.tokens + 1


def _score(unit: Unit, scores: Scores) -> float:
    return max(scores.get(event.seq, 0.0) for event in unit.events)


def _selection(units: Sequence[Unit], scores: Scores, kept: Mapping[int, str]) -> Selection:
    shown = sorted((event for at in kept for event in units[at].events), key=lambda event: event.seq)
    why = {event.id: kept[at] for at in sorted(kept) for event in units[at].events}
    values = {event.id: _score(unit, scores) for unit in units for event in unit.events}
    left = [event for at, unit in enumerate(units) if at not in kept for event in unit.events]
    newest = sorted(left, key=lambda event: -event.seq)
    return Selection(tuple(shown), why, values, tuple(event.id for event in newest))
