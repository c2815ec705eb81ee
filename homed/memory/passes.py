"""Passes that are owed: turns that are over, and of which nothing lasting has been made yet.

A trigger writes the row in the transaction that ends the turn, so a kill at any moment leaves it or the turn running.
It goes in the transaction that stores what was made.  Beside it the gates: how much was stopped at which, counted in
that same transaction, so that nothing is counted twice whatever ends the daemon.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from homed.store.rows import Tx, dumps

RECALLED = 8
"""Injections of a conversation, up to a turn, that its prompt may still have shown."""

JOB = "pass"
"""The job that makes them: its units in quarantine are turns that are left alone."""


@dataclass(frozen=True, slots=True)
class Owed:
    """A turn that a pass is owed to.  ``at``: when it ended, UTC seconds; ``told``: it is recorded already, without a
    model, and one may still read it; ``since``: when the last turn of its thread ended, None while it runs."""

    turn: str
    thread: str
    at: float
    told: bool
    since: float | None


@dataclass(frozen=True, slots=True)
class Written:
    """What a pass made of a turn.  ``state``: ``waiting`` (nothing yet), ``told`` (recorded without a model, which is
    to read it still), ``held`` (left alone after failures) or ``done``; ``records``: ids by kind of record, in the
    order they were made."""

    state: str
    records: Mapping[str, tuple[str, ...]]


def owed(tx: Tx, after: tuple[float, str], limit: int) -> list[Owed]:
    """The next turns that wait, oldest first, from behind ``after`` (at, turn); not those in quarantine."""
    rows = tx.all(
        "SELECT p.turn, p.thread, p.at, p.told,"
        " (SELECT t.ended_at FROM turns t WHERE t.thread = p.thread ORDER BY t.started_at DESC LIMIT 1)"
        " FROM passes p WHERE (p.at, p.turn) > (?, ?)"
        " AND NOT EXISTS (SELECT 1 FROM job_units u WHERE u.job = ? AND u.unit = p.turn AND u.held = 1)"
        " ORDER BY p.at, p.turn LIMIT ?",
        (*after, JOB, limit),
    )
    return [Owed(turn, thread, at, bool(told), since) for turn, thread, at, told, since in rows]


def settle(tx: Tx, turns: Collection[str]) -> None:
    """Nothing is owed to these any more."""
    tx.execute("DELETE FROM passes WHERE turn IN (SELECT value FROM json_each(?))", (dumps(sorted(turns)),))


def told(tx: Tx, turns: Collection[str]) -> None:
    """These are recorded without a model, and still owed."""
    tx.execute("UPDATE passes SET told = 1 WHERE turn IN (SELECT value FROM json_each(?))", (dumps(sorted(turns)),))


def held(tx: Tx, turn: str) -> bool:
    """Whether it is left alone, after failures."""
    return bool(tx.value("SELECT held FROM job_units WHERE job = ? AND unit = ?", (JOB, turn)))


def waiting(tx: Tx) -> tuple[int, float | None]:
    """How many are owed, those in quarantine among them, and since when the oldest, UTC seconds."""
    count, oldest = tx.all("SELECT count(*), min(at) FROM passes")[0]
    return int(count), oldest


def written(tx: Tx, turn: str) -> Written:
    """What rests on the turn's own events, and whether more is to come.  Whoever asks must be one who may see it."""
    row = tx.one(
        "SELECT p.told, EXISTS (SELECT 1 FROM job_units u WHERE u.job = ? AND u.unit = p.turn AND u.held = 1)"
        " FROM passes p WHERE p.turn = ?",
        (JOB, turn),
    )
    rows = tx.all(
        "SELECT r.record, r.id FROM records r WHERE r.status <> 'hidden' AND r.id IN (SELECT v.record FROM evidence v"
        " JOIN events e ON e.id = v.event WHERE e.turn = ? AND e.no_memory = 0) ORDER BY r.seq",
        (turn,),
    )
    found: dict[str, tuple[str, ...]] = {}
    for record, id_ in rows:
        found[record] = (*found.get(record, ()), id_)
    state = "done" if row is None else "held" if row[1] else "told" if row[0] else "waiting"
    return Written(state, found)


def recalled(tx: Tx, thread: str, until: float) -> list[str]:
    """The texts that a conversation was told from memory before a turn that ended then, as they are now."""
    rows = tx.all(
        "SELECT coalesce(r.text, e.text) FROM injected i LEFT JOIN records r ON i.record <> 'event' AND r.id = i.id"
        " LEFT JOIN events e ON i.record = 'event' AND e.id = i.id AND e.no_memory = 0 WHERE i.injection IN"
        " (SELECT seq FROM injections WHERE thread = ? AND at <= ? ORDER BY seq DESC LIMIT ?)"
        " AND coalesce(r.text, e.text) IS NOT NULL",
        (thread, until, RECALLED),
    )
    return list(dict.fromkeys(text for (text,) in rows))


def count(tx: Tx, scope: str, gates: Mapping[str, int], *, at: float) -> None:
    """So much more was stopped at these gates; ``docs/memory.md`` names them."""
    tx.many(
        "INSERT INTO gates (scope, gate, count, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (scope, gate) DO UPDATE SET count = count + excluded.count, at = excluded.at",
        [(scope, gate, number, at) for gate, number in sorted(gates.items()) if number],
    )


def gates(tx: Tx, scopes: Collection[str]) -> dict[str, int]:
    """How much was stopped at each gate in these scopes since the beginning."""
    rows = tx.all(
        "SELECT gate, sum(count) FROM gates WHERE scope IN (SELECT value FROM json_each(?)) GROUP BY gate"
        " ORDER BY gate",
        (dumps(sorted(scopes)),),
    )
    return {str(gate): int(number) for gate, number in rows}
