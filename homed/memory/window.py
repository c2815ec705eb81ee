"""Which events a prompt shows.  ``recent`` reads them; ``plan`` is pure and never leaves a call without its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from homed.memory import events as table
from homed.memory.choose import Limits, Selection, SinkPlan, select, sink_plan
from homed.memory.records import Event, EventKind
from homed.memory.shorten import Estimate, shorten, shown_tokens
from homed.memory.tokens import estimate_tokens
from homed.memory.units import Unit, paired, whole
from homed.store.rows import Tx

PROVIDES = ("window",)
NEEDS = ("blocks", "settings")

BEFORE = 4
"""What was said before keeps this fraction of the room beside a turn's own results, if it has so much."""

NEWEST = 2
"""Units of the conversation itself that come before what is relevant: the last question and its answer."""

__all__ = [
    "Limits",
    "Selection",
    "SinkPlan",
    "Unit",
    "estimate_tokens",
    "fit",
    "paired",
    "plan",
    "recent",
    "select",
    "sink_plan",
    "whole",
]


def recent(tx: Tx, *, scope: str, thread: str, limit: int) -> list[Event]:
    """The last ``limit`` events of this thread that are in the context layer, oldest first.

    A little more when the cut would fall between a call and its results.  What is no_memory is in the context layer
    only while its own turn runs (``inputs.finish`` archives it), so another turn's never comes.
    """
    where = "thread = ? AND scope = ? AND layer = 'context'"
    found = _select(tx, f"{where} ORDER BY seq DESC LIMIT ?", (thread, scope, limit))[::-1]
    if found and found[0].kind is EventKind.TOOL:
        first = found[0]
        start = tx.value(
            "SELECT max(seq) FROM events WHERE turn = ? AND seq < ? AND kind = 'assistant'", (first.turn, first.seq)
        )
        if start is not None:
            earlier = f"{where} AND turn = ? AND seq >= ? AND seq < ? ORDER BY seq"
            found = _select(tx, earlier, (thread, scope, first.turn, start, first.seq)) + found
    return found


def _select(tx: Tx, rest: str, params: Sequence[str | int]) -> list[Event]:
    return [table.from_row(row) for row in tx.all(f"SELECT {table.COLUMNS} FROM events WHERE {rest}", params)]


def plan(events: Sequence[Event], *, budget_tokens: int, estimate: Estimate = estimate_tokens) -> list[Event]:
    """The newest events that fit ``budget_tokens``, in the order given (oldest first).

    An ASSISTANT event with calls and all its TOOL events are one unit.  The question of the newest turn and the newest
    unit come before all others, shortened to head and tail if they must share; an older unit larger than the whole
    budget is shown so too.  The stored events stay whole.  A TOOL event without its call is left out, a call without
    its result is taken out of its event: whatever comes in, every call that goes out has its result.
    """
    units = paired(events, lambda event: shown_tokens(event, estimate))
    if sum(unit.tokens for unit in units) <= budget_tokens:
        chosen = dict(enumerate(units))
    else:
        chosen = _newest(units, budget_tokens, estimate)
    shown = [event for index in sorted(chosen) for event in chosen[index].events]
    return sorted(shown, key=lambda event: event.seq)


def fit(
    before: Sequence[Event],
    own: Sequence[Event],
    *,
    budget_tokens: int,
    scores: Mapping[str, float],
    estimate: Estimate = estimate_tokens,
) -> list[Event]:
    """Of a running turn's ``own`` events (their units as in ``plan``) and those ``before`` it, what fits, by time.

    All when all fits.  Else of those before the last of the turn's conversation stay, then the most relevant by
    ``scores`` (event id → relevance), of equal ones the newest; they keep a share of the room.
    """
    units = paired(before, lambda event: shown_tokens(event, estimate))
    mine = sum(unit.tokens for unit in paired(own, lambda event: shown_tokens(event, estimate)))
    total = sum(unit.tokens for unit in units)
    if total + mine <= budget_tokens:
        shown = [*(event for unit in units for event in unit.events), *plan(own, budget_tokens=mine, estimate=estimate)]
        return sorted(shown, key=lambda event: event.seq)
    shown = plan(own, budget_tokens=budget_tokens - min(total, budget_tokens // BEFORE), estimate=estimate)
    left = budget_tokens - sum(shown_tokens(event, estimate) for event in shown)
    for unit in _ranked(units, own[0].thread if own else "", scores):
        if unit.tokens > budget_tokens and left >= budget_tokens // 4:
            unit = _cut(unit, budget_tokens // 4, estimate) or unit
        if unit.tokens <= left:
            shown += unit.events
            left -= unit.tokens
    return sorted(shown, key=lambda event: event.seq)


def _ranked(units: Sequence[Unit], thread: str, scores: Mapping[str, float]) -> list[Unit]:
    newest = [unit for unit in reversed(units) if unit.thread == thread][:NEWEST]
    rest = [unit for unit in units if unit not in newest]
    rest.sort(key=lambda unit: (-max(scores.get(event.id, 0.0) for event in unit.events), -unit.seq))
    return newest + rest


def _newest(units: Sequence[Unit], budget: int, estimate: Estimate) -> dict[int, Unit]:
    chosen = _first(units, budget, estimate)
    left = budget - sum(unit.tokens for unit in chosen.values())
    for index in range(len(units) - 1, -1, -1):
        if index in chosen:
            continue
        unit = units[index]
        if unit.tokens > budget and left >= budget // 4:
            unit = _cut(unit, budget // 4, estimate) or unit
        if unit.tokens > left:
            break
        chosen[index] = unit
        left -= unit.tokens
    return chosen


def _first(units: Sequence[Unit], budget: int, estimate: Estimate) -> dict[int, Unit]:
    """The question of the newest turn and the newest unit, made to fit together."""
    last = len(units) - 1
    question = _question(units)
    if question is None or question == last:
        return _fitting({last: units[last]}, {last: budget}, estimate)
    asked, newest = units[question], units[last]
    share = min(asked.tokens, max(budget // 2, budget - newest.tokens))
    return _fitting({question: asked, last: newest}, {question: share, last: budget - share}, estimate)


def _question(units: Sequence[Unit]) -> int | None:
    turn = units[-1].events[0].turn
    asked = [
        index
        for index, unit in enumerate(units)
        if unit.events[0].kind is EventKind.USER and unit.events[0].turn == turn
    ]
    return asked[-1] if asked else None


def _fitting(units: dict[int, Unit], limits: dict[int, int], estimate: Estimate) -> dict[int, Unit]:
    cut = {index: _cut(unit, limits[index], estimate) for index, unit in units.items()}
    return {index: unit for index, unit in cut.items() if unit is not None}


def _cut(unit: Unit, limit: int, estimate: Estimate) -> Unit | None:
    """The unit at no more than ``limit`` tokens: whole, or each event at a fair share of it; None when it cannot be."""
    if unit.tokens <= limit:
        return unit
    sizes = [shown_tokens(event, estimate) for event in unit.events]
    shorter = [shorten(e, share, estimate) for e, share in zip(unit.events, _shares(sizes, limit), strict=True)]
    events = tuple(event for event in shorter if event is not None)
    if len(events) < len(unit.events):
        return None
    return Unit(events, sum(shown_tokens(event, estimate) for event in events))


def _shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Divide ``limit``: the small get what they need, the large share the rest evenly."""
    shares = [0] * len(sizes)
    left = limit
    by_size = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for place, index in enumerate(by_size):
        shares[index] = min(sizes[index], left // (len(sizes) - place))
        left -= shares[index]
    return shares
