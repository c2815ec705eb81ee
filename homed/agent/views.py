"""What watchers are given when they ask: threads, history, what runs now.  Shapes as in `docs/wire.md`.  Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from homed.agent.results import head_and_tail
from homed.agent.turn import Turn
from homed.memory.records import Event, EventKind, Input, Outcome, Thread

EVENT_BYTES = 24_000
"""Bytes of a tool result, or of anything else 8 times as many, that a history page shows; the store has it whole."""

PAGE_BYTES = 600_000
"""Bytes of a history page: with the rest of the answer it must fit one wire line of 1 MiB."""


def thread_view(thread: Thread, *, busy: bool) -> dict[str, object]:
    """A thread in a list."""
    return {
        "id": thread.id, "title": thread.title, "channel": thread.channel, "scope": thread.scope,
        "created_at": thread.created_at, "updated_at": thread.updated_at, "busy": busy,
    }  # fmt: skip


def outcome_view(outcome: Outcome | None) -> dict[str, object] | None:
    """An outcome as it crosses the wire."""
    if outcome is None:
        return None
    return {
        "state": outcome.state.value, "text": outcome.text, "error": outcome.error, "hint": outcome.hint,
        "usage": dict(outcome.usage),
    }  # fmt: skip


def event_view(event: Event, text: str) -> dict[str, object]:
    """An event in a history page, an over-long text as head and tail."""
    limit = EVENT_BYTES if event.kind is EventKind.TOOL else EVENT_BYTES * 8
    return {
        "seq": event.seq, "id": event.id, "turn": event.turn, "kind": event.kind.value, "peer": event.peer,
        "text": head_and_tail(text, limit), "data": dict(event.data), "created_at": event.created_at,
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


def bounded(page: Sequence[dict[str, object]]) -> tuple[list[dict[str, object]], bool]:
    """The newest events of a page that fit one wire line, and whether some had to be left for the next page."""
    kept: list[dict[str, object]] = []
    size = 0
    for event in reversed(page):
        size += len(json.dumps(event, ensure_ascii=False).encode())
        if kept and size > PAGE_BYTES:
            return kept[::-1], True
        kept.append(event)
    return kept[::-1], False


def live_view(turn: Turn | None) -> dict[str, object] | None:
    """The turn that runs, as far as it has been shown."""
    if turn is None or not turn.input.turn:
        return None
    live = turn.live
    return {
        "turn": turn.id, "input": turn.input.id, "step": live.step, "text": live.text, "reasoning": live.reasoning,
        "calls": [call.view() for call in live.calls],
    }  # fmt: skip


def queued_view(waiting: Iterable[Input]) -> list[dict[str, object]]:
    """Accepted inputs that do not stand in the history yet."""
    return [{"input": i.id, "text": i.text, "peer": i.peer, "accepted_at": i.accepted_at} for i in waiting]
