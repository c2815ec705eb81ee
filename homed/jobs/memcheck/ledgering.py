"""Whether what was written down of turns is of turns and records that there are, or were."""

from __future__ import annotations

from collections.abc import Sequence

from homed.jobs.memcheck.check import Check, RowCheck
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Rows
from homed.store.rows import Row, Tx

_THERE = (
    "EXISTS (SELECT 1 FROM records r WHERE r.id = i.id) OR EXISTS (SELECT 1 FROM events e WHERE e.id = i.id)"
    " OR EXISTS (SELECT 1 FROM injected_gone g WHERE g.id = i.id)"
)


def _mark_gone(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """What it was nobody knows any more; that it is gone is said where it is shown."""
    del room
    lost = "DELETE FROM injected WHERE injection = ? AND NOT EXISTS (SELECT 1 FROM injections j WHERE j.seq = ?1)"
    for injection, _, id_, *_ in rows:
        tx.execute(lost, (injection,))
        if not tx.changes():
            tx.execute("INSERT OR IGNORE INTO injected_gone (id) VALUES (?)", (id_,))
    return len(rows)


def _of(table: str, *columns: str) -> str:
    return f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in columns)}"


def _drop_injections(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many(_of("injected", "injection"), [(row[0],) for row in rows])
    tx.many(_of("injections", "seq"), [(row[0],) for row in rows])
    return len(rows)


def _drop_citations(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many(_of("citations", "record", "turn"), [(row[0], row[1]) for row in rows])
    return len(rows)


def _drop_ledger(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many(_of("ledger", "seq"), [(row[0],) for row in rows])
    return len(rows)


def _drop_accesses(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many(_of("accesses", "turn", "event"), [(row[0], row[1]) for row in rows])
    return len(rows)


CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="injections", name="What turns were told", what="rows of the ledger of what turns were told",
        fault="are of a turn that is gone", fix="Repair removes them: they say nothing about anything that is there.",
        rows=Rows(
            "injections j", ("j.seq",), "j.turn", "NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = j.turn)",
        ),
        cure=_drop_injections,
    ),
    RowCheck(
        id="injected_ids", name="Ids that turns were told", what="lines that turns were told",
        fault="name something that is nowhere, and that nobody deleted",
        fix="Repair marks them as deleted. What it was is lost; a backup may have it.",
        rows=Rows(
            "injected i", ("i.injection", "i.place"), "i.id",
            f"NOT ({_THERE}) OR NOT EXISTS (SELECT 1 FROM injections j WHERE j.seq = i.injection)",
            start=(-(1 << 62), -(1 << 62)),
        ),
        cure=_mark_gone,
    ),
    RowCheck(
        id="citation_links", name="Citations", what="citations", fault="are of a turn or of a record that is gone",
        fix="Repair removes them.",
        rows=Rows(
            "citations c", ("c.record", "c.turn"), "c.record",
            "NOT EXISTS (SELECT 1 FROM records r WHERE r.id = c.record)"
            " OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = c.turn)",
            start=("", ""),
        ),
        cure=_drop_citations,
    ),
    RowCheck(
        id="ledger_turns", name="Turns of the ledger", what="rows of the ledger", fault="are of a turn that is gone",
        fix="Repair removes them: they hold ids and counts of a turn that nobody can open.",
        # a thread without a scope is being removed, bit by bit: its rows go with it
        rows=Rows(
            "ledger l", ("l.seq",), "l.turn", "NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = l.turn)",
            where="l.turn <> '' AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.id = l.thread AND h.scope = '')",
        ),
        cure=_drop_ledger,
    ),
    RowCheck(
        id="accesses", name="What turns looked up", what="accesses of cold messages",
        fault="are of a turn or a message that is gone", fix="Repair removes them.",
        rows=Rows(
            "accesses a", ("a.turn", "a.event"), "a.event",
            "NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = a.turn)"
            " OR NOT EXISTS (SELECT 1 FROM events e WHERE e.id = a.event)",
            start=("", ""),
        ),
        cure=_drop_accesses,
    ),
)  # fmt: skip
"""In this order: citations before how often records were cited."""
