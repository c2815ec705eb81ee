"""What watchers are given when they ask: threads, history, what runs now.  Shapes as in `docs/wire.md`.  Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from homed.agent.results import head_and_tail
from homed.agent.turn import Turn
from homed.memory.records import Event, EventKind, Input, Outcome, Thread

EVENT_BYTES = 24_000
"""Bytes of a tool result, or of anything else 8 times as many, that a history page shows; the store has it whole."""

PAGE_BYTES = 600_000
"""Bytes of a history page: with the rest of the answer it must fit one wire line of 1 MiB."""

LIVE_BYTES = 200_000
"""Bytes that the calls of a running turn share."""

QUEUED_BYTES = 100_000
"""Bytes that the texts of waiting inputs share; each may be a quarter of a MiB, and 256 may wait."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A page of a thread as the store has it.

    ``ended`` are the inputs of turns that end on it; ``sent`` is, by turn, what went out instead of the answer.
    """

    thread: Thread
    events: Sequence[Event]
    more: bool
    ended: Sequence[Input]
    sent: Mapping[str, str]


def thread_view(thread: Thread, *, busy: bool) -> dict[str, object]:
    """A thread in a list."""
    return {
        "id": thread.id, "title": thread.title, "channel": thread.channel, "scope": thread.scope,
        "created_at": thread.created_at, "updated_at": thread.updated_at, "busy": busy,
    }  # fmt: skip


def ending_view(outcome: Outcome) -> dict[str, object]:
    """How a turn ended, for the notice of it and, ever after, for its history."""
    return {
        "state": outcome.state.value, "error": head_and_tail(outcome.error, EVENT_BYTES), "hint": outcome.hint,
        "usage": dict(outcome.usage), "ms": outcome.ms,
    }  # fmt: skip


def ended_view(input_: Input) -> dict[str, object]:
    """A turn that has ended, by the input that began it."""
    assert input_.outcome is not None
    return {"turn": input_.turn, "input": input_.id, **ending_view(input_.outcome)}


def event_view(event: Event, text: str) -> dict[str, object]:
    """An event in a history page, an over-long text as head and tail."""
    limit = EVENT_BYTES if event.kind is EventKind.TOOL else EVENT_BYTES * 8
    return {
        "seq": event.seq, "id": event.id, "turn": event.turn, "kind": event.kind.value, "peer": event.peer,
        "text": head_and_tail(text, limit), "data": clipped(event.data, EVENT_BYTES), "created_at": event.created_at,
    }  # fmt: skip


def shown(events: Sequence[Event], *, unsent: str, sent: Mapping[str, str]) -> list[dict[str, object]]:
    """A page as people see it: of a final answer, what was sent (``sent``: turn → text) and not what was written.

    The final answer of the turn ``unsent`` is left out: it has not gone through ``before_output`` yet.
    """
    page = []
    for event in events:
        final = event.kind is EventKind.ASSISTANT and bool(event.data.get("final"))
        if (final and event.turn == unsent) or event.data.get("code") == "sent":
            continue
        page.append(event_view(event, sent.get(event.turn, event.text) if final else event.text))
    return page


def sent_texts(events: Iterable[Event]) -> dict[str, str]:
    """Turn → the text that went out instead of the stored answer."""
    return {e.turn: e.text for e in events if e.kind is EventKind.NOTE and e.data.get("code") == "sent"}


def bounded(page: Sequence[dict[str, object]], ended: Iterable[Input]) -> dict[str, object]:
    """``{events, ended, more}``: the newest events of a page that fit one wire line, with the ends of their turns.

    ``more`` is true if some had to be left for the next page.
    """
    ends = {input_.turn: ended_view(input_) for input_ in ended}
    kept: list[dict[str, object]] = []
    told: dict[str, dict[str, object]] = {}
    size = 0
    for event in reversed(page):
        turn = str(event["turn"])
        end = ends[turn] if turn in ends and turn not in told else None
        size += _bytes(event) + (_bytes(end) if end else 0)
        if kept and size > PAGE_BYTES:
            break
        kept.append(event)
        if end:
            told[turn] = end
    return {"events": kept[::-1], "ended": [*told.values()][::-1], "more": len(kept) < len(page)}


def _bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def live_view(turn: Turn | None) -> dict[str, object] | None:
    """The turn that runs, as far as it has been shown."""
    if turn is None or not turn.input.turn:
        return None
    live = turn.live
    share = LIVE_BYTES // 2 // max(1, len(live.calls))
    return {
        "turn": turn.id, "input": turn.input.id, "step": live.step, "text": live.text, "reasoning": live.reasoning,
        "calls": [clipped(call.view(), share) for call in live.calls],
    }  # fmt: skip


def queued_view(waiting: Iterable[Input]) -> list[dict[str, object]]:
    """Accepted inputs that do not stand in the history yet."""
    inputs = list(waiting)
    share = QUEUED_BYTES // max(1, len(inputs))
    return [
        {"input": i.id, "text": head_and_tail(i.text, share), "peer": i.peer, "accepted_at": i.accepted_at}
        for i in inputs
    ]


def clipped(value: object, limit: int) -> object:
    """A JSON value with every text of more than ``limit`` bytes in it as head and tail."""
    if isinstance(value, str):
        return head_and_tail(value, limit)
    if isinstance(value, Mapping):
        return {key: clipped(one, limit) for key, one in value.items()}
    return [clipped(one, limit) for one in value] if isinstance(value, list) else value
