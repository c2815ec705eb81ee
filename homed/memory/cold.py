"""The cold layer: events that left the window, looked at, and put back once the turn that looked is answered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from homed.memory import events as table
from homed.memory.records import Event
from homed.memory.units import whole
from homed.store.rows import Tx, dumps

PROVIDES = ("cold",)
NEEDS = ("window",)

SOURCE = "cold_storage"
"""What a recalled event says of where it came from."""

REMEMBERED = 30 * 86_400.0
"""Seconds after which an access is forgotten: what a turn looked at is needed until its end."""

_AMONG = "(SELECT value FROM json_each(?))"


def peek(tx: Tx, ids: Iterable[str], turn: str, at: float) -> list[str]:
    """The turn looks at these events: one access each, however often it looks; nothing else changes.

    Only what is cold and of the turn's own scope counts; returns those ids in the order given.
    """
    wanted = list(dict.fromkeys(ids))
    found = tx.all(
        f"SELECT id FROM events WHERE id IN {_AMONG} AND +layer = 'cold'"
        " AND +scope = (SELECT i.scope FROM turns t JOIN inputs i ON i.id = t.input WHERE t.id = ?)",
        (dumps(wanted), turn),
    )
    cold = {row[0] for row in found}
    counted = [id_ for id_ in wanted if id_ in cold]
    tx.execute("DELETE FROM accesses WHERE at < ?", (at - REMEMBERED,))
    tx.many("INSERT OR IGNORE INTO accesses (turn, event, at) VALUES (?, ?, ?)", [(turn, id_, at) for id_ in counted])
    return counted


def confirm(tx: Tx, turn: str) -> list[str]:
    """The turn is answered: what it looked at and is still cold goes back into the window, in whole units.

    The ids moved, in time order; their place in time is what it was.  A second turn that looked at the same finds it
    there already (see ``there``): nothing happens.  ``inputs.finish`` calls this; a turn that ends otherwise leaves all
    cold.
    """
    pending = tx.all(
        "SELECT a.event FROM accesses a JOIN events e ON e.id = a.event WHERE a.turn = ? AND e.layer = 'cold'", (turn,)
    )
    moved = _in_whole_units(tx, [row[0] for row in pending], "cold")
    tx.execute(f"UPDATE events SET layer = 'context', source = '{SOURCE}' WHERE id IN {_AMONG}", (dumps(moved),))
    return moved


def there(tx: Tx, turn: str) -> list[str]:
    """What the turn looked at while it was cold and is in the window by now, in time order: before ``confirm``, what
    another turn has brought back meanwhile."""
    rows = tx.all(
        "SELECT e.id FROM accesses a JOIN events e ON e.id = a.event WHERE a.turn = ? AND e.layer = 'context'"
        " ORDER BY e.seq",
        (turn,),
    )
    return [row[0] for row in rows]


def sink(tx: Tx, scope: str, ids: Collection[str], *, at: float) -> list[str]:
    """Move these events of the scope's window, in whole units, to the cold layer; their blocks go along.  ``at``, in
    UTC seconds, is when they began to cool.

    What belongs to a running turn stays, and so does what is no_memory, whatever was asked.  Returns those that moved.
    """
    rows = tx.all(
        f"SELECT id FROM events WHERE id IN {_AMONG} AND +scope = ? AND +layer = 'context' AND +no_memory = 0"
        " AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = events.turn AND t.ended_at IS NULL)",
        (dumps(list(ids)), scope),
    )
    asked = [row[0] for row in rows]
    moved = _in_whole_units(tx, asked, "context")
    tx.execute(f"UPDATE events SET layer = 'cold', source = '', sunk_at = ? WHERE id IN {_AMONG}", (at, dumps(moved)))
    return moved


def bring_back(tx: Tx, scopes: Collection[str], event: str) -> list[str]:
    """A person wants a cold event back in the window now, in its whole unit; its blocks go along.  The ids moved, in
    time order; none when it is not cold (any more), not of these scopes, or private."""
    found = tx.all(
        f"SELECT id FROM events WHERE id = ? AND layer = 'cold' AND no_memory = 0 AND scope IN {_AMONG}"
        f" AND {table.NOT_REMOVED}",
        (event, dumps(sorted(scopes))),
    )
    moved = _in_whole_units(tx, [row[0] for row in found], "cold")
    tx.execute(f"UPDATE events SET layer = 'context', source = '{SOURCE}' WHERE id IN {_AMONG}", (dumps(moved),))
    return moved


def _in_whole_units(tx: Tx, ids: Sequence[str], layer: str) -> list[str]:
    """These events with all that belongs to them and is in the same layer, in time order."""
    wanted = set(ids)
    turns = tx.all(f"SELECT DISTINCT turn, scope FROM events WHERE id IN {_AMONG}", (dumps(list(ids)),))
    found: dict[str, int] = {}
    for turn, scope in turns:
        for unit in _units(tx, turn, scope):
            if any(event.id in wanted for event in unit):
                found |= {event.id: event.seq for event in unit if event.layer == layer}
    return sorted(found, key=found.__getitem__)


def _units(tx: Tx, turn: str, scope: str) -> list[tuple[Event, ...]]:
    rows = tx.all(f"SELECT {table.OUTLINE} FROM events WHERE turn = ? AND scope = ? ORDER BY seq", (turn, scope))
    return [unit.events for unit in whole([table.from_row(row) for row in rows], lambda event: event.tokens)]
