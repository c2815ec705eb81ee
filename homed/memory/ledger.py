"""What each turn was shown and why: ids, scores and counts, never text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from homed.memory.records import Input
from homed.store.rows import Tx, dumps, loads

PROVIDES = ("ledger",)
NEEDS = ("window",)

KINDS = ("select", "recall", "guard", "peek", "confirm", "sink")

MOST_ENTRIES = 64
"""Of one kind in one turn; a turn makes a few, and a loop must not fill the disk."""

MOST_LISTED = 200
"""Elements of one list or table that are kept; how many more there were is kept beside them."""

LONGEST = 80
"""Characters of one string: an id, a kind, a reason.  Longer is text, which does not belong here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record, in the order of ``seq``; ``data`` is what its writer gave."""

    seq: int
    turn: str
    scope: str
    thread: str
    kind: str
    at: float
    data: Mapping[str, object] = field(default_factory=dict)


def record(tx: Tx, input_: Input, kind: str, data: Mapping[str, object], *, at: float) -> bool:
    """Write down something of the turn of ``input_``; False when the turn has too many of that kind already, or its
    thread has been deleted meanwhile (what comes after an answer may come after that).

    ``data`` is JSON of ids, scores and counts; scores are rounded to four places, long lists cut with their number in
    ``KEY_more``.  Raises ValueError for a string that is longer than any of those: text never comes in here.
    """
    made = tx.value("SELECT count(*) FROM ledger WHERE turn = ? AND kind = ?", (input_.turn, kind))
    if made >= MOST_ENTRIES or not tx.value("SELECT 1 FROM threads WHERE id = ? AND scope <> ''", (input_.thread,)):
        return False
    tx.execute(
        "INSERT INTO ledger (turn, scope, thread, kind, at, data) VALUES (?, ?, ?, ?, ?, ?)",
        (input_.turn, input_.scope, input_.thread, kind, at, dumps(_bounded(data))),
    )
    return True


def of_turn(tx: Tx, turn: str) -> list[Entry]:
    """Every record of the turn, in the order they were made."""
    return _entries(tx, "turn = ?", (turn,))


def of_turns(tx: Tx, turns: Collection[str], kind: str) -> dict[str, Entry]:
    """The last record of this kind of each turn that has one."""
    found = _entries(tx, "turn IN (SELECT value FROM json_each(?)) AND kind = ?", (dumps(sorted(turns)), kind))
    return {entry.turn: entry for entry in found}


def older(tx: Tx, before: float, limit: int) -> list[int]:
    """The seqs of records that were made before this time, UTC seconds."""
    return [seq for (seq,) in tx.all("SELECT seq FROM ledger WHERE at < ? LIMIT ?", (before, limit))]


def drop(tx: Tx, seqs: Collection[int]) -> None:
    """Delete these records."""
    tx.execute("DELETE FROM ledger WHERE seq IN (SELECT value FROM json_each(?))", (dumps(sorted(seqs)),))


def recalled(tx: Tx, turns: Collection[str]) -> dict[str, list[str]]:
    """The ids in ``shown`` and ``cold`` of each turn's last ``recall`` record; turns without one are left out."""
    return {turn: _ids(entry.data) for turn, entry in of_turns(tx, turns, "recall").items()}


def _ids(data: Mapping[str, object]) -> list[str]:
    found: dict[str, None] = {}
    for key in ("shown", "cold"):
        value = data.get(key)
        if isinstance(value, list):
            found |= dict.fromkeys(str(id_) for id_ in value)
    return list(found)


def _entries(tx: Tx, where: str, params: tuple[str, ...]) -> list[Entry]:
    rows = tx.all(f"SELECT seq, turn, scope, thread, kind, at, data FROM ledger WHERE {where} ORDER BY seq", params)
    return [
        Entry(seq, turn, scope, thread, kind, at, loads(data) or {})
        for seq, turn, scope, thread, kind, at, data in rows
    ]


def _bounded(data: Mapping[str, object]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, value in data.items():
        kept[key] = _value(value)
        if isinstance(value, (list, tuple, Mapping)) and len(value) > MOST_LISTED:
            kept[f"{key}_more"] = len(value) - MOST_LISTED
    return kept


def _value(value: object) -> object:
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError(f"the ledger takes ids and scores, not a text of {len(value)} characters")
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {_value(str(key)): _value(part) for key, part in list(value.items())[:MOST_LISTED]}
    if isinstance(value, (list, tuple)):
        return [_value(part) for part in value[:MOST_LISTED]]
    return value
