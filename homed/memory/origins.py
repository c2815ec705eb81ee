"""Whose words from outside stand behind something: names of the tools that brought them, or nobody knows whose.

A tool's own results, once the person has spoken again, are no reason to ask before it runs; anything else is.  So what
is made of a turn (its summary, what a tool noted in it) is as the turn was: each answer of a model says with it what
from outside it had before it (``OUTSIDE``), and the turn's own results say the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from homed.memory.records import Event, EventKind, is_draft, shows_files
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps, loads

UNKNOWN = ""
"""In the place of a tool's name: strangers' words of which it is not known what brought them, or no tool did."""

NOBODY_KNOWS = frozenset({UNKNOWN})

OUTSIDE = "outside"
"""In the data of an ASSISTANT event: the names of the tools whose words from outside its model had before it, sorted;
``UNKNOWN`` among them for others.  An earlier release wrote none, and then it is not known."""

_RESTS = (
    "WITH RECURSIVE made (id) AS (SELECT ? UNION SELECT m.record FROM made JOIN members m ON m.capsule = made.id"
    " JOIN records p ON p.id = m.record WHERE p.untrusted = 1)"
    " SELECT DISTINCT r.origin, r.recheck, coalesce(e.turn, '') FROM made JOIN records r ON r.id = made.id"
    " LEFT JOIN evidence v ON v.record = r.id LEFT JOIN events e ON e.id = v.event"
)
_BEGUN = (
    "SELECT t.id, i.untrusted OR i.mark <> '' FROM turns t JOIN inputs i ON i.id = t.input"
    " WHERE t.id IN (SELECT value FROM json_each(?))"
)
_SAID = (
    "SELECT kind, json_extract(data, '$.name'), json_extract(data, '$.untrusted'), json_extract(data, '$.files'),"
    f" json_extract(data, '$.mark'), json_extract(data, '$.{OUTSIDE}') FROM events"
    " WHERE turn IN (SELECT value FROM json_each(?)) AND kind <> 'note'"
)


def of_event(event: Event) -> frozenset[str]:
    """Whose words from outside an event holds itself; none of most."""
    if event.data.get("untrusted"):
        return frozenset({str(event.data.get("name") or UNKNOWN)} if event.kind is EventKind.TOOL else {UNKNOWN})
    return NOBODY_KNOWS if shows_files(event) else frozenset()


def of_events(events: Iterable[Event]) -> frozenset[str]:
    """The same of several."""
    return frozenset().union(*map(of_event, events))


def before(answer: Event) -> frozenset[str]:
    """Whose words from outside a model had before it when it gave this answer, which may be on its way out still; none
    for other kinds of events."""
    if answer.kind is not EventKind.ASSISTANT and not is_draft(answer):
        return frozenset()
    return _noted(answer.data.get(OUTSIDE))


def of_record(tx: Tx, record: Record) -> frozenset[str]:
    """Whose words from outside may be in a record: those of the turns that it, and what it is made of, rests on.

    Empty for one that is trusted.  ``UNKNOWN`` is among them where anything of it cannot be looked up: it was imported
    or written by hand, some of its evidence is gone, a turn was begun by no person, or an earlier release kept it.
    """
    if not record.untrusted:
        return frozenset()
    rows = tx.all(_RESTS, (record.id,))
    turns = sorted({str(turn) for _, _, turn in rows})
    if not rows or any(origin != "auto" or recheck or not turn for origin, recheck, turn in rows):
        return NOBODY_KNOWS
    begun = tx.all(_BEGUN, (dumps(turns),))
    if len(begun) < len(turns) or any(foreign for _, foreign in begun):
        return NOBODY_KNOWS
    found: set[str] = set()
    for kind, name, untrusted, files, mark, outside in tx.all(_SAID, (dumps(turns),)):
        if kind == EventKind.TOOL.value:
            found |= {str(name or UNKNOWN)} if untrusted else set()
        elif kind == EventKind.ASSISTANT.value:
            found |= _noted(loads(str(outside)) if outside is not None else None)
        elif untrusted or files or mark:
            found.add(UNKNOWN)
    return frozenset(found) or NOBODY_KNOWS


def _noted(given: object) -> frozenset[str]:
    return frozenset(map(str, given)) if isinstance(given, list) else NOBODY_KNOWS
