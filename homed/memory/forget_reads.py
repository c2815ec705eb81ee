"""Which events a wish means, read bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

from homed.memory import forget
from homed.store.rows import Tx

SCANNED = 500
"""Events looked through for an entity's names with one read."""


def of_thread(tx: Tx, thread: str) -> list[str]:
    """Some of its events, oldest first; none when none is left."""
    rows = tx.all("SELECT id FROM events WHERE thread = ? ORDER BY seq LIMIT 500", (thread,))
    return [str(id_) for (id_,) in rows]


def sources(tx: Tx, records: Sequence[str]) -> list[str]:
    """The events that records rest on, with what belongs to each."""
    found = {one for event in forget.sources(tx, records) for one in forget.belonging(tx, event)}
    return sorted(found)


def named(tx: Tx, entity: str) -> tuple[list[str], str]:
    """What an entity is called, and its scope; without the ids of people."""
    rows = tx.all(
        "SELECT n.name, e.scope FROM entity_names n JOIN entities e ON e.id = n.entity WHERE e.id = ?"
        " AND substr(n.key, 1, 1) <> '@'",
        (entity,),
    )
    return [name for name, _ in rows], rows[0][1] if rows else ""


def holding(tx: Tx, *, scope: str, names: Sequence[str], after: int, upto: int) -> tuple[list[str], int | None]:
    """Events of a page behind ``after``, none behind ``upto``, in which one of these names stands, with what belongs to
    each; and where the page ends, None for the last."""
    rows = tx.all(
        "SELECT seq, id, text FROM events WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (scope, after, upto, SCANNED),
    )
    wanted = [name.casefold() for name in names]
    found = [id_ for _, id_, text in rows if any(name in text.casefold() for name in wanted)]
    belonging = [one for id_ in found for one in forget.belonging(tx, id_)]
    return belonging, rows[-1][0] if len(rows) == SCANNED else None


def titles(tx: Tx) -> list[str]:
    """What conversations are called."""
    return [str(title) for (title,) in tx.all("SELECT DISTINCT title FROM threads WHERE title <> ''")]
