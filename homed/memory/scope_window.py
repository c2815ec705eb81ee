"""What a scope's window holds, read from the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from homed.memory import events as table
from homed.memory.records import Event
from homed.memory.shorten import event_tokens
from homed.memory.tokens import estimate_tokens
from homed.store.rows import Tx, dumps

MOST = 2_000
"""Newest events that are looked at: a window holds tens, and thousands only right after an upgrade."""

_IN_WINDOW = "scope = ? AND layer = 'context' AND no_memory = 0"


def window_events(tx: Tx, scope: str, limit: int = MOST) -> list[Event]:
    """The newest events of the scope's window, of every conversation in it, oldest first, each with its tokens.

    What is no_memory is never among them: only its own turn may see it.
    """
    rows = tx.all(f"SELECT {table.COLUMNS} FROM events WHERE {_IN_WINDOW} ORDER BY seq DESC LIMIT ?", (scope, limit))
    return [counted(table.from_row(row)) for row in reversed(rows)]


def outlines(tx: Tx, scope: str, limit: int = MOST) -> list[Event]:
    """The same events with no more of their texts than the first character, which says that there is one.

    What is not counted yet has a rough number of tokens.  ``texts`` has the rest of those that are wanted.
    """
    rows = tx.all(f"SELECT {table.OUTLINE} FROM events WHERE {_IN_WINDOW} ORDER BY seq DESC LIMIT ?", (scope, limit))
    return [table.from_row(row) for row in reversed(rows)]


def texts(tx: Tx, seqs: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The whole texts of these events, and what is opaque of them."""
    wanted = (dumps(sorted(seqs)),)
    rows = tx.all("SELECT seq, text, opaque FROM events WHERE seq IN (SELECT value FROM json_each(?))", wanted)
    return {seq: (text, opaque) for seq, text, opaque in rows}


def totals(tx: Tx, scope: str) -> tuple[int, int]:
    """Events and tokens in the scope's window, without reading their texts."""
    row = tx.one(f"SELECT count(*), total(tokens) FROM events WHERE {_IN_WINDOW}", (scope,))
    assert row is not None
    return row[0], int(row[1])


def crowded(tx: Tx, *, events: int, tokens: int) -> list[str]:
    """Scopes with more events or tokens than this in their window."""
    scopes = tx.all("SELECT DISTINCT scope FROM threads WHERE scope <> '' ORDER BY scope")
    found = ((scope, *totals(tx, scope)) for (scope,) in scopes)
    return [scope for scope, count, size in found if count > events or size > tokens]


def running_events(tx: Tx, scope: str) -> list[str]:
    """Ids of what the scope's running turns have stored: it stays where it is until they end."""
    rows = tx.all(
        "SELECT e.id FROM inputs i CROSS JOIN events e ON e.turn = i.turn"
        " WHERE i.outcome IS NULL AND i.turn <> '' AND +i.scope = ? AND +e.scope = i.scope",
        (scope,),
    )
    return [row[0] for row in rows]


def active_threads(tx: Tx, scope: str, *, since: float, limit: int = -1) -> list[str]:
    """Threads of the scope that were used at ``since`` or later, last used first; ``limit`` -1 means all."""
    rows = tx.all(
        "SELECT id FROM threads WHERE scope = ? AND updated_at >= ? ORDER BY updated_at DESC, id LIMIT ?",
        (scope, since, limit),
    )
    return [row[0] for row in rows]


def last_inputs(tx: Tx, scope: str, *, limit: int = 3) -> list[str]:
    """The texts of the scope's last inputs, newest first: what sinking is scored against when nobody is talking."""
    found: list[tuple[int, str]] = []  # by conversation: a scope that says little is not looked for among all inputs
    for thread in active_threads(tx, scope, since=0.0, limit=limit):
        found += tx.all(
            "SELECT seq, text FROM inputs WHERE thread = ? AND no_memory = 0 ORDER BY seq DESC LIMIT ?", (thread, limit)
        )
    return [text for _, text in sorted(found, reverse=True)[:limit]]


def counted(event: Event) -> Event:
    """The event with its tokens, counted now if an earlier release stored it without."""
    return event if event.tokens else replace(event, tokens=event_tokens(event, estimate_tokens))
