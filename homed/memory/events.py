"""Events in their table: appended, never changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from homed.clock import new_id
from homed.memory.records import Event, EventKind, Input, NewEvent, calls_of
from homed.memory.shorten import event_tokens
from homed.memory.tokens import estimate_tokens
from homed.store.rows import Row, Tx, dumps, loads

NOT_REMOVED = "EXISTS (SELECT 1 FROM threads h WHERE h.id = events.thread AND h.scope <> '')"
"""For a query of events by their own scope: without those of a thread that is being removed, bit by bit."""

_PLACE = "id, seq, scope, thread, turn, channel, peer"
COLUMNS = f"{_PLACE}, kind, text, created_at, data, layer, no_memory, source, tokens, opaque"
"""What ``from_row`` reads, in its order."""

OUTLINE = (
    COLUMNS.replace("text,", "substr(text, 1, 1),")
    .replace("tokens", "CASE tokens WHEN 0 THEN 4 + length(text) / 3 ELSE tokens END")
    .replace("opaque", "''")
)
"""The same without the text but for its first character, which says that there is one, and without what is opaque;
tokens that nobody has counted yet are guessed."""


def append(tx: Tx, input_: Input, new: NewEvent, *, at: float) -> Event:
    """Store one event of the turn of ``input_`` and return it with its id and seq.

    A USER event without a peer is the input's peer's.  What belongs to a no_memory input is no_memory itself.
    """
    peer = new.peer or (input_.peer if new.kind is EventKind.USER else "")
    row = tx.one(
        "INSERT INTO events (id, scope, thread, turn, channel, peer, kind, text, data, created_at, no_memory, tokens,"
        f" opaque) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {COLUMNS}",
        (
            new_id("ev"), input_.scope, input_.thread, input_.turn, input_.channel, peer, new.kind.value, new.text,
            dumps(dict(new.data)), at, int(new.no_memory or input_.no_memory),
            event_tokens(new, estimate_tokens), new.opaque,
        ),
    )  # fmt: skip
    assert row is not None
    return from_row(row)


def count_tokens(tx: Tx, seqs: Collection[int]) -> None:
    """Count the tokens of these events, where an earlier release stored them without."""
    rows = tx.all(
        f"SELECT {COLUMNS} FROM events WHERE seq IN (SELECT value FROM json_each(?)) AND tokens = 0",
        (dumps(list(seqs)),),
    )
    counted = [(event_tokens(event, estimate_tokens), event.seq) for event in map(from_row, rows)]
    tx.many("UPDATE events SET tokens = ? WHERE seq = ?", counted)


def of_turn(tx: Tx, turn: str) -> list[Event]:
    """Every event of a turn, oldest first."""
    return [from_row(row) for row in tx.all(f"SELECT {COLUMNS} FROM events WHERE turn = ? ORDER BY seq", (turn,))]


def history(tx: Tx, thread: str, *, before: int | None, limit: int) -> tuple[list[Event], bool]:
    """The last ``limit`` events of a thread with a seq below ``before``, and whether there are older ones.

    Oldest first, of every layer.
    """
    rows = tx.all(
        f"SELECT {COLUMNS} FROM events WHERE thread = ? AND seq < coalesce(?, {1 << 62}) ORDER BY seq DESC LIMIT ?",
        (thread, before, limit + 1),
    )
    return [from_row(row) for row in reversed(rows[:limit])], len(rows) > limit


def dangling_calls(tx: Tx, turn: str) -> list[Mapping[str, object]]:
    """Calls of the turn that have no TOOL event, in the order they were made: what a crash left open (A3).

    Each is as it stands in the ASSISTANT event: ``{"id", "name", "arguments", "raw"?}``.
    """
    waiting: list[Mapping[str, object]] = []
    for event in of_turn(tx, turn):
        if event.kind is EventKind.ASSISTANT:
            waiting.extend(calls_of(event))
        elif event.kind is EventKind.TOOL:
            answered = next((call for call in waiting if call.get("id") == event.data.get("call_id")), None)
            if answered is not None:
                waiting.remove(answered)
    return waiting


def from_row(row: Row) -> Event:
    """An Event from a row of ``COLUMNS``."""
    id_, seq, scope, thread, turn, channel, peer, kind, text, at, data, layer, no_memory, source, tokens, opaque = row
    return Event(
        id=id_, seq=seq, scope=scope, thread=thread, turn=turn, channel=channel, peer=peer, kind=EventKind(kind),
        text=text, created_at=at, data=loads(data) or {}, layer=layer, no_memory=bool(no_memory),
        source=source, tokens=tokens, opaque=opaque,
    )  # fmt: skip
