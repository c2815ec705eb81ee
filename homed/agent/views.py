"""What watchers are given when they ask: threads, history, what runs now.  Shapes as in `docs/wire.md`.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homed.agent.fitting import fitted, fitted_text, size
from homed.agent.turn import Turn
from homed.memory.blocks import MOST, Block
from homed.memory.records import Event, EventKind, Input, Outcome, Thread, is_draft

if TYPE_CHECKING:
    from homed.memory.children import Progress
    from homed.memory.passes import Written

EVENT_BYTES = 24_000
"""Bytes of a tool result, or of anything else 8 times as many, that a history page shows; the store has it whole."""

DATA_BYTES = 96_000
"""Bytes of what belongs to an event beside its text: calls with their arguments, reasoning."""

PAGE_BYTES = 400_000
"""Bytes of a history page: with the rest of the answer it must fit one wire line of 1 MiB."""

LIVE_BYTES = 140_000
"""Bytes of what a running turn says, of what it thinks, and of its calls, each."""

QUEUED_BYTES = 100_000
"""Bytes that the texts of waiting inputs share; each may be a quarter of a MiB, and 256 may wait."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A page of a thread as the store has it.

    ``ended`` are the inputs of turns that end on it; ``files`` are by event, ``brought`` by input those that wait with
    their message.
    """

    thread: Thread
    events: Sequence[Event]
    more: bool
    ended: Sequence[Input]
    files: Mapping[str, Sequence[Block]]
    brought: Mapping[str, Sequence[Block]]
    recalls: Sequence[Mapping[str, object]] = ()
    """What its turns were shown and told from elsewhere."""
    agents: Sequence[Progress] = ()
    """What its turns gave agents to do."""
    written: Mapping[str, Written] = field(default_factory=dict)
    """By turn: what was really made of those that ended, and whether more is to come."""


def thread_view(thread: Thread, *, busy: bool) -> dict[str, object]:
    """A thread in a list."""
    return {
        "id": thread.id, "title": thread.title, "channel": thread.channel, "scope": thread.scope,
        "created_at": thread.created_at, "updated_at": thread.updated_at, "busy": busy,
    }  # fmt: skip


def written_view(turn: str, written: Written) -> dict[str, object]:
    """What lasting memory has of a turn, by kind of record: as the notice ``memory`` said it when it was written."""
    return {"turn": turn, "state": written.state, "records": {kind: list(ids) for kind, ids in written.records.items()}}


def ending_view(outcome: Outcome) -> dict[str, object]:
    """How a turn ended, for the notice of it and, ever after, for its history."""
    return {
        "state": outcome.state.value, "error": fitted_text(outcome.error, EVENT_BYTES), "hint": outcome.hint,
        "usage": dict(outcome.usage), "ms": outcome.ms,
    }  # fmt: skip


def outcome_view(outcome: Outcome, limit: int) -> dict[str, object]:
    """The same for whoever waited for it: with the answer, of which no more than ``limit`` bytes are shown."""
    return {**ending_view(outcome), "text": fitted_text(outcome.text, limit), "cause": dict(outcome.cause)}


def ended_view(input_: Input) -> dict[str, object]:
    """A turn that has ended, by the input that began it."""
    assert input_.outcome is not None
    return {"turn": input_.turn, "input": input_.id, **ending_view(input_.outcome)}


def event_view(event: Event, files: Sequence[Block]) -> dict[str, object]:
    """An event in a history page, an over-long text as head and tail."""
    limit = EVENT_BYTES if event.kind is EventKind.TOOL else EVENT_BYTES * 8
    return {
        "seq": event.seq, "id": event.id, "turn": event.turn, "kind": event.kind.value, "peer": event.peer,
        "text": fitted_text(event.text, limit), "data": _data(event, files), "created_at": event.created_at,
    }  # fmt: skip


def whole_event_view(event: Event, files: Sequence[Block]) -> dict[str, object]:
    """Everything of an event but its text."""
    return {
        "id": event.id, "seq": event.seq, "thread": event.thread, "turn": event.turn, "kind": event.kind.value,
        "peer": event.peer, "created_at": event.created_at, "layer": event.layer, "data": _data(event, files),
    }  # fmt: skip


def _data(event: Event, files: Sequence[Block]) -> object:
    shown: dict[str, object] = {key: value for key, value in event.data.items() if key != "files"}
    shown |= {"no_memory": True} if event.no_memory else {}
    return fitted({**shown, "blocks": blocks_view(files)} if files else shown, DATA_BYTES)


def blocks_view(files: Sequence[Block]) -> list[dict[str, object]]:
    """Attachments wherever they are shown."""
    return [block.view() for block in files]


def shown(stored: Stored) -> list[dict[str, object]]:
    """A page as people see it: without drafts of answers."""
    return [event_view(event, stored.files.get(event.id, ())) for event in stored.events if not is_draft(event)]


def bounded(page: Sequence[dict[str, object]], ended: Iterable[Input]) -> dict[str, object]:
    """``{events, ended, more}``: the newest events of a page that fit one wire line, with the ends of their turns.

    ``more`` is true if some had to be left for the next page.
    """
    ends = {input_.turn: ended_view(input_) for input_ in ended}
    kept: list[dict[str, object]] = []
    told: dict[str, dict[str, object]] = {}
    taken = 0
    for event in reversed(page):
        turn = str(event["turn"])
        end = ends[turn] if turn in ends and turn not in told else None
        taken += size(event) + (size(end) if end else 0)
        if kept and taken > PAGE_BYTES:
            break
        kept.append(event)
        if end:
            told[turn] = end
    return {"events": kept[::-1], "ended": [*told.values()][::-1], "more": len(kept) < len(page)}


def live_view(turn: Turn | None, share: int = 1) -> dict[str, object] | None:
    """The turn that runs, or one that stands still, as far as it has been shown; ``share``: how many there are."""
    if turn is None or not turn.input.turn:
        return None
    live, room = turn.live, LIVE_BYTES // share
    return {
        "turn": turn.id, "input": turn.input.id, "step": live.step, "text": fitted_text(live.text, room),
        "reasoning": fitted_text(live.reasoning, room),
        "calls": fitted([call.view() for call in live.calls], room),
        **({"level": turn.input.level} if turn.input.level else {}),
        **_marks(untrusted=turn.tainted, no_memory=turn.no_memory),
    }  # fmt: skip


def queued_view(waiting: Sequence[Input], brought: Mapping[str, Sequence[Block]]) -> list[dict[str, object]]:
    """Accepted inputs that do not stand in the history yet, with the files they brought."""
    share = QUEUED_BYTES // max(1, len(waiting))
    listed = set(list(brought)[: QUEUED_BYTES // (MOST * 600)])  # 600: a view with a name of 255 bytes, escaped
    return [
        {
            "input": i.id, "text": fitted_text(i.text, share), "peer": i.peer, "accepted_at": i.accepted_at,
            "blocks": blocks_view(brought[i.id] if i.id in listed else ()),
            **_marks(untrusted=i.untrusted, no_memory=i.no_memory),
        }
        for i in waiting
    ]  # fmt: skip


def agent_view(progress: Progress) -> dict[str, object]:
    """What a turn gave an agent, as a page shows it beneath: names and states, never what is said there."""
    return {
        "child": progress.child.id, "name": progress.child.name, "in": progress.child.thread,
        "turn": progress.task.front.turn, "state": progress.state, "error": fitted_text(progress.error, EVENT_BYTES),
        "count": progress.count, "tools": [{"tool": tool, "status": status} for tool, status in progress.tools],
    }  # fmt: skip


def _marks(*, untrusted: bool, no_memory: bool) -> dict[str, object]:
    return {**({"untrusted": True} if untrusted else {}), **({"no_memory": True} if no_memory else {})}
