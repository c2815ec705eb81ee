"""What a wish still has to remove: stored with it, and gone from there with the rows; then known as what it took.

What goes is found by rows that go themselves: a fact's messages by its evidence, a turn's agents by its tasks.  Were it
known only while homed runs, a crash would leave behind what is found by rows that are gone; and so would another wish
that takes those first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from homed.memory import forget, forget_agents, forget_peer, forget_reads, stable
from homed.store.rows import Tx, dumps

_AMONG = "(SELECT value FROM json_each(?))"
_TAKEN = {"repeat": "record", "record": "record", "event": "event", "thread": "thread"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """``cut``: records whose repeats are still to be found; ``scan``: scopes whose messages are still to be looked
    through for ``name``, which is looked for in files afterwards; the others are to be removed, in this order."""

    cut: Sequence[str] = ()
    scan: Sequence[str] = ()
    repeat: Sequence[str] = ()
    record: Sequence[str] = ()
    event: Sequence[str] = ()
    thread: Sequence[str] = ()
    name: Sequence[str] = ()


def find(tx: Tx, kind: str, target: str, *, wide: bool) -> Todo:
    """What there is now to remove for a wish; of what goes by rows that name it themselves (a peer's) nothing."""
    if kind == "thread":
        return Todo(thread=(target,))
    if kind == "peer":
        return Todo(thread=forget_peer.threads(tx, target), name=forget_peer.names(tx, target))
    if kind == "event":
        left = forget_agents.left(tx, target) if wide else forget_agents.Left()
        own = forget.of_turn(tx, target) if wide else forget.belonging(tx, target)
        return Todo(event=(*left.events, *own), thread=left.threads)
    entity = kind == "entity"
    records = forget.records_of(tx, target) if entity else [target] if stable.get(tx, target) else []
    events = forget_reads.sources(tx, records) if wide else []
    names, scope = forget_reads.named(tx, target) if entity else ([], "")
    return Todo(cut=records, record=records, event=events, name=names, scan=[scope] if wide and names else [])


def put(tx: Tx, request: str, todo: Todo) -> None:
    """Store it with the wish; what is there already stays once."""
    for what in fields(todo):
        if items := getattr(todo, what.name):
            insert = "INSERT OR IGNORE INTO forget_todo (request, what, item) SELECT ?, ?, value FROM json_each(?)"
            tx.execute(insert, (request, what.name, dumps(list(items))))


def some(tx: Tx, request: str, what: str, limit: int = -1) -> list[str]:
    """The first of them (-1: all) in the order in which they were stored."""
    order = "SELECT item FROM forget_todo WHERE request = ? AND what = ? ORDER BY seq LIMIT ?"
    return [str(item) for (item,) in tx.all(order, (request, what, limit))]


def drop(tx: Tx, request: str, what: str, items: Sequence[str]) -> None:
    """These are gone.  That this wish took them stays known, by their ids: a backup may bring them back without what
    the wish is about.  Of a peer and a conversation it need not: these name it themselves."""
    these = (request, what, dumps(list(items)))
    if what in _TAKEN:
        tx.execute(
            "INSERT OR IGNORE INTO forget_took (request, what, item) SELECT t.request, ?4, t.item FROM forget_todo t"
            " JOIN forgets f ON f.id = t.request WHERE f.kind IN ('event', 'fact', 'entity') AND t.request = ?1"
            " AND t.what = ?2 AND t.item IN (SELECT value FROM json_each(?3))",
            (*these, _TAKEN[what]),
        )
    tx.execute(f"DELETE FROM forget_todo WHERE request = ? AND what = ? AND item IN {_AMONG}", these)


def clear(tx: Tx, request: str) -> None:
    """All of it is gone, and nothing of it, names least of all, is kept."""
    tx.execute("DELETE FROM forget_todo WHERE request = ?", (request,))
