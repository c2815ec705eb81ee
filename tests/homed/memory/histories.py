"""Histories for hypothesis: several conversations, parallel calls, results in any order, open calls and orphans."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from homed.memory.records import Event, EventKind
from tests.homed.memory.build import event, says, tool, user

THREADS = ("a", "b", "c")


@st.composite
def histories(draw: st.DrawFn, *, whole: bool = False) -> list[Event]:
    """Events in time order; with ``whole`` every call has its result and every result its call."""
    found: list[Event] = []
    for number in range(draw(st.integers(0, 8))):
        turn, thread = f"t{number}", draw(st.sampled_from(THREADS))
        said = [user(0, turn=turn)]
        for step in range(draw(st.integers(0, 2))):
            said += draw(_step(turn, [f"{step}{name}" for name in "ABC"[: draw(st.integers(1, 3))]], whole))
        if draw(st.booleans()):
            said.append(says(0, "answer", turn=turn))
        found += [replace(e, thread=thread, tokens=draw(st.integers(1, 60))) for e in said]
    return [replace(e, seq=at, id=f"ev{at}", created_at=float(at)) for at, e in enumerate(found, start=1)]


@st.composite
def _step(draw: st.DrawFn, turn: str, calls: list[str], whole: bool) -> list[Event]:
    done = draw(st.permutations(calls))
    if not whole:
        done = done[: draw(st.integers(0, len(done)))]
    results = [tool(0, call, turn=turn) for call in done]
    if not whole and draw(st.booleans()):
        results.append(tool(0, "nobody", turn=turn))
    if not whole and draw(st.booleans()):
        return [*results, event(0, EventKind.NOTE, "a note", turn=turn)]
    return [says(0, turn=turn, calls=calls), *results]


def is_paired(events: list[Event]) -> bool:
    """Every call has exactly one result behind it, every result its call before it."""
    open_: list[tuple[str, object]] = []
    for one in events:
        if one.kind is EventKind.TOOL:
            key = (one.turn, one.data["call_id"])
            if key not in open_:
                return False
            open_.remove(key)
        calls = one.data.get("calls")
        if isinstance(calls, list):
            open_ += [(one.turn, call["id"]) for call in calls]
    return not open_
